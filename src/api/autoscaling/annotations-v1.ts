import { maxAnnotationBytes } from "#api/meta/validate-meta.ts";
import { isObject } from "#lib/data/json-object.ts";
import { decode } from "#schema/json/decode.ts";
import { DecodeError } from "#schema/json/decode-error.ts";
import { type Schema } from "#schema/schema.ts";
import { list } from "#schema/types.ts";
import {
  HorizontalPodAutoscalerBehavior,
  HorizontalPodAutoscalerCondition,
  type HPAScalingRules,
  type SentAutoscaler,
  versionedAnnotations,
} from "./horizontal-pod-autoscaler.ts";
import { MetricSpec, MetricStatus } from "./metrics.ts";
import { metricStatusToV1, metricStatusToV2, metricToV1, metricToV2 } from "./metrics-v1.ts";

type Annotations = Readonly<Record<string, string>>;
type Loose = Readonly<Record<string, unknown>>;

const metricList = list(MetricSpec);
const metricStatusList = list(MetricStatus);
const conditionList = list(HorizontalPodAutoscalerCondition);

/** What autoscaling/v1 has no fields for. */
interface InAnnotations {
  readonly metrics: MetricSpec[] | undefined;
  readonly behavior: HorizontalPodAutoscalerBehavior | undefined;
  readonly currentMetrics: MetricStatus[] | undefined;
  readonly conditions: SentAutoscaler["status"]["conditions"];
}

export const readAnnotations = (annotations: Annotations): InAnnotations => ({
  metrics: parse(annotations[versionedAnnotations.metrics], metricList, (raw) => each(raw, metricToV2)),
  behavior: behaviorIn(annotations[versionedAnnotations.behavior]),
  currentMetrics: parse(annotations[versionedAnnotations.currentMetrics], metricStatusList, (raw) =>
    each(raw, metricStatusToV2),
  ),
  conditions: parse(annotations[versionedAnnotations.conditions], conditionList, (raw) => raw),
});

/** What cannot be read is ignored, as upstream does. What no object may have is not read: that could take long. */
function parse<T>(text: string | undefined, schema: Schema<T>, convert: (raw: unknown) => unknown): T | undefined {
  if (text === undefined || text.length > maxAnnotationBytes) return undefined;
  try {
    const raw: unknown = JSON.parse(text);
    return raw === null ? undefined : decode<T>(schema, convert(raw), { defaults: false }).value;
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof DecodeError) return undefined;
    throw error;
  }
}

const each = (raw: unknown, convert: (item: unknown) => unknown): unknown =>
  Array.isArray(raw) ? raw.map(convert) : raw;

function behaviorIn(text: string | undefined): HorizontalPodAutoscalerBehavior | undefined {
  const behavior = parse(text, HorizontalPodAutoscalerBehavior, behaviorToV2);
  return behavior?.scaleUp || behavior?.scaleDown ? behavior : undefined;
}

/** Upstream writes the behavior with the names of its source code: `ScaleUp`, `PeriodSeconds`. */
function behaviorToV2(raw: unknown): unknown {
  if (!isObject(raw)) return raw;
  const { scaleUp, scaleDown } = lowerCased(raw);
  return { scaleUp: rulesToV2(scaleUp), scaleDown: rulesToV2(scaleDown) };
}

function rulesToV2(raw: unknown): unknown {
  if (!isObject(raw)) return raw;
  const { policies, ...rules } = lowerCased(raw);
  return { ...rules, policies: each(policies, (policy) => (isObject(policy) ? lowerCased(policy) : policy)) };
}

/** With a small first letter in each name. */
const lowerCased = (raw: Loose): Loose =>
  Object.fromEntries(
    Object.entries(raw).map(([name, value]) => [name.slice(0, 1).toLowerCase() + name.slice(1), value]),
  );

/** Whether the metric is the one that v1 has a field for. */
export const isCpuMetric = ({ type, resource }: MetricSpec): boolean =>
  type === "Resource" && resource?.name === "cpu" && resource.target.averageUtilization !== undefined;

export function writeAnnotations({ spec, status }: SentAutoscaler): Annotations {
  const metrics = (spec.metrics ?? []).filter((metric) => !isCpuMetric(metric)).map(metricToV1);
  const { currentMetrics = [], conditions = [] } = status;
  const out: Record<string, string> = {};
  if (metrics.length > 0) out[versionedAnnotations.metrics] = JSON.stringify(metrics);
  if (currentMetrics.length > 0) {
    out[versionedAnnotations.currentMetrics] = JSON.stringify(currentMetrics.map(metricStatusToV1));
  }
  if (spec.behavior) out[versionedAnnotations.behavior] = JSON.stringify(behaviorToV1(spec.behavior));
  if (conditions.length > 0) out[versionedAnnotations.conditions] = JSON.stringify(conditions.map(conditionToV1));
  return out;
}

const behaviorToV1 = ({ scaleUp, scaleDown }: HorizontalPodAutoscalerBehavior): Loose => ({
  ScaleUp: scaleUp ? rulesToV1(scaleUp) : null,
  ScaleDown: scaleDown ? rulesToV1(scaleDown) : null,
});

const rulesToV1 = ({ stabilizationWindowSeconds, selectPolicy, policies, tolerance }: HPAScalingRules): Loose => ({
  StabilizationWindowSeconds: stabilizationWindowSeconds ?? null,
  SelectPolicy: selectPolicy ?? null,
  Policies:
    policies?.map(({ type, value, periodSeconds }) => ({ Type: type, Value: value, PeriodSeconds: periodSeconds })) ??
    null,
  Tolerance: tolerance ?? null,
});

type AutoscalerCondition = NonNullable<SentAutoscaler["status"]["conditions"]>[number];

const conditionToV1 = ({ type, status, lastTransitionTime, reason, message }: AutoscalerCondition): Loose => ({
  type,
  status,
  lastTransitionTime: lastTransitionTime ?? null,
  reason,
  message,
});
