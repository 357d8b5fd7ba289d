import { badRequest, StatusError, tooLarge } from "#api/status.ts";
import { type PatchError } from "#lib/text/patch-error.ts";

/**
 * The response to a patch that cannot be applied. Upstream hides why a patch does not fit; here the message is passed
 * on.
 */
export function patchStatus(error: PatchError): StatusError {
  const options = { cause: error };
  // Upstream answers 500 to some invalid patches, but they are the client's mistake.
  if (error.code === 400 || error.code === 500) return badRequest(error.message);
  if (error.code === 413) return tooLarge(`Request entity too large: ${error.message}`);
  // Without the object's name in the details, kubectl shows the message.
  return new StatusError("Invalid", `${rejected}: ${error.message}`, {}, options);
}

const rejected = "the server rejected our request due to an error in our request";
