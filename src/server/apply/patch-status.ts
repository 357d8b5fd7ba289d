import { badRequest, StatusError, tooLarge } from "#api/status.ts";
import { type PatchError } from "#lib/patch-error.ts";

/** The answer to a patch that cannot be applied. Upstream hides why a JSON patch does not fit; here a cause says it. */
export function patchStatus(error: PatchError): StatusError {
  const options = { cause: error };
  if (error.code === 400) return badRequest(error.message);
  if (error.code === 413) return tooLarge(`Request entity too large: ${error.message}`);
  if (error.code === 500) return new StatusError("", error.message, undefined, options);
  const causes = [{ reason: "UnexpectedServerResponse", message: error.message }];
  return new StatusError(
    "Invalid",
    "the server rejected our request due to an error in our request",
    { causes },
    options,
  );
}
