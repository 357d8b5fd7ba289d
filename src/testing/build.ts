import { type ApiObject, apiVersionOf, type InputOf, type Resource } from "#api/resource.ts";
import { deepFreeze } from "#lib/data/freeze.ts";
import { cloneJson } from "#lib/text/json.ts";
import { decode } from "#schema/json/decode.ts";

/** An object as a cache holds it: with all defaults, its kind and the server's fields, and frozen. */
export function build<T extends ApiObject>(resource: Resource<T>, input: InputOf<T>): T {
  const object = decode(resource.schema, cloneJson(input), { defaults: true }).value as T;
  object.apiVersion = apiVersionOf(resource);
  object.kind = resource.kind;
  const { metadata } = object;
  if (resource.scope === "Namespaced") metadata.namespace ??= "default";
  metadata.uid ??= `uid-${metadata.name}`;
  metadata.resourceVersion ??= "1";
  return deepFreeze(object);
}
