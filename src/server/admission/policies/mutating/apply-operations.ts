import { type ApiObject, type Resource } from "#api/resource.ts";
import { internalError } from "#api/status.ts";
import { ListValue } from "#cel/values/collections.ts";
import { type Value } from "#cel/values/value.ts";
import { WrittenObject } from "#cel-kubernetes/patch-types.ts";
import { WrittenDataError, writtenData } from "#cel-kubernetes/written-data.ts";
import { applyJsonPatch } from "#lib/text/json-patch.ts";
import { PatchError, TestFailed } from "#lib/text/patch-error.ts";
import { DecodeError } from "#schema/json/decode-error.ts";
import { decodeChanged } from "../../changes/change-object.ts";
import { MutationError } from "./mutation-error.ts";

/** Applies the operations that an expression wrote. If a `test` among them does not hold, nothing changes. */
export function applyOperations(resource: Resource, object: ApiObject, written: Value): ApiObject {
  const operations = operationsOf(written);
  let patched: unknown;
  try {
    patched = applyJsonPatch(object, operations);
  } catch (error) {
    if (error instanceof TestFailed) return object;
    if (error instanceof PatchError) throw new MutationError(`JSON Patch: ${error.message}`, { cause: error });
    throw error;
  }
  return decodePatched(resource, patched);
}

function decodePatched(resource: Resource, patched: unknown): ApiObject {
  try {
    const { value, unknown } = decodeChanged(resource, patched);
    if (unknown.length === 0 || resource.definition) return value;
    const faults = unknown.map((path) => `unknown field ${JSON.stringify(path)}`);
    throw internalError(`strict decoding error: ${faults.join(", ")}`);
  } catch (error) {
    throw error instanceof DecodeError ? internalError(error) : error;
  }
}

/** The compiler has checked that there is a list of operations. */
function operationsOf(written: Value): object[] {
  if (!(written instanceof ListValue)) {
    throw new MutationError("type mismatch: JSONPatchType.expression should evaluate to array");
  }
  const budget = { operations: maxOperations };
  return Array.from(written, (operation) => {
    if (!(operation instanceof WrittenObject)) {
      throw new MutationError("type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch");
    }
    if (budget.operations-- === 0) throw new MutationError(`JSON Patch: more than ${maxOperations} operations`);
    return operationOf(operation);
  });
}
/** As many as any other JSON patch may have. */
const maxOperations = 10_000;

function operationOf({ fields }: WrittenObject): object {
  const [op = "", path = "", from = ""] = [fields.get("op"), fields.get("path"), fields.get("from")];
  const value = fields.get("value");
  return { op, path, ...(from ? { from } : {}), ...(value === undefined ? {} : { value: dataOf(value) }) };
}

function dataOf(value: Value): unknown {
  try {
    return writtenData(value);
  } catch (error) {
    if (!(error instanceof WrittenDataError)) throw error;
    const isMismatch = error.message.startsWith("type mismatch: ");
    const what = isMismatch ? "" : "JSONPath valueExpression evaluated to a type that could not marshal to JSON: ";
    throw new MutationError(`${what}${error.message}`, { cause: error });
  }
}
