import { dropDisabledFields } from "#api/core/pod/pod-prepare.ts";
import {
  containerColumns,
  validateCounts,
  validateSelectorAndTemplate,
  warnOfName,
  warnOfTemplate,
} from "#api/core/pod/pod-template-rules.ts";
import { PodTemplateSpec } from "#api/core/pod-template.ts";
import { ageColumn, column, wide } from "#api/meta/columns.ts";
import { conditionOf } from "#api/meta/condition.ts";
import { percentOf, validateAtMost100Percent, validateIntOrPercent } from "#api/meta/int-or-string.ts";
import { formatLabelSelector, LabelSelector } from "#api/meta/label-selector.ts";
import { equal } from "#lib/data/equal.ts";
import { defaulted, embedded, immutable, nullable, optional, patched, present, written } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { boolean, int32, int64, intOrString, listByKey, oneOf, time } from "#schema/types.ts";
import { type Cursor } from "../cursor.ts";
import { defineResource, type NamespacedObject } from "../resource.ts";

const object = inPackage("apps/v1");

const RollingUpdateDeployment = object("RollingUpdateDeployment", "How many pods a rolling update replaces at once.", {
  maxUnavailable: nullable(1, intOrString(), "How many pods may be unavailable, as a number or a percentage."),
  maxSurge: nullable(2, intOrString(), "How many pods more than desired may exist, as a number or a percentage."),
});
interface RollingUpdateDeployment extends Infer<typeof RollingUpdateDeployment> {}

const DeploymentStrategy = object.filledBy(setRollingUpdate, "DeploymentStrategy", "How old pods are replaced.", {
  type: defaulted(1, oneOf("Recreate", "RollingUpdate"), "RollingUpdate", "Strategy: Recreate or RollingUpdate."),
  rollingUpdate: nullable(2, RollingUpdateDeployment, "Settings of the RollingUpdate strategy."),
});
interface DeploymentStrategy extends Infer<typeof DeploymentStrategy> {}

function setRollingUpdate(strategy: { type: string; rollingUpdate?: RollingUpdateDeployment }): void {
  if (strategy.type !== "RollingUpdate") return;
  strategy.rollingUpdate = { maxUnavailable: "25%", maxSurge: "25%", ...strategy.rollingUpdate };
}

const types = "Available, Progressing or ReplicaFailure";
export const DeploymentCondition = conditionOf("apps/v1.DeploymentCondition", types, [7, 4, 5], {
  lastUpdateTime: optional(6, time(), "When the condition was last updated."),
});
export interface DeploymentCondition extends Infer<typeof DeploymentCondition> {}

export const DeploymentStatus = object("DeploymentStatus", "The observed state of a deployment.", {
  observedGeneration: optional(1, int64(), "Generation of the deployment that this status was computed from."),
  replicas: optional(2, int32(), "Number of pods of the deployment that are not terminating."),
  updatedReplicas: optional(3, int32(), "Number of pods with the newest template that are not terminating."),
  readyReplicas: optional(7, int32(), "Number of ready pods that are not terminating."),
  availableReplicas: optional(4, int32(), "Number of pods that have been ready for at least minReadySeconds."),
  unavailableReplicas: optional(5, int32(), "Number of pods that are missing or not yet available."),
  terminatingReplicas: nullable(9, int32(), "Number of pods that are terminating."),
  conditions: optional(6, listByKey("type", DeploymentCondition), "Conditions of the deployment, one for each type."),
  collisionCount: nullable(8, int32(), "How often the name of a new ReplicaSet was already taken."),
});
export interface DeploymentStatus extends Infer<typeof DeploymentStatus> {}

const fields = {
  spec: object.embedded(2, "DeploymentSpec", "The pods that a deployment runs and how it replaces them.", {
    replicas: defaulted(1, int32({ min: 0 }), 1, "Number of desired pods."),
    selector: written(immutable(present(2, LabelSelector, "Selects the pods of the deployment. Cannot be changed."))),
    template: present(3, PodTemplateSpec, "Template of the pods. A change of it starts a rollout."),
    strategy: patched("retainKeys", embedded(4, DeploymentStrategy, "How old pods are replaced by new ones.")),
    minReadySeconds: optional(5, int32({ min: 0 }), "Seconds that a pod must be ready before it counts as available."),
    revisionHistoryLimit: defaulted(6, int32({ min: 0 }), 10, "Number of old ReplicaSets to keep for rollbacks."),
    paused: optional(7, boolean(), "Whether a change of the template does not start a rollout."),
    progressDeadlineSeconds: defaulted(9, int32({ min: 0 }), 600, "Seconds without progress until a rollout fails."),
  }),
  status: embedded(3, DeploymentStatus),
};
export interface Deployment extends NamespacedObject<typeof fields> {}

