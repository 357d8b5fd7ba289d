import { type FieldError } from "#schema/field-error.ts";
import { decode } from "#schema/json/decode.ts";
import { type ApiObject, type Resource } from "./resource.ts";
import { createFaults, prepareUpdate, updateFaults, warningsOf } from "./rules.ts";

/** The object that the server makes of what a client sends, before anything is checked. */
export const read = <T extends ApiObject>(resource: Resource<T>, input: unknown): T =>
  decode<T>(resource.schema, input, { defaults: true }).value;

/** `path: message` of every fault of a new object. */
export function faultsOf<T extends ApiObject>(resource: Resource<T>, input: unknown): string[] {
  const object = read(resource, input);
  resource.prepareForCreate?.(object);
  return lines(createFaults(resource, object));
}

/** The same for a change of the object or, through one of its subresources, of a part. */
export function updateFaultsOf<T extends ApiObject>(
  resource: Resource<T>,
  input: unknown,
  before: unknown,
  subresource = "",
): string[] {
  const old = read(resource, before);
  const object = read(resource, input);
  // The server fills this in before it looks for faults.
  object.metadata.resourceVersion ??= "1";
  prepareUpdate(resource, { object, old, subresource });
  return lines(updateFaults(resource, { object, old, subresource }));
}

/** The same for a change of the status. */
export const statusFaultsOf = <T extends ApiObject>(resource: Resource<T>, input: unknown, before: unknown): string[] =>
  updateFaultsOf(resource, input, before, "status");

/** Warnings for the client about a new object. */
export const warningsOfNew = <T extends ApiObject>(resource: Resource<T>, input: unknown): string[] =>
  warningsOf(resource, read(resource, input), undefined);

const lines = (faults: readonly FieldError[]): string[] => faults.map(({ path, message }) => `${path}: ${message}`);
