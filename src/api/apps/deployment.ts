import { equal } from "#lib/equal.ts";
import {
  type FieldError,
  type FieldPath,
  forbiddenValue,
  invalidValue,
  requiredValue,
  root,
} from "#schema/field-error.ts";
import {
  boolean,
  defaulted,
  embedded,
  type Infer,
  int32,
  int64,
  intOrString,
  listByKey,
  nullable,
  object,
  oneOf,
  optional,
  patched,
  present,
  string,
  time,
} from "#schema/schema.ts";
import { PodTemplateSpec } from "../core/pod-template.ts";
import { ageColumn } from "../meta/columns.ts";
import { percentOf, validateAtMost100Percent, validateIntOrPercent } from "../meta/int-or-string.ts";
import { formatLabelSelector, LabelSelector } from "../meta/label-selector.ts";
import { dns1123Subdomain } from "../meta/names.ts";
import { validateImmutable } from "../meta/validate-meta.ts";
import { defineResource, type ObjectOf } from "../resource.ts";
import { containerColumns, nameWarnings, validateCounts, validateSelectorAndTemplate } from "./pod-template-rules.ts";

export const RollingUpdateDeployment = object(
  "apps/v1.RollingUpdateDeployment",
  {
    maxUnavailable: nullable(
      1,
      intOrString(),
      "How many of the wanted pods may be missing, as a number or a percentage.",
    ),
    maxSurge: nullable(2, intOrString(), "How many pods more than wanted there may be, as a number or a percentage."),
  },
  { doc: "How fast old pods are replaced by new ones." },
);
export interface RollingUpdateDeployment extends Infer<typeof RollingUpdateDeployment> {}

export const DeploymentStrategy = object(
  "apps/v1.DeploymentStrategy",
  {
    type: defaulted(
      1,
      oneOf("Recreate", "RollingUpdate"),
      "RollingUpdate",
      "RollingUpdate little by little, or Recreate after all old ones are gone.",
    ),
    rollingUpdate: nullable(2, RollingUpdateDeployment, "How fast, for RollingUpdate."),
  },
  { doc: "How old pods are replaced by new ones.", defaults: setRollingUpdate },
);
export interface DeploymentStrategy extends Infer<typeof DeploymentStrategy> {}

function setRollingUpdate(strategy: { type: string; rollingUpdate?: RollingUpdateDeployment }): void {
  if (strategy.type !== "RollingUpdate") return;
  strategy.rollingUpdate = { maxUnavailable: "25%", maxSurge: "25%", ...strategy.rollingUpdate };
}

export const DeploymentSpec = object(
  "apps/v1.DeploymentSpec",
  {
    replicas: defaulted(1, int32({ min: 0 }), 1, "Number of pods wanted."),
    selector: present(2, LabelSelector, "Pods that belong to the deployment. Cannot be changed."),
    template: present(3, PodTemplateSpec, "The pod to run; a change of it starts a rollout."),
    strategy: patched("retainKeys", embedded(4, DeploymentStrategy, "How old pods are replaced by new ones.")),
    minReadySeconds: optional(5, int32({ min: 0 }), "Seconds that a pod must be ready before it counts as available."),
    revisionHistoryLimit: defaulted(
      6,
      int32({ min: 0 }),
      10,
      "Number of old replica sets that are kept for a rollback.",
    ),
    paused: optional(7, boolean(), "A change of the template waits until this is gone."),
    progressDeadlineSeconds: defaulted(
      9,
      int32({ min: 0 }),
      600,
      "Seconds without progress after which a rollout counts as failed.",
    ),
  },
  { doc: "How many pods there should be, what they are, and how they are replaced." },
);
export interface DeploymentSpec extends Infer<typeof DeploymentSpec> {}

export const DeploymentCondition = object(
  "apps/v1.DeploymentCondition",
  {
    type: present(1, string(), "What the condition is about: Available, Progressing or ReplicaFailure."),
    status: present(2, string(), "True, False or Unknown."),
    lastUpdateTime: optional(6, time(), "When the condition was last written."),
    lastTransitionTime: optional(7, time(), "When the status last changed."),
    reason: optional(4, string(), "One word for why."),
    message: optional(5, string(), "The same for people."),
  },
  { doc: "One aspect of a deployment's present state." },
);
export interface DeploymentCondition extends Infer<typeof DeploymentCondition> {}

export const DeploymentStatus = object(
  "apps/v1.DeploymentStatus",
  {
    observedGeneration: optional(1, int64(), "The generation that these numbers are about."),
    replicas: optional(2, int32(), "Number of pods that are not on their way out."),
    updatedReplicas: optional(3, int32(), "Number of those that are of the newest template."),
    readyReplicas: optional(7, int32(), "Number of those that are ready."),
    availableReplicas: optional(4, int32(), "Number of those that have been ready for minReadySeconds."),
    unavailableReplicas: optional(5, int32(), "Number of pods that are still missing for full availability."),
    terminatingReplicas: nullable(9, int32(), "Number of pods that are on their way out."),
    conditions: optional(6, listByKey("type", DeploymentCondition), "Aspects of the present state."),
    collisionCount: nullable(8, int32(), "How often the name of a new replica set was already taken."),
  },
  { doc: "How far a deployment is." },
);
export interface DeploymentStatus extends Infer<typeof DeploymentStatus> {}

