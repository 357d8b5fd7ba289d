import { maxAnnotationBytes } from "#api/meta/validate-meta.ts";
import { defaulted, demanded, embedded, nullable, optional, present } from "#schema/fields.ts";
import { inPackage } from "#schema/schema.ts";
import { int32, int64, string, time } from "#schema/types.ts";
import { type Cursor } from "../cursor.ts";
import { type Column, defineResource, type ObjectOf } from "../resource.ts";
import { isCpuMetric, readAnnotations, writeAnnotations } from "./annotations-v1.ts";
import {
  autoscalerColumns,
  autoscalerTraits,
  cpuMetric,
  dropVersionedAnnotations,
  HorizontalPodAutoscaler,
  type HorizontalPodAutoscalerSpec,
  type HorizontalPodAutoscalerStatus,
  type SentAutoscaler,
  setDefaults,
  validateAutoscaler,
  validateAutoscalerStatus,
  versionedAnnotations,
} from "./horizontal-pod-autoscaler.ts";

const object = inPackage("autoscaling/v1");

const objectInNamespace = "An object in the same namespace, by its kind and name.";
const CrossVersionObjectReference = object.atomic("CrossVersionObjectReference", objectInNamespace, {
  kind: present(1, string(), "Kind of the object."),
  name: present(2, string(), "Name of the object."),
  apiVersion: optional(3, string(), "API version of the object, such as apps/v1."),
});

const range = "What an autoscaler scales, and within which limits.";
const HorizontalPodAutoscalerSpecV1 = object("HorizontalPodAutoscalerSpec", range, {
  scaleTargetRef: present(
    1,
    CrossVersionObjectReference,
    "Object that is scaled, which must have a scale subresource.",
  ),
  minReplicas: defaulted(2, int32(), 1, "Smallest number of pods that the autoscaler may set."),
  maxReplicas: present(3, int32(), "Largest number of pods that the autoscaler may set."),
  targetCPUUtilizationPercentage: nullable(4, int32(), "Target for the average CPU use, as a percentage of requests."),
});

const HorizontalPodAutoscalerStatusV1 = object(
  "HorizontalPodAutoscalerStatus",
  "The observed state of an autoscaler.",
  {
    observedGeneration: nullable(1, int64(), "Generation of the autoscaler that this status was computed from."),
    lastScaleTime: nullable(2, time(), "When the autoscaler last changed the number of pods."),
    currentReplicas: present(3, int32(), "Number of pods that the autoscaler last saw."),
    desiredReplicas: present(4, int32(), "Number of pods that the autoscaler last computed."),
    currentCPUUtilizationPercentage: nullable(5, int32(), "Current average CPU use, as a percentage of requests."),
  },
);

const fields = {
  spec: demanded(embedded(2, HorizontalPodAutoscalerSpecV1)),
  status: embedded(3, HorizontalPodAutoscalerStatusV1),
};
interface SentAutoscalerV1 extends ObjectOf<typeof fields> {}

/** The older form of the same autoscalers: stored as autoscaling/v2. What it has no fields for is in annotations. */
export const autoscalersV1 = defineResource("autoscaling/v1.HorizontalPodAutoscaler", fields, {
  ...autoscalerTraits,
  withStatus: () => ({ currentReplicas: 0, desiredReplicas: 0 }),
  columns: autoscalerColumns.map(
    (column): Column<SentAutoscalerV1> => ({
      ...column,
      value: (object, now) => column.value(storedOnce(object), now),
    }),
  ),
  storedAs: { resource: HorizontalPodAutoscaler, toStored, fromStored },

  // A part of the spec and of the status is in annotations, so the two are told apart in the stored form.
  prepareForCreate: (autoscaler) => settle(autoscaler, { status: { desiredReplicas: 0 } }),
  prepareForUpdate: (autoscaler, old) => settle(autoscaler, { status: toStored(old).status }),
  prepareForStatusUpdate: (autoscaler, old) => settle(autoscaler, { spec: toStored(old).spec }),
  validate(autoscaler) {
    // The rules of metadata refuse it.
    if (isTooLong(autoscaler.value)) return;
    validateAutoscaler(autoscaler.as(toStored(autoscaler.value)));
  },
  validateUpdate(autoscaler, old) {
    if (!isTooLong(autoscaler.value) && isTooLong(old)) refuseLength(autoscaler);
  },
  validateStatusUpdate(autoscaler, old) {
    if (isTooLong(autoscaler.value) || isTooLong(old)) refuseLength(autoscaler);
    else validateAutoscalerStatus(autoscaler.as(toStored(autoscaler.value)));
  },
});

