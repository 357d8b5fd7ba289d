import { embedded, type Infer, int32, object, optional, present, string } from "#schema/schema.ts";
import { ageColumn } from "../meta/columns.ts";
import { dns1123Subdomain } from "../meta/names.ts";
import { defineResource, type ObjectOf } from "../resource.ts";

export const ScaleSpec = object(
  "autoscaling/v1.ScaleSpec",
  {
    replicas: optional(1, int32({ min: 0 }), "Number of instances wanted."),
  },
  { doc: "How many there should be." },
);
export interface ScaleSpec extends Infer<typeof ScaleSpec> {}

export const ScaleStatus = object(
  "autoscaling/v1.ScaleStatus",
  {
    replicas: present(1, int32(), "Number of instances that exist."),
    selector: optional(2, string(), "The label selector of the instances, as text."),
  },
  { doc: "How many there are." },
);
export interface ScaleStatus extends Infer<typeof ScaleStatus> {}

const fields = {
  spec: embedded(2, ScaleSpec, "How many there should be."),
  status: embedded(3, ScaleStatus, "How many there are."),
};
export interface Scale extends ObjectOf<typeof fields> {}

/** What travels through the `scale` subresource of every kind that has one; never stored. */
export const Scale = defineResource({
  group: "autoscaling",
  version: "v1",
  kind: "Scale",
  plural: "scales",
  package: "autoscaling/v1",
  scope: "Namespaced",
  verbs: [],
  doc: "The number of instances of some other object.",
  fields,
  columns: [
    {
      name: "Desired",
      type: "integer",
      description: "Number of instances wanted.",
      value: (scale) => scale.spec.replicas ?? 0,
    },
    {
      name: "Available",
      type: "integer",
      description: "Number of instances that exist.",
      value: (scale) => scale.status.replicas,
    },
    ageColumn,
  ],
  nameRule: dns1123Subdomain,
});
