import { type MetricSpec, type MetricStatus } from "#api/autoscaling/metrics.ts";
import { type Cause } from "./plan-size.ts";
import { type Proposal } from "./propose-metric.ts";

/** Why a metric says nothing. */
export interface MetricFailure {
  readonly reason: string;
  /** For the event and the condition. */
  readonly message: string;
  /** The same with more context, for the error of the whole. */
  readonly error: string;
}
export type MetricOutcome = { readonly proposal: Proposal } | { readonly failure: MetricFailure };

export interface Combined {
  /** Undefined if nothing may be concluded from the metrics. */
  readonly replicas: number | undefined;
  /** The metric that asks for the most pods. */
  readonly metric: string;
  readonly statuses: MetricStatus[];
  /** For ScalingActive. */
  readonly active: Cause & { readonly status: "True" | "False" };
  /** What is wrong with some of the metrics. */
  readonly error: string | undefined;
}

/** The metric that asks for the most pods wins. If one fails, the others may add pods, but not remove any. */
export function combineProposals(outcomes: readonly MetricOutcome[], specReplicas: number): Combined {
  const failures = outcomes.flatMap((outcome) => ("failure" in outcome ? outcome.failure : []));
  const proposals = outcomes.flatMap((outcome) => ("proposal" in outcome ? outcome.proposal : []));
  const statuses = outcomes.map((outcome) => ("proposal" in outcome ? outcome.proposal.status : { type: "" }));
  const [first] = failures;
  const count = `${failures.length} invalid out of ${outcomes.length}`;
  const error = first && `invalid metrics (${count}), first error is: ${first.error}`;
  const most = proposals.reduce<Proposal | undefined>(
    (best, next) => (!best || best.replicas === 0 || next.replicas > best.replicas ? next : best),
    undefined,
  );
  if (!most || (first && most.replicas < specReplicas)) {
    const message = `the HPA was unable to compute the replica count: ${first?.message ?? ""}`;
    const active = { status: "False", reason: first?.reason ?? "InvalidMetricSourceType", message } as const;
    return { replicas: undefined, metric: "", statuses, active, error: error ?? "there are no metrics" };
  }
  const message = `the HPA was able to successfully calculate a replica count from ${most.name}`;
  const active = { status: "True", reason: "ValidMetricFound", message } as const;
  return { replicas: most.replicas, metric: most.name, statuses, active, error };
}

/** Upstream's texts about a metric that cannot be used. */
export function failureOf(
  { object, pods, resource, containerResource, external, type }: MetricSpec,
  error: string,
): MetricFailure {
  if (resource) {
    const message = `failed to get ${resource.name} ${usageWord(resource.target)}: ${error}`;
    const whole = `failed to get ${resource.name} resource metric value: ${message}`;
    return { reason: "FailedGetResourceMetric", message, error: whole };
  }
  if (containerResource) {
    const { name, container, target } = containerResource;
    const message = `failed to get ${name} ${usageWord(target)}: ${error}`;
    const whole = `failed to get ${container} container metric value: ${message}`;
    return { reason: "FailedGetContainerResourceMetric", message, error: whole };
  }
  if (pods) {
    return { reason: "FailedGetPodsMetric", message: error, error: `failed to get pods metric value: ${error}` };
  }
  if (object) {
    const inner = isShared(object.target) ? `failed to get ${object.metric.name} object metric: ${error}` : error;
    return { reason: "FailedGetObjectMetric", message: error, error: `failed to get object metric value: ${inner}` };
  }
  if (external) {
    const { name } = external.metric;
    const inner = isShared(external.target) ? `${name} external metric` : `external metric ${name}`;
    const whole = `failed to get ${name} external metric value: failed to get ${inner}: ${error}`;
    return { reason: "FailedGetExternalMetric", message: error, error: whole };
  }
  const message = `unknown metric source type ${JSON.stringify(type)}`;
  return { reason: "InvalidMetricSourceType", message, error: message };
}

const isShared = ({ averageValue }: { averageValue?: string | undefined }): boolean => averageValue !== undefined;
const usageWord = (target: { averageValue?: string | undefined }): string =>
  isShared(target) ? "usage" : "utilization";
