import { type ApiObject } from "#api/resource.ts";
import { inTurns } from "#lib/async/turns.ts";
import { settledEntries, updateManagedFields } from "#server/apply/fields/managed-fields.ts";
import { type EncodedObject } from "#server/objects/encode-once.ts";
import { type Version, type Write, type WriteDeps } from "../write.ts";
import { pauseIfLong } from "./pause.ts";

/** Records what the manager owns now. It runs before admission: a manager owns what it sent, not what plugins add. */
export async function recordManagedFields(
  { clock }: WriteDeps,
  write: Write,
  { object, old }: Version,
  current?: EncodedObject,
): Promise<void> {
  const { resource, subresource, options } = write;
  if (write.applied) return;
  const steps = updateManagedFields({
    resource,
    oldObject: old,
    newObject: object,
    manager: options.manager,
    subresource,
    now: clock.now(),
  });
  const managedFields = await inTurns(steps, () => pauseIfLong(write, current));
  if (managedFields) object.metadata.managedFields = managedFields as ApiObject["metadata"]["managedFields"] & object;
  else delete object.metadata.managedFields;
}

/** New times in managed fields alone are not a change. */
export function settleManagedFields(object: ApiObject, old: ApiObject): void {
  const settled = settledEntries(old, object);
  if (settled && settled !== object.metadata.managedFields) object.metadata.managedFields = [...settled];
}
