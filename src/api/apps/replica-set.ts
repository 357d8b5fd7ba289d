import {
  containerColumns,
  replicaColumns,
  validateCounts,
  validateSelectorAndTemplate,
  warnOfName,
} from "#api/core/pod/pod-template-rules.ts";
import { PodTemplateSpec } from "#api/core/pod-template.ts";
import { ageColumn, column, wide } from "#api/meta/columns.ts";
import { conditionOf } from "#api/meta/condition.ts";
import { formatLabelSelector, LabelSelector } from "#api/meta/label-selector.ts";
import { orphanIndex } from "#api/meta/owner.ts";
import { defaulted, embedded, immutable, inGo, nullable, optional, present } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { int32, int64, listByKey } from "#schema/types.ts";
import { defineResource, type NamespacedObject } from "../resource.ts";

const object = inPackage("apps/v1");

export const ReplicaSetSpec = object("ReplicaSetSpec", "How many pods there should be, and what they are.", {
  replicas: defaulted(1, int32({ min: 0 }), 1, "Number of pods wanted."),
  minReadySeconds: optional(4, int32({ min: 0 }), "Seconds that a pod must be ready before it counts as available."),
  selector: inGo(
    { zero: "written" },
    immutable(present(2, LabelSelector, "Pods that belong to the set. Cannot be changed.")),
  ),
  template: embedded(3, PodTemplateSpec, "The pod to make when one is missing."),
});

export const ReplicaSetCondition = conditionOf(
  "apps/v1.ReplicaSetCondition",
  "Type of the condition, such as ReplicaFailure.",
  {
    tags: { lastTransitionTime: 3, reason: 4, message: 5 },
  },
);

export const ReplicaSetStatus = object("ReplicaSetStatus", "How many pods there are.", {
  replicas: present(1, int32(), "Number of pods that are not on their way out."),
  fullyLabeledReplicas: optional(2, int32(), "Number of those with all labels of the template."),
  readyReplicas: optional(4, int32(), "Number of those that are ready."),
  availableReplicas: optional(5, int32(), "Number of those that have been ready for minReadySeconds."),
  terminatingReplicas: nullable(7, int32(), "Number of pods that are on their way out."),
  observedGeneration: optional(3, int64(), "The generation that these numbers are about."),
  conditions: optional(6, listByKey("type", ReplicaSetCondition), "Aspects of the present state."),
});
export interface ReplicaSetStatus extends Infer<typeof ReplicaSetStatus> {}

const fields = {
  spec: embedded(2, ReplicaSetSpec),
  status: embedded(3, ReplicaSetStatus),
};
export interface ReplicaSet extends NamespacedObject<typeof fields> {}

export const ReplicaSet = defineResource("apps/v1.ReplicaSet", fields, {
  shortNames: ["rs"],
  categories: ["all"],
  hasGeneration: true,
  doc: "Keeps a fixed number of identical pods running.",
  withStatus: () => ({ replicas: 0 }),
  scalable: true,
  columns: [
    ...replicaColumns,
    ageColumn,
    ...containerColumns,
    wide(
      column("Selector", "Pods that belong to the set.", ({ spec }) => formatLabelSelector(spec.selector) || "<none>"),
    ),
  ],
  indexes: { orphan: orphanIndex },

  validate: (at) => validateSelectorAndTemplate(at.field("spec")),
  validateStatusUpdate: (at) =>
    validateCounts(at.field("status"), ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"]),
  warnings: warnOfName,
});
