import { ageColumn, column } from "#api/meta/columns.ts";
import { conditionOf } from "#api/meta/condition.ts";
import { type ObjectMeta } from "#api/meta/object-meta.ts";
import { defaulted, demanded, embedded, nullable, optional, present, written } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { atomicList, int32, int64, listByKey, quantity, string, time } from "#schema/types.ts";
import { type Cursor } from "../cursor.ts";
import { type Column, defineResource, type NamespacedObject, type ObjectOf } from "../resource.ts";
import { targetsOf } from "./autoscaler-targets.ts";
import { CrossVersionObjectReference, MetricSpec, MetricStatus } from "./metrics.ts";
import { validateBehavior, validateReference } from "./validate-autoscaler.ts";
import { validateMetrics } from "./validate-metrics.ts";

const object = inPackage("autoscaling/v2");

const HPAScalingPolicy = object("HPAScalingPolicy", "How much an autoscaler may change in a period.", {
  type: present(1, string(), "Unit of value: Pods or Percent."),
  value: present(2, int32(), "Number of pods, or percentage of them, that may be added or removed in the period."),
  periodSeconds: present(3, int32(), "Length of the period in seconds, from 1 to 1800."),
});
export interface HPAScalingPolicy extends Infer<typeof HPAScalingPolicy> {}

const HPAScalingRules = object(
  "HPAScalingRules",
  "How fast an autoscaler changes the number of pods in one direction.",
  {
    stabilizationWindowSeconds: nullable(3, int32(), "Seconds of past recommendations to consider, from 0 to 3600."),
    selectPolicy: nullable(1, string(), "Which policy counts: Max for the largest change, Min, or Disabled for none."),
    policies: nullable(2, atomicList(HPAScalingPolicy), "Limits of the change. There must be at least one."),
    tolerance: nullable(4, quantity(), "Ratio by which a metric may miss its target without a change, such as 0.05."),
  },
);
export interface HPAScalingRules extends Infer<typeof HPAScalingRules> {}

const about = "How fast an autoscaler changes the number of pods.";
export const HorizontalPodAutoscalerBehavior = object("HorizontalPodAutoscalerBehavior", about, {
  scaleUp: nullable(1, HPAScalingRules, "How fast pods are added. Default: 4 pods or 100 % in 15 seconds."),
  scaleDown: nullable(2, HPAScalingRules, "How fast pods are removed. Default: 100 % in 15 seconds."),
});
export interface HorizontalPodAutoscalerBehavior extends Infer<typeof HorizontalPodAutoscalerBehavior> {}

const conditionTypes = "AbleToScale, ScalingActive, ScalingLimited or ScaledToZero";
const conditionName = "autoscaling/v2.HorizontalPodAutoscalerCondition";
export const HorizontalPodAutoscalerCondition = conditionOf(conditionName, conditionTypes, [3, 4, 5]);

const range = "What an autoscaler scales, by which metrics, and within which limits.";
const HorizontalPodAutoscalerSpec = object.filledBy(setDefaults, "HorizontalPodAutoscalerSpec", range, {
  scaleTargetRef: present(
    1,
    CrossVersionObjectReference,
    "Object that is scaled, which must have a scale subresource.",
  ),
  minReplicas: defaulted(2, int32(), 1, "Smallest number of pods that the autoscaler may set."),
  maxReplicas: present(3, int32(), "Largest number of pods that the autoscaler may set."),
  metrics: optional(4, atomicList(MetricSpec), "Metrics to follow. Default: a CPU utilization of 80 %."),
  behavior: nullable(5, HorizontalPodAutoscalerBehavior, "How fast the autoscaler changes the number of pods."),
});
export interface HorizontalPodAutoscalerSpec extends Infer<typeof HorizontalPodAutoscalerSpec> {}

const HorizontalPodAutoscalerStatus = object("HorizontalPodAutoscalerStatus", "The observed state of an autoscaler.", {
  observedGeneration: nullable(1, int64(), "Generation of the autoscaler that this status was computed from."),
  lastScaleTime: nullable(2, time(), "When the autoscaler last changed the number of pods."),
  currentReplicas: optional(3, int32(), "Number of pods that the autoscaler last saw."),
  desiredReplicas: present(4, int32(), "Number of pods that the autoscaler last computed."),
  currentMetrics: written(
    optional(5, atomicList(MetricStatus), "Values of the metrics that the autoscaler last read."),
  ),
  conditions: optional(6, listByKey("type", HorizontalPodAutoscalerCondition), "Conditions of the autoscaler by type."),
});
export interface HorizontalPodAutoscalerStatus extends Infer<typeof HorizontalPodAutoscalerStatus> {}

/** The metric of an autoscaler that has no other. */
export const cpuMetric = (averageUtilization = 80): MetricSpec => ({
  type: "Resource",
  resource: { name: "cpu", target: { type: "Utilization", averageUtilization } },
});

