import { ageColumn, column, wide } from "#api/meta/columns.ts";
import { conditionOf } from "#api/meta/condition.ts";
import { formatLabels, matchesLabels } from "#api/meta/label-selector.ts";
import { orphanIndex } from "#api/meta/owner.ts";
import { defaulted, nullable, optional, present, stated } from "#schema/fields.ts";
import { inPackage } from "#schema/schema.ts";
import { int32, int64, listByKey, map, string } from "#schema/types.ts";
import { defineResource, type NamespacedObject } from "../resource.ts";
import { dropDisabledFields } from "./pod/pod-prepare.ts";
import {
  containerColumns,
  replicaColumns,
  validateCounts,
  validateLastingTemplate,
  warnOfName,
  warnOfTemplate,
} from "./pod/pod-template-rules.ts";
import { PodTemplateSpec } from "./pod-template.ts";

const object = inPackage("core/v1");

const Condition = conditionOf("core/v1.ReplicationControllerCondition", "ReplicaFailure", [3, 4, 5]);

const fields = {
  spec: object.embedded(2, "ReplicationControllerSpec", "How many pods the controller runs, and their template.", {
    replicas: stated(defaulted(1, int32({ min: 0 }), 1, "Number of desired pods.")),
    selector: optional(2, map(string(), { atomic: true }), "Labels of the pods; those of the template by default."),
    template: nullable(3, PodTemplateSpec, "Template of the pods that are created when some are missing."),
    minReadySeconds: stated(
      optional(4, int32({ min: 0 }), "Seconds that a pod must be ready before it counts as available."),
      0,
    ),
  }),
  status: object.embedded(3, "ReplicationControllerStatus", "The observed state of a replication controller.", {
    replicas: present(1, int32(), "Number of pods of the controller that are not terminating."),
    fullyLabeledReplicas: optional(2, int32(), "Number of pods that have all labels of the template."),
    readyReplicas: optional(4, int32(), "Number of ready pods that are not terminating."),
    availableReplicas: optional(5, int32(), "Number of pods that have been ready for at least minReadySeconds."),
    observedGeneration: optional(3, int64(), "Generation of the controller that this status was computed from."),
    conditions: optional(6, listByKey("type", Condition), "Conditions of the controller, one for each type."),
  }),
};
export interface ReplicationController extends NamespacedObject<typeof fields> {}

export const ReplicationController = defineResource("v1.ReplicationController", fields, {
  doc: "Keeps a number of identical pods running. ReplicaSet and Deployment are its successors.",
  shortNames: ["rc"],
  categories: ["all"],
  storagePrefix: "controllers",
  hasGeneration: true,
  withStatus: () => ({ replicas: 0 }),
  orphansDependents: "",
  scalable: { specReplicas: "spec.replicas", statusReplicas: "status.replicas", labels: "spec.selector" },
  columns: [
    ...replicaColumns,
    ageColumn,
    ...containerColumns,
    wide(column("Selector", "Labels of the pods.", ({ spec }) => formatLabels(spec.selector) || "<none>")),
  ],
  selectableFields: { "status.replicas": ({ status }) => String(status.replicas) },
  indexes: { orphan: orphanIndex },

  defaults({ metadata, spec }) {
    const labels = spec.template?.metadata.labels;
    if (!labels) return;
    if (Object.keys(spec.selector ?? {}).length === 0) spec.selector = { ...labels };
    if (Object.keys(metadata.labels ?? {}).length === 0) metadata.labels = { ...labels };
  },
  prepareForCreate: ({ spec }) => dropDisabledOf(spec.template, undefined),
  prepareForUpdate: ({ spec }, old) => dropDisabledOf(spec.template, old.spec.template),
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
  warnings(at, old) {
    warnOfName(at, old);
    at.field("spec").on("template", (template) => warnOfTemplate(at, old, template));
  },
});

function dropDisabledOf(template: PodTemplateSpec | undefined, old: PodTemplateSpec | undefined): void {
  if (template) dropDisabledFields(template.spec, old?.spec);
}
