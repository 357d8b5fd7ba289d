import { type Looked, lookAt } from "#api/known-sound.ts";
import { type ApiObject, type Resource } from "#api/resource.ts";
import { findCreateFaults, findUpdateFaults, metadataFaults, prepareUpdate, warningsOf } from "#api/rules.ts";
import { invalid } from "#api/status.ts";
import { type Steps } from "#lib/async/turns.ts";
import { type FieldError } from "#schema/field-error.ts";
import { type EncodedObject } from "#server/objects/encode-once.ts";
import { because, causeOf } from "#server/refusal.ts";
import { type Change, type Version, type Write } from "../write.ts";
import { countGeneration } from "./metadata.ts";
import { isLong, runSteps } from "./pause.ts";

/** Lets the kind set and clear the fields that belong to the server. */
export function prepareNew({ resource, context }: Write, object: ApiObject, now: number): void {
  resource.prepareForCreate?.(object, { user: context.user, now });
  if (resource.hasGeneration) object.metadata.generation = 1;
}

/** Looks at a new object, unless it is long: its text would be made in one turn, and is made again for the store. */
export const lookAtNew = (write: Write, object: ApiObject): Looked | undefined =>
  isLong(write) ? undefined : lookAt(write.resource, object);

export function validateNew(write: Write, object: ApiObject, looked: Looked | undefined): void | Promise<void> {
  const { resource } = write;
  if (looked?.isKnown) return refuse(resource, object, metadataFaults(resource, object));
  return whenPrepared(resource, () =>
    runSteps(refuseFaults(resource, object, findCreateFaults(resource, object)), write),
  );
}

/** Copies from the old version what this subresource cannot change, and updates the generation. */
export function prepareChange({ context, resource, subresource, trusted }: Write, change: Change, now: number): void {
  prepareUpdate(resource, { ...change, subresource, writer: { user: context.user, now } });
  if (!trusted && subresource !== "status") countGeneration(resource, change);
}

export function validateChange(write: Write, { object, old }: Change, current: EncodedObject): void | Promise<void> {
  const { resource, subresource, trusted } = write;
  if (trusted) return;
  return whenPrepared(resource, () => {
    const finding = findUpdateFaults(resource, { object, old, subresource });
    return runSteps(refuseFaults(resource, object, finding), write, current);
  });
}

function whenPrepared(resource: Resource, validate: () => void | Promise<void>): void | Promise<void> {
  const preparing = resource.prepareValidation?.();
  return preparing ? preparing.then(validate) : validate();
}

function* refuseFaults(resource: Resource, object: ApiObject, finding: Steps<readonly FieldError[]>): Steps<void> {
  refuse(resource, object, yield* finding);
}

function refuse(resource: Resource, object: ApiObject, faults: readonly FieldError[]): void {
  if (faults.length === 0) return;
  const refusal = invalid(resource.storedAs?.resource ?? resource, object.metadata.name ?? "", faults);
  const cause = faults.map(causeOf).find((known) => known !== undefined);
  throw cause ? because(refusal, cause) : refusal;
}

/** Warns the client about a new object without faults, and remembers those about which there is nothing to say. */
export function warnOfNew(write: Write, object: ApiObject, looked: Looked | undefined): void {
  if (looked?.isKnown) return;
  const { warnings } = write.context;
  const before = warnings.length;
  warn(write, { object, old: undefined });
  if (warnings.length === before) looked?.remember();
}

/** Warns the client. One that updates the status or a single part gets no warnings about the rest. */
export function warn({ context, resource, subresource }: Write, { object, old }: Version): void {
  if (resource.warnings && subresource === "") context.warnings.push(...warningsOf(resource, object, old));
}