/** Gives the object the form in which it will be read, with a part of another version of it. */
function settle(
  autoscaler: SentAutoscalerV1,
  part: { spec: HorizontalPodAutoscalerSpec } | { status: HorizontalPodAutoscalerStatus },
): void {
  if (isTooLong(autoscaler)) return;
  const { metadata, spec, status } = fromStored({ ...toStored(autoscaler), ...part });
  if (metadata.annotations) autoscaler.metadata.annotations = metadata.annotations;
  else delete autoscaler.metadata.annotations;
  autoscaler.spec = spec;
  autoscaler.status = status;
}

/** Such an annotation is not read, so nothing that depends on it may be written. */
const isTooLong = ({ metadata: { annotations = {} } }: SentAutoscalerV1): boolean =>
  Object.values(versionedAnnotations).some((name) => (annotations[name] ?? "").length > maxAnnotationBytes);

const refuseLength = (autoscaler: Cursor): void =>
  autoscaler.under("metadata", "annotations").tooLong(maxAnnotationBytes);

export function toStored(autoscaler: SentAutoscalerV1): SentAutoscaler {
  const metadata = { ...autoscaler.metadata };
  const { metrics = [], behavior, currentMetrics, conditions } = readAnnotations(metadata.annotations ?? {});
  dropVersionedAnnotations(metadata);
  const { targetCPUUtilizationPercentage: cpu, ...spec } = autoscaler.spec;
  const all = cpu === undefined ? metrics : [...metrics, cpuMetric(cpu)];
  const stored = {
    ...autoscaler,
    apiVersion: "autoscaling/v2",
    metadata,
    spec: { ...spec, ...(all.length > 0 ? { metrics: all } : {}), ...(behavior ? { behavior } : {}) },
    status: {
      ...statusToStored(autoscaler.status),
      ...(currentMetrics ? { currentMetrics } : {}),
      ...(conditions ? { conditions } : {}),
    },
  };
  setDefaults(stored.spec);
  return stored;
}

const storedForms = new WeakMap<SentAutoscalerV1, SentAutoscaler>();

/** For objects that nobody changes any more. To read the annotations again for each column would take long. */
function storedOnce(autoscaler: SentAutoscalerV1): SentAutoscaler {
  let stored = storedForms.get(autoscaler);
  if (!stored) {
    stored = toStored(autoscaler);
    storedForms.set(autoscaler, stored);
  }
  return stored;
}

function statusToStored(status: SentAutoscalerV1["status"]): HorizontalPodAutoscalerStatus {
  const { currentCPUUtilizationPercentage: averageUtilization, currentReplicas, ...same } = status;
  return {
    ...same,
    ...(currentReplicas === 0 ? {} : { currentReplicas }),
    ...(averageUtilization === undefined
      ? {}
      : { currentMetrics: [{ type: "Resource", resource: { name: "cpu", current: { averageUtilization } } }] }),
  };
}

export function fromStored(stored: SentAutoscaler): SentAutoscalerV1 {
  const metadata = { ...stored.metadata };
  dropVersionedAnnotations(metadata);
  const added = writeAnnotations(stored);
  if (Object.keys(added).length > 0) metadata.annotations = { ...metadata.annotations, ...added };
  const { metrics = [], behavior: _b, ...spec } = stored.spec;
  const { currentMetrics = [], conditions: _c, ...status } = stored.status;
  const target = metrics.find(isCpuMetric)?.resource?.target.averageUtilization;
  const current = currentMetrics.findLast(
    ({ type, resource }) => type === "Resource" && resource?.name === "cpu" && hasUtilization(resource.current),
  )?.resource?.current.averageUtilization;
  return {
    ...stored,
    apiVersion: "autoscaling/v1",
    metadata,
    spec: { ...spec, ...(target === undefined ? {} : { targetCPUUtilizationPercentage: target }) },
    status: {
      ...status,
      currentReplicas: status.currentReplicas ?? 0,
      ...(current === undefined ? {} : { currentCPUUtilizationPercentage: current }),
    },
  };
}

const hasUtilization = ({ averageUtilization }: { averageUtilization?: number }): boolean =>
  averageUtilization !== undefined;
