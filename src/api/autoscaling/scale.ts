import { ageColumn, numberColumn } from "#api/meta/columns.ts";
import { embedded, optional, present } from "#schema/fields.ts";
import { inPackage } from "#schema/schema.ts";
import { int32, string } from "#schema/types.ts";
import { defineResource, type ObjectOf } from "../resource.ts";

const object = inPackage("autoscaling/v1");

export const ScaleSpec = object("ScaleSpec", "How many there should be.", {
  replicas: optional(1, int32({ min: 0 }), "Number of instances wanted."),
});

export const ScaleStatus = object("ScaleStatus", "How many there are.", {
  replicas: present(1, int32(), "Number of instances that exist."),
  selector: optional(2, string(), "The label selector of the instances, as text."),
});

const fields = {
  spec: embedded(2, ScaleSpec),
  status: embedded(3, ScaleStatus),
};
export interface Scale extends ObjectOf<typeof fields> {}

/** What travels through the `scale` subresource of every kind that has one; never stored. */
export const Scale = defineResource("autoscaling/v1.Scale", fields, {
  verbs: [],
  doc: "The number of instances of some other object.",
  columns: [
    numberColumn("Desired", "Number of instances wanted.", (scale) => scale.spec.replicas ?? 0),
    numberColumn("Available", "Number of instances that exist.", (scale) => scale.status.replicas),
    ageColumn,
  ],
});
