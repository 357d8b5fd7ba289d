import { atOnce, type Steps } from "#lib/async/turns.ts";
import { isObject } from "#lib/data/json-object.ts";
import { check } from "#schema/check.ts";
import { type FieldError } from "#schema/field-error.ts";
import { type ObjectSchema, resolve, type Schema } from "#schema/schema.ts";
import { type Cursor, faultsIn, warningsIn } from "./cursor.ts";
import { validateObjectMeta, validateObjectMetaUpdate } from "./meta/validate-meta.ts";
import { type ApiObject, apiVersionOf, type PartialUpdate, type Resource, type Writer } from "./resource.ts";

/**
 * The order in which the rules of a kind are applied, for every write:
 *
 *     create   prepareForCreate → schema, metadata, validate, validateCreate
 *     update   prepareForUpdate → schema, metadata, validate, change of metadata, immutable fields, validateUpdate
 *     status   prepareForStatusUpdate → change of metadata, validateStatusUpdate
 *     a part   its own prepare → as for an update, with its own validate at the end
 */

/** A change that came through a subresource; "" is the object itself. */
export interface Change<T extends ApiObject = ApiObject> {
  readonly object: T;
  readonly old: T;
  readonly subresource: string;
  readonly writer?: Writer;
}

/** Every fault of a new object, after `prepareForCreate`. */
export const createFaults = <T extends ApiObject>(resource: Resource<T>, object: T): FieldError[] =>
  atOnce(findCreateFaults(resource, object));

/** The same in steps, because the rules of a long object take a while. */
export function* findCreateFaults<T extends ApiObject>(resource: Resource<T>, object: T): Steps<FieldError[]> {
  const faults = yield* findObjectFaults(resource, object);
  return yield* faultsInSteps(object, (at) => resource.validateCreate?.(at), faults);
}

/** A check may return what is left of it. */
function* faultsInSteps<T>(
  object: T,
  visit: (at: Cursor<T>) => void | Steps<void>,
  faults: FieldError[],
): Steps<FieldError[]> {
  const rest: (void | Steps<void>)[] = [];
  faultsIn(object, (at) => void rest.push(visit(at)), faults);
  for (const steps of rest) if (steps) yield* steps;
  return faults;
}

/** The faults of a new object that is known to be sound but for its metadata. */
export const metadataFaults = <T extends ApiObject>(resource: Resource<T>, object: T): FieldError[] =>
  faultsIn(object, (at) => validateObjectMeta(at, resource));

/** Every fault of a review, which is answered and not stored. */
export function reviewFaults<T extends ApiObject>(resource: Resource<T>, object: T): FieldError[] {
  return faultsIn(object, (at) => resource.validate?.(at), check(resource.schema, object));
}

function* findObjectFaults<T extends ApiObject>(resource: Resource<T>, object: T): Steps<FieldError[]> {
  const faults = check(resource.schema, object);
  yield;
  faultsIn(object, (at) => validateObjectMeta(at, resource), faults);
  yield;
  return faultsIn(object, (at) => resource.validate?.(at), faults);
}

/** Clears what this subresource cannot change, and fills in what only the server knows. */
export function prepareUpdate<T extends ApiObject>(
  resource: Resource<T>,
  { object, old, subresource, writer }: Change<T>,
): void {
  if (subresource === "status") {
    keepAllButStatus(object, old);
    resource.prepareForStatusUpdate?.(object, old, writer);
  } else if (subresource === "") resource.prepareForUpdate?.(object, old);
  else partialUpdate(resource, subresource)?.prepare(object, old, writer);
}

/** Every fault of a change, after `prepareUpdate`. */
export const updateFaults = <T extends ApiObject>(resource: Resource<T>, change: Change<T>): FieldError[] =>
  atOnce(findUpdateFaults(resource, change));

/** The same in steps. */
export function* findUpdateFaults<T extends ApiObject>(
  resource: Resource<T>,
  { object, old, subresource }: Change<T>,
): Steps<FieldError[]> {
  const isStatus = subresource === "status";
  const visit = (at: Cursor<T>): void | Steps<void> => {
    validateObjectMetaUpdate(at, old);
    const partial = partialUpdate(resource, subresource);
    if (isStatus) return resource.validateStatusUpdate?.(at, old);
    if (partial) return partial.validate(at, old);
    validateImmutable(at, resource.schema, old);
    return resource.validateUpdate?.(at, old);
  };
  const faults = isStatus ? [] : yield* findObjectFaults(resource, object);
  yield;
  return yield* faultsInSteps(object, visit, faults);
}

/** Warnings for the client about an object that is accepted. */
export const warningsOf = <T extends ApiObject>(resource: Resource<T>, object: T, old: T | undefined): string[] =>
  resource.warnings ? warningsIn(object, (at) => resource.warnings?.(at, old)) : [];

/** Upstream's warning for a request about a deprecated kind. */
export function deprecationWarning(resource: Resource): string | undefined {
  const { deprecated, kind } = resource;
  if (!deprecated) return undefined;
  if (deprecated.warning !== undefined) return deprecated.warning;
  const since = deprecated.since ? ` in ${deprecated.since}+` : "";
  const text = `${apiVersionOf(resource)} ${kind} is deprecated${since}`;
  return deprecated.use ? `${text}; use ${deprecated.use}` : text;
}

const partialUpdate = (resource: Resource, subresource: string): PartialUpdate | undefined =>
  resource.subresources.find(({ name }) => name === subresource)?.update;

/** Deletes as few members as possible: deleting one makes an object slow. */
export function keepAllButStatus(object: object, old: object): void {
  if (!isObject(object) || !isObject(old)) return;
  for (const name in object) if (old[name] === undefined && !ofStatusUpdate.has(name)) delete object[name];
  for (const name in old) if (!ofStatusUpdate.has(name)) object[name] = old[name];
}
const ofStatusUpdate: ReadonlySet<string> = new Set(["kind", "apiVersion", "metadata", "status"]);

interface ImmutableField {
  readonly path: readonly string[];
  readonly schema: Schema;
}
const immutables = new WeakMap<ObjectSchema, readonly ImmutableField[]>();

function validateImmutable(at: Cursor, schema: ObjectSchema, old: unknown): void {
  let fields = immutables.get(schema);
  if (!fields) {
    fields = immutableFields(schema, []);
    immutables.set(schema, fields);
  }
  for (const { path, schema } of fields)
    at.under(...path)
      .as(read(at.value, path))
      .immutable(schema, read(old, path));
}

const read = (value: unknown, path: readonly string[]): unknown =>
  path.reduce((inner: unknown, name) => (isObject(inner) ? inner[name] : undefined), value);

function immutableFields(schema: ObjectSchema, path: readonly string[]): ImmutableField[] {
  return Object.entries(schema.fields).flatMap(([name, field]) => {
    const here = [...path, name];
    if (field.immutable) return [{ path: here, schema: field.schema }];
    return field.schema.type === "object" ? immutableFields(resolve(field.schema) as ObjectSchema, here) : [];
  });
}
