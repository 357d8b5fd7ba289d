import { type ApiObject, type Resource } from "#api/resource.ts";
import { createFaults, prepareUpdate, updateFaults, warningsOf } from "#api/rules.ts";
import { invalid } from "#api/status.ts";
import { type FieldError } from "#schema/field-error.ts";
import { type Change, type Version, type Write } from "../write.ts";
import { countGeneration } from "./metadata.ts";

/** Lets the kind set and clear the fields that belong to the server. */
export function prepareNew(resource: Resource, object: ApiObject): void {
  resource.prepareForCreate?.(object);
  if (resource.hasGeneration) object.metadata.generation = 1;
}

export function validateNew(write: Write, object: ApiObject): void {
  refuseFaults(write.resource, object, createFaults(write.resource, object));
}

/** Copies from the old version what this subresource cannot change, and updates the generation. */
export function prepareChange({ resource, subresource, trusted }: Write, change: Change): void {
  prepareUpdate(resource, { object: change.object, old: change.old, subresource });
  if (!trusted && subresource !== "status") countGeneration(resource, change);
}

export function validateChange(write: Write, { object, old }: Change): void {
  const { resource, subresource, trusted } = write;
  if (!trusted) refuseFaults(resource, object, updateFaults(resource, { object, old, subresource }));
}

function refuseFaults(resource: Resource, object: ApiObject, faults: readonly FieldError[]): void {
  if (faults.length > 0) throw invalid(resource.storedAs?.resource ?? resource, object.metadata.name ?? "", faults);
}

/** Warns the client. One that updates the status or a single part gets no warnings about the rest. */
export function warn({ context, resource, subresource }: Write, { object, old }: Version): void {
  if (resource.warnings && subresource === "") context.warnings.push(...warningsOf(resource, object, old));
}
