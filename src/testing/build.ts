import { type ApiObject, apiVersionOf, type InputOf, type Resource } from "#api/resource.ts";
import { deepFreeze } from "#lib/data/freeze.ts";
import { cloneJson } from "#lib/text/json.ts";
import { decode } from "#schema/json/decode.ts";

/** An object as a cache would have it: with all defaults, a kind and a uid, and frozen. */
export function build<T extends ApiObject>(resource: Resource<T>, input: InputOf<T>): T {
  const object = decode(resource.schema, cloneJson(input), { defaults: true }).value as T;
  object.apiVersion = apiVersionOf(resource);
  object.kind = resource.kind;
  object.metadata.uid ??= `uid-${object.metadata.name}`;
  return deepFreeze(object);
}