const scaleUpRules = (): HPAScalingRules => ({
  stabilizationWindowSeconds: 0,
  selectPolicy: "Max",
  policies: [
    { type: "Pods", value: 4, periodSeconds: 15 },
    { type: "Percent", value: 100, periodSeconds: 15 },
  ],
});
const scaleDownRules = (): HPAScalingRules => ({
  selectPolicy: "Max",
  policies: [{ type: "Percent", value: 100, periodSeconds: 15 }],
});

export function setDefaults(spec: { metrics?: MetricSpec[]; behavior?: HorizontalPodAutoscalerBehavior }): void {
  spec.metrics ??= [cpuMetric()];
  const { behavior } = spec;
  if (!behavior) return;
  behavior.scaleUp = { ...scaleUpRules(), ...behavior.scaleUp };
  behavior.scaleDown = { ...scaleDownRules(), ...behavior.scaleDown };
}

const fields = {
  spec: demanded(embedded(2, HorizontalPodAutoscalerSpec)),
  status: embedded(3, HorizontalPodAutoscalerStatus),
};
export interface HorizontalPodAutoscaler extends NamespacedObject<typeof fields> {}
/** An autoscaler as a client sent it. */
export interface SentAutoscaler extends ObjectOf<typeof fields> {}

export const autoscalerColumns: readonly Column<SentAutoscaler>[] = [
  column(
    "Reference",
    "Object that is scaled.",
    ({
      spec: {
        scaleTargetRef: { kind, name },
      },
    }) => `${kind}/${name}`,
  ),
  column("Targets", "Current and wanted values of the metrics.", ({ spec, status }) => targetsOf(spec.metrics, status)),
  column("MinPods", "Smallest number of pods.", ({ spec }) => String(spec.minReplicas)),
  column("MaxPods", "Largest number of pods.", ({ spec }) => spec.maxReplicas),
  column("Replicas", "Number of pods.", ({ status }) => status.currentReplicas ?? 0),
  ageColumn,
];

/** What the two versions of autoscalers have in common. */
export const autoscalerTraits = {
  doc: "Sets the number of pods of an object, such as a Deployment, by metrics.",
  shortNames: ["hpa"],
  categories: ["all"],
};

export const HorizontalPodAutoscaler = defineResource("autoscaling/v2.HorizontalPodAutoscaler", fields, {
  ...autoscalerTraits,
  withStatus: () => ({ desiredReplicas: 0 }),
  columns: autoscalerColumns,

  prepareForCreate: ({ metadata }) => dropVersionedAnnotations(metadata),
  prepareForUpdate: ({ metadata }) => dropVersionedAnnotations(metadata),
  prepareForStatusUpdate: ({ metadata }) => dropVersionedAnnotations(metadata),
  validate: validateAutoscaler,
  validateStatusUpdate: validateAutoscalerStatus,
});

const annotationPrefix = "autoscaling.alpha.kubernetes.io/";
/** In autoscaling/v1, these annotations hold what only newer versions have fields for. */
export const versionedAnnotations = {
  metrics: `${annotationPrefix}metrics`,
  currentMetrics: `${annotationPrefix}current-metrics`,
  conditions: `${annotationPrefix}conditions`,
  behavior: `${annotationPrefix}behavior`,
  scaleDownTolerance: `${annotationPrefix}scale-down-tolerance`,
  scaleUpTolerance: `${annotationPrefix}scale-up-tolerance`,
} as const;
const versionedNames: readonly string[] = Object.values(versionedAnnotations);

export function dropVersionedAnnotations(metadata: ObjectMeta): void {
  const { annotations } = metadata;
  if (!annotations || !versionedNames.some((name) => name in annotations)) return;
  const kept = Object.entries(annotations).filter(([name]) => !versionedNames.includes(name));
  if (kept.length > 0) metadata.annotations = Object.fromEntries(kept);
  else delete metadata.annotations;
}

export function validateAutoscaler(autoscaler: Cursor<SentAutoscaler>): void {
  const at = autoscaler.field("spec");
  const { minReplicas, maxReplicas, scaleTargetRef } = at.value;
  at.field("minReplicas").atLeast(1);
  if (maxReplicas === 0) at.field("maxReplicas").missing("must be set and greater than 0");
  else at.field("maxReplicas").atLeast(1);
  if (maxReplicas < minReplicas) at.field("maxReplicas").invalid("must be greater than or equal to `minReplicas`");
  // Of the core group, only replication controllers can be scaled.
  const groups = scaleTargetRef.kind === "ReplicationController" ? "any group" : "named groups";
  validateReference(at.field("scaleTargetRef"), groups);
  validateMetrics(at);
  at.on("behavior", validateBehavior);
}

export function validateAutoscalerStatus(autoscaler: Cursor<SentAutoscaler>): void {
  autoscaler.field("status").field("currentReplicas").atLeast(0);
  autoscaler.field("status").field("desiredReplicas").atLeast(0);
}