const fields = {
  spec: embedded(2, DeploymentSpec, "What should run, and how it is replaced."),
  status: embedded(3, DeploymentStatus, "How far the deployment is."),
};
export interface Deployment extends ObjectOf<typeof fields> {}

/** Runs pods of the newest template, and gets there from the old one step by step. */
export const Deployment = defineResource({
  group: "apps",
  version: "v1",
  kind: "Deployment",
  plural: "deployments",
  package: "apps/v1",
  shortNames: ["deploy"],
  categories: ["all"],
  scope: "Namespaced",
  hasGeneration: true,
  doc: "Keeps pods of the newest template running, and replaces those of older ones.",
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
    {
      name: "Ready",
      type: "string",
      description: "Number of pods that are ready, of those wanted.",
      value: ({ spec, status }) => `${status.readyReplicas ?? 0}/${spec.replicas}`,
    },
    {
      name: "Up-to-date",
      type: "string",
      description: "Number of pods of the newest template.",
      value: ({ status }) => status.updatedReplicas ?? 0,
    },
    {
      name: "Available",
      type: "string",
      description: "Number of pods that are available.",
      value: ({ status }) => status.availableReplicas ?? 0,
    },
    ageColumn,
    ...containerColumns,
    {
      name: "Selector",
      type: "string",
      priority: 1,
      description: "Pods that belong to the deployment.",
      value: ({ spec }) => formatLabelSelector(spec.selector),
    },
  ],
  nameRule: dns1123Subdomain,

  prepareForCreate(deployment) {
    deployment.status = {};
  },
  prepareForUpdate(deployment, old) {
    deployment.status = old.status;
    // Rollouts look at annotations too, so a change of them counts.
    const { metadata } = deployment;
    if (!equal(metadata.annotations ?? {}, old.metadata.annotations ?? {})) {
      metadata.generation = (old.metadata.generation ?? 0) + 1;
    }
  },
  prepareForStatusUpdate({ metadata }, old) {
    if (old.metadata.labels) metadata.labels = old.metadata.labels;
    else delete metadata.labels;
  },
  validate: validateDeployment,
  validateUpdate: ({ spec }, old) =>
    validateImmutable(LabelSelector, spec.selector, old.spec.selector, root.child("spec", "selector")),
  validateStatusUpdate,
  *warnings(deployment, old) {
    if (!old) yield* nameWarnings(deployment);
  },
});

function* validateDeployment({ spec }: Deployment): Iterable<FieldError> {
  const path = root.child("spec");
  yield* validateSelectorAndTemplate(spec, path);
  yield* validateStrategy(spec.strategy, path.child("strategy"));
  if (spec.progressDeadlineSeconds <= (spec.minReadySeconds ?? 0)) {
    const at = path.child("progressDeadlineSeconds");
    yield invalidValue(at, spec.progressDeadlineSeconds, "must be greater than minReadySeconds");
  }
}

function* validateStrategy({ type, rollingUpdate }: DeploymentStrategy, path: FieldPath): Iterable<FieldError> {
  const at = path.child("rollingUpdate");
  if (type === "Recreate") {
    if (rollingUpdate) yield forbiddenValue(at, "may not be specified when strategy `type` is 'Recreate'");
    return;
  }
  if (type !== "RollingUpdate") return;
  if (!rollingUpdate) {
    yield requiredValue(at, "this should be defaulted and never be nil");
    return;
  }
  const { maxUnavailable = 0, maxSurge = 0 } = rollingUpdate;
  yield* validateIntOrPercent(maxUnavailable, at.child("maxUnavailable"));
  yield* validateIntOrPercent(maxSurge, at.child("maxSurge"));
  if (isNothing(maxUnavailable) && isNothing(maxSurge)) {
    yield invalidValue(at.child("maxUnavailable"), maxUnavailable, "may not be 0 when `maxSurge` is 0");
  }
  yield* validateAtMost100Percent(maxUnavailable, at.child("maxUnavailable"));
}

const isNothing = (value: number | string): boolean =>
  (typeof value === "string" ? (percentOf(value) ?? 0) : value) === 0;

function* validateStatusUpdate({ status }: Deployment, { status: old }: Deployment): Iterable<FieldError> {
  const { conditions: _, ...counts } = status;
  const path = root.child("status");
  yield* validateCounts(counts, { path, parts: ["updatedReplicas", "readyReplicas", "availableReplicas"] });
  const collisions = status.collisionCount ?? 0;
  if (old.collisionCount !== undefined && (status.collisionCount === undefined || collisions < old.collisionCount)) {
    yield invalidValue(path.child("collisionCount"), collisions, "cannot be decremented");
  }
}