export const Deployment = defineResource("apps/v1.Deployment", fields, {
  shortNames: ["deploy"],
  categories: ["all"],
  hasGeneration: true,
  doc: "Keeps pods of the newest template running, and replaces those of older templates.",
  withStatus: () => ({}),
  statusResets: { spec: true, metadata: { labels: true } },
  scalable: true,
  columns: [
    column("Ready", "Ready and desired pods.", ({ spec, status }) => `${status.readyReplicas ?? 0}/${spec.replicas}`),
    column("Up-to-date", "Number of pods with the newest template.", ({ status }) => status.updatedReplicas ?? 0),
    column("Available", "Number of pods that are available.", ({ status }) => status.availableReplicas ?? 0),
    ageColumn,
    ...containerColumns,
    wide(column("Selector", "Selects the pods of the deployment.", ({ spec }) => formatLabelSelector(spec.selector))),
  ],

  prepareForCreate: ({ spec }) => dropDisabledFields(spec.template.spec, undefined),
  prepareForUpdate({ metadata, spec }, old) {
    dropDisabledFields(spec.template.spec, old.spec.template.spec);
    // Rollouts look at annotations too, so a change of them counts.
    if (!equal(metadata.annotations ?? {}, old.metadata.annotations ?? {})) {
      metadata.generation = (old.metadata.generation ?? 0) + 1;
    }
  },
  prepareForStatusUpdate({ metadata }, old) {
    if (old.metadata.labels) metadata.labels = old.metadata.labels;
    else delete metadata.labels;
  },
  validate: validateDeployment,
  validateStatusUpdate,
  warnings(at, old) {
    warnOfName(at, old);
    warnOfTemplate(at, old, at.field("spec").field("template"));
  },
});

function validateDeployment(deployment: Cursor<Deployment>): void {
  const at = deployment.field("spec");
  validateSelectorAndTemplate(at);
  validateStrategy(at.field("strategy"));
  if (at.value.progressDeadlineSeconds <= (at.value.minReadySeconds ?? 0)) {
    at.field("progressDeadlineSeconds").invalid("must be greater than minReadySeconds");
  }
}

function validateStrategy(at: Cursor<DeploymentStrategy>): void {
  const { type, rollingUpdate } = at.value;
  if (type === "Recreate" && rollingUpdate) {
    at.field("rollingUpdate").forbidden("may not be specified when strategy `type` is 'Recreate'");
  }
  if (type !== "RollingUpdate") return;
  if (!rollingUpdate) at.field("rollingUpdate").missing("this should be defaulted and never be nil");
  at.on("rollingUpdate", (at) => {
    const maxUnavailable = at.field("maxUnavailable").as(at.value.maxUnavailable ?? 0);
    const maxSurge = at.field("maxSurge").as(at.value.maxSurge ?? 0);
    validateIntOrPercent(maxUnavailable);
    validateIntOrPercent(maxSurge);
    if (isNothing(maxUnavailable.value) && isNothing(maxSurge.value)) {
      maxUnavailable.invalid("may not be 0 when `maxSurge` is 0");
    }
    validateAtMost100Percent(maxUnavailable);
  });
}

const isNothing = (value: number | string): boolean =>
  (typeof value === "string" ? (percentOf(value) ?? 0) : value) === 0;

function validateStatusUpdate(deployment: Cursor<Deployment>, { status: old }: Deployment): void {
  const at = deployment.field("status");
  const { collisionCount } = at.value;
  validateCounts(at, ["updatedReplicas", "readyReplicas", "availableReplicas"]);
  if (old.collisionCount !== undefined && (collisionCount === undefined || collisionCount < old.collisionCount)) {
    at.field("collisionCount").invalid("cannot be decremented", collisionCount ?? 0);
  }
}
