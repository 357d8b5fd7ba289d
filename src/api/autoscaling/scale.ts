import { ageColumn, numberColumn } from "#api/meta/columns.ts";
import { optional, present, stated } from "#schema/fields.ts";
import { inPackage } from "#schema/schema.ts";
import { int32, string } from "#schema/types.ts";
import { defineResource, type ObjectOf } from "../resource.ts";

const object = inPackage("autoscaling/v1");

const fields = {
  spec: object.embedded(2, "ScaleSpec", "The desired size of a scalable object.", {
    replicas: stated(optional(1, int32({ min: 0 }), "Number of desired instances."), 0),
  }),
  status: object.embedded(3, "ScaleStatus", "The current size of a scalable object.", {
    replicas: present(1, int32(), "Number of instances that exist."),
    selector: optional(2, string(), "Label selector of the instances, as text."),
  }),
};
export interface Scale extends ObjectOf<typeof fields> {}

/** The body of every `scale` subresource. It is never stored. */
export const Scale = defineResource("autoscaling/v1.Scale", fields, {
  verbs: [],
  doc: "The size of a scalable object, such as a Deployment.",
  columns: [
    numberColumn("Desired", "Number of desired instances.", (scale) => scale.spec.replicas ?? 0),
    numberColumn("Available", "Number of instances that exist.", (scale) => scale.status.replicas),
    ageColumn,
  ],
});
