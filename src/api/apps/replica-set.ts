import { root } from "#schema/field-error.ts";
import {
  defaulted,
  embedded,
  type Infer,
  int32,
  int64,
  listByKey,
  nullable,
  object,
  optional,
  present,
  string,
  time,
} from "#schema/schema.ts";
import { PodTemplateSpec } from "../core/pod-template.ts";
import { ageColumn } from "../meta/columns.ts";
import { formatLabelSelector, LabelSelector } from "../meta/label-selector.ts";
import { dns1123Subdomain } from "../meta/names.ts";
import { orphanIndex } from "../meta/owner.ts";
import { validateImmutable } from "../meta/validate-meta.ts";
import { defineResource, type ObjectOf } from "../resource.ts";
import { containerColumns, nameWarnings, validateCounts, validateSelectorAndTemplate } from "./pod-template-rules.ts";

export const ReplicaSetSpec = object(
  "apps/v1.ReplicaSetSpec",
  {
    replicas: defaulted(1, int32({ min: 0 }), 1, "Number of pods wanted."),
    minReadySeconds: optional(4, int32({ min: 0 }), "Seconds that a pod must be ready before it counts as available."),
    selector: present(2, LabelSelector, "Pods that belong to the set. Cannot be changed."),
    template: embedded(3, PodTemplateSpec, "The pod to make when one is missing."),
  },
  { doc: "How many pods there should be, and what they are." },
);
export interface ReplicaSetSpec extends Infer<typeof ReplicaSetSpec> {}

export const ReplicaSetCondition = object(
  "apps/v1.ReplicaSetCondition",
  {
    type: present(1, string(), "What the condition is about, such as ReplicaFailure."),
    status: present(2, string(), "True, False or Unknown."),
    lastTransitionTime: optional(3, time(), "When the status last changed."),
    reason: optional(4, string(), "One word for why."),
    message: optional(5, string(), "The same for people."),
  },
  { doc: "One aspect of a replica set's present state." },
);
export interface ReplicaSetCondition extends Infer<typeof ReplicaSetCondition> {}

export const ReplicaSetStatus = object(
  "apps/v1.ReplicaSetStatus",
  {
    replicas: present(1, int32(), "Number of pods that are not on their way out."),
    fullyLabeledReplicas: optional(2, int32(), "Number of those with all labels of the template."),
    readyReplicas: optional(4, int32(), "Number of those that are ready."),
    availableReplicas: optional(5, int32(), "Number of those that have been ready for minReadySeconds."),
    terminatingReplicas: nullable(7, int32(), "Number of pods that are on their way out."),
    observedGeneration: optional(3, int64(), "The generation that these numbers are about."),
    conditions: optional(6, listByKey("type", ReplicaSetCondition), "Aspects of the present state."),
  },
  { doc: "How many pods there are." },
);
export interface ReplicaSetStatus extends Infer<typeof ReplicaSetStatus> {}

const fields = {
  spec: embedded(2, ReplicaSetSpec, "How many pods there should be, and what they are."),
  status: embedded(3, ReplicaSetStatus, "How many pods there are."),
};
export interface ReplicaSet extends ObjectOf<typeof fields> {}

/** Keeps a fixed number of identical pods running. */
export const ReplicaSet = defineResource({
  group: "apps",
  version: "v1",
  kind: "ReplicaSet",
  plural: "replicasets",
  package: "apps/v1",
  shortNames: ["rs"],
  categories: ["all"],
  scope: "Namespaced",
  hasGeneration: true,
  doc: "Keeps a fixed number of identical pods running.",
  fields,
  subresources: [
    {
      name: "scale",
      verbs: ["get", "patch", "update"],
      body: { group: "autoscaling", version: "v1", kind: "Scale" },
      scale: { specReplicas: "spec.replicas", statusReplicas: "status.replicas", labelSelector: "spec.selector" },
    },
    { name: "status", verbs: ["get", "patch", "update"] },
  ],
  columns: [
    { name: "Desired", type: "integer", description: "Number of pods wanted.", value: ({ spec }) => spec.replicas },
    {
      name: "Current",
      type: "integer",
      description: "Number of pods there are.",
      value: ({ status }) => status.replicas,
    },
    {
      name: "Ready",
      type: "integer",
      description: "Number of pods that are ready.",
      value: ({ status }) => status.readyReplicas ?? 0,
    },
    ageColumn,
    ...containerColumns,
    {
      name: "Selector",
      type: "string",
      priority: 1,
      description: "Pods that belong to the set.",
      value: ({ spec }) => formatLabelSelector(spec.selector) || "<none>",
    },
  ],
  indexes: { orphan: orphanIndex },
  nameRule: dns1123Subdomain,

  prepareForCreate(set) {
    set.status = { replicas: 0 };
  },
  prepareForUpdate(set, old) {
    set.status = old.status;
  },
  validate: ({ spec }) => validateSelectorAndTemplate(spec, root.child("spec")),
  validateUpdate: ({ spec }, old) =>
    validateImmutable(LabelSelector, spec.selector, old.spec.selector, root.child("spec", "selector")),
  validateStatusUpdate({ status: { conditions: _, ...counts } }) {
    const parts = ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"];
    return validateCounts(counts, { path: root.child("status"), parts });
  },
  *warnings(set, old) {
    if (!old) yield* nameWarnings(set);
  },
});
