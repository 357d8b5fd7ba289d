import { tooLarge } from "#api/status.ts";
import { isObject } from "#lib/data/json-object.ts";
import { maxValues, TooManyValues } from "#schema/json/decode-error.ts";

/** Refuses an object that a patch has made larger than a body may be. Managed fields are the server's own and do not count. */
export function refuseManyValues(object: unknown): void {
  let count = 0;
  const rest: unknown[] = [withoutManagedFields(object)];
  while (rest.length > 0) {
    const value = rest.pop();
    if (typeof value === "object" && value !== null) for (const inner of Object.values(value)) rest.push(inner);
    if (++count + rest.length > maxValues) throw tooLarge(new TooManyValues().message);
  }
}

function withoutManagedFields(object: unknown): unknown {
  if (!isObject(object) || !isObject(object.metadata)) return object;
  return { ...object, metadata: { ...object.metadata, managedFields: undefined } };
}
