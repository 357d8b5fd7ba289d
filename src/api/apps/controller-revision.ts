import { ageColumn, column } from "#api/meta/columns.ts";
import { controllerOf, orphanIndex } from "#api/meta/owner.ts";
import { isObject } from "#lib/data/json-object.ts";
import { immutable, nullable, present } from "#schema/fields.ts";
import { any, int64 } from "#schema/types.ts";
import { defineResource, groupOf, groupResource, type NamespacedObject } from "../resource.ts";

const fields = {
  data: immutable(nullable(2, any({ name: "runtime.RawExtension", opaque: true }), "Saved state. Cannot be changed.")),
  revision: present(3, int64({ min: 0 }), "Number of the revision. A later state has a higher number."),
};
export interface ControllerRevision extends NamespacedObject<typeof fields> {}

export const ControllerRevision = defineResource("apps/v1.ControllerRevision", fields, {
  doc: "A snapshot of the state of a controller, for updates and rollbacks. Once created, its data cannot be changed.",
  columns: [
    column("Controller", "Object that the revision belongs to.", (revision) => {
      const owner = controllerOf(revision);
      return owner
        ? `${groupResource({ group: groupOf(owner.apiVersion) }, owner.kind.toLowerCase())}/${owner.name}`
        : "<none>";
    }),
    column("Revision", "Number of the revision.", ({ revision }) => revision),
    ageColumn,
  ],
  indexes: { orphan: orphanIndex },

  validateCreate(revision) {
    const { data } = revision.value;
    if (data === undefined || data === null) revision.under("data").missing("data is mandatory");
    else if (!isObject(data)) revision.under("data").missing("data must be a valid JSON object");
  },
});
