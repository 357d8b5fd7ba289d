import { ageColumn, column, wide } from "#api/meta/columns.ts";
import { conditionOf } from "#api/meta/condition.ts";
import { formatLabels, matchesLabels } from "#api/meta/label-selector.ts";
import { orphanIndex } from "#api/meta/owner.ts";
import { defaulted, embedded, nullable, optional, present } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { int32, int64, listByKey, map, string } from "#schema/types.ts";
import { defineResource, type NamespacedObject } from "../resource.ts";
import {
  containerColumns,
  replicaColumns,
  validateCounts,
  validateLastingTemplate,
  warnOfName,
} from "./pod/pod-template-rules.ts";
import { PodTemplateSpec } from "./pod-template.ts";

const object = inPackage("core/v1");

export const ReplicationControllerSpec = object("ReplicationControllerSpec", "How many pods to run, and which.", {
  replicas: defaulted(1, int32({ min: 0 }), 1, "Number of desired pods."),
  selector: optional(2, map(string(), { atomic: true }), "Labels of its pods; those of the template by default."),
  template: nullable(3, PodTemplateSpec),
  minReadySeconds: optional(4, int32({ min: 0 }), "Seconds that a new pod must be ready to be available."),
});

export const ReplicationControllerCondition = conditionOf(
  "core/v1.ReplicationControllerCondition",
  "Type of the condition, such as ReplicaFailure.",
  { tags: { lastTransitionTime: 3, reason: 4, message: 5 } },
);

export const ReplicationControllerStatus = object("ReplicationControllerStatus", "How many pods are running.", {
  replicas: present(1, int32(), "Number of pods that are not terminating."),
  fullyLabeledReplicas: optional(2, int32(), "Number of pods that have all labels of the template."),
  readyReplicas: optional(4, int32(), "Number of pods that are ready."),
  availableReplicas: optional(5, int32(), "Number of pods that have been ready for minReadySeconds."),
  observedGeneration: optional(3, int64(), "The generation of the object that this status is about."),
  conditions: optional(6, listByKey("type", ReplicationControllerCondition), "The latest conditions."),
});
export interface ReplicationControllerStatus extends Infer<typeof ReplicationControllerStatus> {}

const fields = { spec: embedded(2, ReplicationControllerSpec), status: embedded(3, ReplicationControllerStatus) };
export interface ReplicationController extends NamespacedObject<typeof fields> {}

export const ReplicationController = defineResource("v1.ReplicationController", fields, {
  doc: "Keeps a number of identical pods running. ReplicaSet and Deployment are its successors.",
  shortNames: ["rc"],
  categories: ["all"],
  storagePrefix: "controllers",
  hasGeneration: true,
  withStatus: () => ({ replicas: 0 }),
  scalable: { specReplicas: "spec.replicas", statusReplicas: "status.replicas", labels: "spec.selector" },
  columns: [
    ...replicaColumns,
    ageColumn,
    ...containerColumns,
    wide(column("Selector", "Labels of its pods.", ({ spec }) => formatLabels(spec.selector ?? {}) || "<none>")),
  ],
  selectableFields: { "status.replicas": ({ status }) => String(status.replicas) },
  indexes: { orphan: orphanIndex },

  defaults({ metadata, spec }) {
    const labels = spec.template?.metadata.labels;
    if (!labels) return;
    if (Object.keys(spec.selector ?? {}).length === 0) spec.selector = { ...labels };
    if (Object.keys(metadata.labels ?? {}).length === 0) metadata.labels = { ...labels };
  },
  validate(controller) {
    const at = controller.field("spec");
    const { selector = {} } = at.value;
    if (Object.keys(selector).length === 0) at.field("selector").missing();
    if (!at.value.template) at.field("template").missing();
    at.on("template", (at) => {
      const labels = at.under("metadata", "labels").as(at.value.metadata.labels);
      if (!matchesLabels(selector, labels.value)) labels.invalid("`selector` does not match template `labels`");
      validateLastingTemplate(at, "activeDeadlineSeconds in ReplicationController is not Supported");
    });
  },
  validateStatusUpdate: (at) =>
    validateCounts(at.field("status"), ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"]),
  warnings: warnOfName,
});
