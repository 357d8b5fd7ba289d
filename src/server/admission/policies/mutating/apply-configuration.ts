import { type ApiObject, apiVersionOf, type Resource } from "#api/resource.ts";
import { type Value } from "#cel/values/value.ts";
import { WrittenDataError, writtenData } from "#cel-kubernetes/written-data.ts";
import { DecodeError } from "#schema/json/decode-error.ts";
import { faultsIn } from "#server/apply/check-applied.ts";
import { shapeOf } from "#server/apply/fields/shape.ts";
import { mergeValues } from "#server/apply/merge-values.ts";
import { decodeChanged } from "../../changes/change-object.ts";
import { findAtomics } from "./find-atomics.ts";
import { MutationError } from "./mutation-error.ts";

/** Merges what an expression wrote into the object, as server-side apply does. Nobody owns the fields. */
export function applyConfiguration(resource: Resource, object: ApiObject, written: Value): ApiObject {
  const { schema, kind } = resource;
  try {
    const part = { ...(writtenData(written) as object), apiVersion: apiVersionOf(resource), kind };
    const faults = faultsIn(schema, part);
    if (faults) throw notApplied(`failed to convert patch object to typed object: ${faults}`);
    const atomics = findAtomics(schema, part);
    if (atomics.length > 0) {
      const text = `may not mutate atomic arrays, maps or structs: ${atomics.join(", ")}`;
      throw notApplied(`invalid ApplyConfiguration: ${text}`);
    }
    return decodeChanged(resource, mergeValues(shapeOf(schema), object, part)).value;
  } catch (error) {
    if (error instanceof WrittenDataError) throw new MutationError(error.message, { cause: error });
    if (error instanceof DecodeError) throw notApplied(`failed to convert typed object to object: ${error.message}`);
    throw error;
  }
}

const notApplied = (why: string): MutationError => new MutationError(`error applying patch: ${why}`);
