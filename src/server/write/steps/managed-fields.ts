import { type ApiObject } from "#api/resource.ts";
import { settledEntries, updateManagedFields } from "#server/apply/fields/managed-fields.ts";
import { type Version, type Write, type WriteDeps } from "../write.ts";

/** Records what the manager owns now. It runs before admission: a manager owns what it sent, not what plugins add. */
export function recordManagedFields({ clock }: WriteDeps, write: Write, { object, old }: Version): void {
  const { resource, subresource, options } = write;
  if (write.applied) return;
  const managedFields = updateManagedFields({
    resource,
    oldObject: old,
    newObject: object,
    manager: options.manager,
    subresource,
    now: clock.now(),
  });
  if (managedFields) object.metadata.managedFields = managedFields as ApiObject["metadata"]["managedFields"] & object;
  else delete object.metadata.managedFields;
}

/** New times in managed fields alone are not a change. */
export function settleManagedFields(object: ApiObject, old: ApiObject): void {
  const settled = settledEntries(old, object);
  if (settled && settled !== object.metadata.managedFields) object.metadata.managedFields = [...settled];
}
