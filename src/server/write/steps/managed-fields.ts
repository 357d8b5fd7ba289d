import { type ApiObject } from "#api/resource.ts";
import { type Steps } from "#lib/async/turns.ts";
import { type Entries } from "#server/apply/fields/entries.ts";
import { settledEntries, updateManagedFields } from "#server/apply/fields/managed-fields.ts";
import { type EncodedObject } from "#server/objects/encode-once.ts";
import { type Version, type Write, type WriteDeps } from "../write.ts";
import { runSteps } from "./pause.ts";
import { withVersions } from "./versions.ts";

/** Records what the manager owns now. It runs before admission: a manager owns what it sent, not what plugins add. */
export function recordManagedFields(
  { clock, resources }: WriteDeps,
  write: Write,
  { object, old }: Version,
  current?: EncodedObject,
): void | Promise<void> {
  const { resource, subresource, options } = write;
  if (write.applied) return;
  const facts = { resource, oldObject: old, newObject: object, subresource };
  const mine = { manager: options.manager, now: clock.now() };
  return withVersions({ resources, resource, ignoresFaults: true }, (versions) => {
    const steps = updateManagedFields({ ...facts, ...mine, versions });
    return runSteps(setManagedFields(object, steps), write, current);
  });
}

function* setManagedFields({ metadata }: ApiObject, finding: Steps<Entries | undefined>): Steps<void> {
  const managedFields = yield* finding;
  if (managedFields) metadata.managedFields = managedFields as typeof metadata.managedFields & object;
  else delete metadata.managedFields;
}

/** New times in managed fields alone are not a change. */
export function settleManagedFields(object: ApiObject, old: ApiObject): void {
  const settled = settledEntries(old, object);
  if (settled && settled !== object.metadata.managedFields) object.metadata.managedFields = [...settled];
}
