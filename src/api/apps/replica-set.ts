import { dropDisabledFields } from "#api/core/pod/pod-prepare.ts";
import {
  containerColumns,
  replicaColumns,
  validateCounts,
  validateSelectorAndTemplate,
  warnOfName,
  warnOfTemplate,
} from "#api/core/pod/pod-template-rules.ts";
import { PodTemplateSpec } from "#api/core/pod-template.ts";
import { ageColumn, column, wide } from "#api/meta/columns.ts";
import { conditionOf } from "#api/meta/condition.ts";
import { formatLabelSelector, LabelSelector } from "#api/meta/label-selector.ts";
import { orphanIndex } from "#api/meta/owner.ts";
import { defaulted, embedded, immutable, nullable, optional, present, written } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { int32, int64, listByKey } from "#schema/types.ts";
import { defineResource, type NamespacedObject } from "../resource.ts";

const object = inPackage("apps/v1");

const ReplicaSetCondition = conditionOf("apps/v1.ReplicaSetCondition", "ReplicaFailure", [3, 4, 5]);

export const ReplicaSetStatus = object("ReplicaSetStatus", "The observed state of a ReplicaSet.", {
  replicas: present(1, int32(), "Number of pods of the ReplicaSet that are not terminating."),
  fullyLabeledReplicas: optional(2, int32(), "Number of pods that have all labels of the template."),
  readyReplicas: optional(4, int32(), "Number of ready pods that are not terminating."),
  availableReplicas: optional(5, int32(), "Number of pods that have been ready for at least minReadySeconds."),
  terminatingReplicas: nullable(7, int32(), "Number of pods that are terminating."),
  observedGeneration: optional(3, int64(), "Generation of the ReplicaSet that this status was computed from."),
  conditions: optional(6, listByKey("type", ReplicaSetCondition), "Conditions of the ReplicaSet, one for each type."),
});
export interface ReplicaSetStatus extends Infer<typeof ReplicaSetStatus> {}

const fields = {
  spec: object.embedded(2, "ReplicaSetSpec", "How many pods a ReplicaSet runs, and their template.", {
    replicas: defaulted(1, int32({ min: 0 }), 1, "Number of desired pods."),
    minReadySeconds: optional(4, int32({ min: 0 }), "Seconds that a pod must be ready before it counts as available."),
    selector: written(immutable(present(2, LabelSelector, "Selects the pods of the ReplicaSet. Cannot be changed."))),
    template: embedded(3, PodTemplateSpec, "Template of the pods that are created when some are missing."),
  }),
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
    wide(column("Selector", "Selects the pods.", ({ spec }) => formatLabelSelector(spec.selector) || "<none>")),
  ],
  indexes: { orphan: orphanIndex },

  prepareForCreate: ({ spec }) => dropDisabledFields(spec.template.spec, undefined),
  prepareForUpdate: ({ spec }, old) => dropDisabledFields(spec.template.spec, old.spec.template.spec),
  validate: (at) => validateSelectorAndTemplate(at.field("spec")),
  validateStatusUpdate: (at) =>
    validateCounts(at.field("status"), ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"]),
  warnings(at, old) {
    warnOfName(at, old);
    warnOfTemplate(at, old, at.field("spec").field("template"));
  },
});
