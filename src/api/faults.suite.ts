import { check } from "#schema/check.ts";
import { decode } from "#schema/decode.ts";
import { type FieldError } from "#schema/field-error.ts";
import { validateObjectMeta } from "./meta/validate-meta.ts";
import { type ApiObject, type Resource } from "./resource.ts";

/** The object that the server makes of what a client sends, before anything is checked. */
export const read = <T extends ApiObject>(resource: Resource<T>, input: unknown): T =>
  decode<T>(resource.schema, input, { defaults: true }).value;

/** `path: message` of every fault of a new object. */
export function faultsOf<T extends ApiObject>(resource: Resource<T>, input: unknown): string[] {
  const object = read(resource, input);
  resource.prepareForCreate?.(object);
  return lines([
    ...check(resource.schema, object),
    ...validateObjectMeta(resource, object),
    ...(resource.validate?.(object) ?? []),
  ]);
}

/** The same for a change. */
export function updateFaultsOf<T extends ApiObject>(resource: Resource<T>, input: unknown, before: unknown): string[] {
  const old = read(resource, before);
  const object = read(resource, input);
  resource.prepareForUpdate?.(object, old);
  return lines([...(resource.validate?.(object) ?? []), ...(resource.validateUpdate?.(object, old) ?? [])]);
}

/** The same for a change of the status. */
export function statusFaultsOf<T extends ApiObject>(resource: Resource<T>, input: unknown, before: unknown): string[] {
  const old = read(resource, before);
  const object = read(resource, input);
  resource.prepareForStatusUpdate?.(object, old);
  return lines([...(resource.validateStatusUpdate?.(object, old) ?? [])]);
}

const lines = (faults: readonly FieldError[]): string[] => faults.map(({ path, message }) => `${path}: ${message}`);
