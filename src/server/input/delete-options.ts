import { faultsIn } from "#api/cursor.ts";
import { DeleteOptions, validateDeleteOptions } from "#api/meta/delete-options.ts";
import { isTrue } from "#lib/net/query-flag.ts";
import { type Context } from "#server/request/pipeline.ts";
import { readAs } from "./body.ts";
import { notANumber, optionsFault } from "./options.ts";

/** They may have the version of the deleted resource as well as v1. */
const expected = { group: "", version: "v1", kind: "DeleteOptions", schema: DeleteOptions, anyVersion: true };

/** From the body, or from the query if there is none: never from both. */
export async function readDeleteOptions(context: Context): Promise<DeleteOptions> {
  const { request, query } = context;
  const hasBody = request.object !== undefined || (request.body?.length ?? 0) > 0;
  const options = hasBody
    ? ((await readAs(context, expected, { fieldValidation: "Ignore", defaults: true })) as DeleteOptions)
    : fromQuery(query);
  const faults = faultsIn(options, validateDeleteOptions);
  if (faults.length > 0) throw optionsFault("DeleteOptions", faults);
  return options;
}

function fromQuery(query: URLSearchParams): DeleteOptions {
  const grace = query.get("gracePeriodSeconds");
  const orphan = query.get("orphanDependents");
  const policy = query.get("propagationPolicy");
  if (grace && !/^[+-]?\d{1,15}$/.test(grace)) throw notANumber(grace);
  const dryRun = query.getAll("dryRun");
  return {
    ...(dryRun.length > 0 ? { dryRun } : {}),
    ...(grace ? { gracePeriodSeconds: Number(grace) } : {}),
    ...(orphan === null ? {} : { orphanDependents: isTrue(orphan) }),
    ...(policy ? { propagationPolicy: policy } : {}),
  };
}
