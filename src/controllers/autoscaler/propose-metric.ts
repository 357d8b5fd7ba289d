import { type HorizontalPodAutoscaler } from "#api/autoscaling/horizontal-pod-autoscaler.ts";
import { type MetricSpec, type MetricStatus, type MetricTarget } from "#api/autoscaling/metrics.ts";
import { isReady } from "#api/core/pod/pod-state.ts";
import { type Pod } from "#api/core/pod.ts";
import { shownSelector } from "../shared/shown-selector.ts";
import { countedMetrics, groupPods, type PodMetrics } from "./group-pods.ts";
import { milliQuantity, milliValue, sumOf } from "./milli-value.ts";
import { requestsOf } from "./pod-request.ts";
import {
  averageUsage,
  type PodsQuestion,
  proposeForPods,
  proposeForShare,
  proposeForValue,
  type Tolerances,
  tolerancesOf,
  utilizationUsage,
} from "./propose-size.ts";
import { type MetricReading } from "./read-metric.ts";

/** Everything that a proposal depends on, besides the metric. */
export interface Situation {
  readonly autoscaler: HorizontalPodAutoscaler;
  /** What the target wants. */
  readonly specReplicas: number;
  /** What the target has. */
  readonly statusReplicas: number;
  /** The pods of the target. */
  readonly pods: readonly Pod[];
  readonly nowMs: number;
}

export interface Proposal {
  readonly replicas: number;
  /** How messages name the metric. */
  readonly name: string;
  readonly status: MetricStatus;
}

/** How many pods one metric asks for; throws in upstream's words. */
export function proposeForMetric(spec: MetricSpec, reading: MetricReading, situation: Situation): Proposal {
  const { type, object, pods, resource, containerResource, external } = spec;
  if (reading.type === "pods") {
    if (resource) return forResource(spec, { ...resource, container: "" }, reading.metrics, situation);
    if (containerResource) return forResource(spec, containerResource, reading.metrics, situation);
    if (pods) return forPods(pods, reading.metrics, situation);
  } else {
    if (object) return forObject(object, sumOf(reading.values), situation);
    if (external) return forExternal(external, sumOf(reading.values), situation);
  }
  throw new Error(`unknown metric source type ${JSON.stringify(type)}`);
}

interface ResourceSource {
  readonly name: string;
  readonly target: MetricTarget;
  readonly container: string;
}

function forResource(spec: MetricSpec, source: ResourceSource, metrics: PodMetrics, situation: Situation): Proposal {
  const { name, target, container } = source;
  const { averageValue, averageUtilization } = target;
  const { pods } = situation;
  const format = name === "memory" ? "binary" : "decimal";
  if (averageValue !== undefined) {
    const wanted = milliValue(averageValue);
    const { replicas, usage } = proposeForPods({
      ...podsQuestion(metrics, name, situation),
      usageOf: averageUsage(wanted),
      assumedValue: () => wanted,
    });
    const current = { averageValue: milliQuantity(usage.average, format) };
    return { replicas, name: `${name} resource`, status: resourceStatus(spec, source, current) };
  }
  const wanted = averageUtilization ?? 0;
  const question = podsQuestion(metrics, name, situation);
  const requests = requestsOf(pods, name, container);
  const assumed = BigInt(Math.max(100, wanted));
  const { replicas, usage } = proposeForPods({
    ...question,
    usageOf: utilizationUsage(wanted, requests),
    assumedValue: (pod) => ((requests.get(pod) ?? 0n) * assumed) / 100n,
  });
  const current = { averageUtilization: usage.utilization ?? 0, averageValue: milliQuantity(usage.average, format) };
  const of = container ? "container resource" : "resource";
  const shown = `${name} ${of} utilization (percentage of request)`;
  return { replicas, name: shown, status: resourceStatus(spec, source, current) };
}

function resourceStatus(
  { type }: MetricSpec,
  { name, container }: ResourceSource,
  current: NonNullable<MetricStatus["resource"]>["current"],
): MetricStatus {
  return container ? { type, containerResource: { name, container, current } } : { type, resource: { name, current } };
}

function forPods(
  { metric, target }: NonNullable<MetricSpec["pods"]>,
  metrics: PodMetrics,
  situation: Situation,
): Proposal {
  const wanted = milliValue(target.averageValue ?? "0");
  const { replicas, usage } = proposeForPods({
    ...podsQuestion(metrics, "", situation),
    usageOf: averageUsage(wanted),
    assumedValue: () => wanted,
  });
  const status = { type: "Pods", pods: { metric, current: { averageValue: milliQuantity(usage.average) } } };
  return { replicas, name: `pods metric ${metric.name}`, status };
}

function podsQuestion(
  metrics: PodMetrics,
  resource: string,
  { pods, specReplicas, autoscaler, nowMs }: Situation,
): Pick<PodsQuestion, "current" | "groups" | "counted" | "tolerances"> {
  if (pods.length === 0) throw new Error(noPods);
  const groups = groupPods(pods, metrics, { resource, nowMs });
  const counted = countedMetrics(metrics, groups);
  if (counted.size === 0) throw new Error("did not receive metrics for targeted pods (pods might be unready)");
  return { current: specReplicas, groups, counted, tolerances: tolerancesFor(autoscaler) };
}

const noPods = "no pods returned by selector while calculating replica count";
const tolerancesFor = ({ spec }: HorizontalPodAutoscaler): Tolerances => tolerancesOf(spec.behavior);

function forObject(
  { describedObject, metric, target }: NonNullable<MetricSpec["object"]>,
  value: bigint,
  situation: Situation,
): Proposal {
  const { replicas, current, isShared } = forValue(target, value, situation);
  const status = { type: "Object", object: { metric, describedObject, current } };
  return { replicas, name: isShared ? externalName(metric) : `${describedObject.kind} metric ${metric.name}`, status };
}

function forExternal(
  { metric, target }: NonNullable<MetricSpec["external"]>,
  value: bigint,
  situation: Situation,
): Proposal {
  const { replicas, current } = forValue(target, value, situation);
  return { replicas, name: externalName(metric), status: { type: "External", external: { metric, current } } };
}

const externalName = ({ name, selector }: NonNullable<MetricSpec["external"]>["metric"]): string =>
  `external metric ${name}(${shownSelector(selector)})`;

function forValue(target: MetricTarget, value: bigint, { autoscaler, specReplicas, statusReplicas, pods }: Situation) {
  const tolerances = tolerancesFor(autoscaler);
  if (target.averageValue !== undefined) {
    const question = { current: statusReplicas, value, target: milliValue(target.averageValue), tolerances };
    const { replicas, average } = proposeForShare(question);
    return { replicas, current: { averageValue: milliQuantity(average) }, isShared: true };
  }
  const question = { current: specReplicas, value, target: milliValue(target.value ?? "0"), tolerances };
  const replicas = proposeForValue(question, () => readyCount(pods));
  return { replicas, current: { value: milliQuantity(value) }, isShared: false };
}

function readyCount(pods: readonly Pod[]): number {
  if (pods.length === 0) throw new Error(`unable to calculate ready pods: ${noPods}`);
  return pods.filter((pod) => pod.status.phase === "Running" && isReady(pod)).length;
}
