import { targetsOf } from "#api/autoscaling/autoscaler-targets.ts";
import { type HorizontalPodAutoscaler } from "#api/autoscaling/horizontal-pod-autoscaler.ts";
import { findCondition } from "#api/meta/condition.ts";
import { counted, type Explanation, firstOf } from "./explanation.ts";

/** Whether an autoscaler works, and why it does not change the size. */
export function explainAutoscaler(autoscaler: HorizontalPodAutoscaler): Explanation {
  const { spec, status } = autoscaler;
  const { minReplicas, maxReplicas } = spec;
  const size = counted(status.currentReplicas ?? 0, "replica");
  const evidence = [
    // An autoscaler that does not find its target has not seen a size.
    ...(status.currentReplicas === undefined
      ? []
      : [`${targetOf(autoscaler)} has ${size}, and may have ${minReplicas} to ${maxReplicas}`]),
    ...metricsOf(autoscaler),
  ];
  const found = firstOf([unobserved, unable, inactive, limited, stabilized], autoscaler) ?? steady(autoscaler);
  return { ...found, evidence: [...found.evidence, ...evidence] };
}

const titleOf = ({ metadata }: HorizontalPodAutoscaler): string => `HorizontalPodAutoscaler ${metadata.name}`;
const targetOf = ({ spec: { scaleTargetRef } }: HorizontalPodAutoscaler): string =>
  `${scaleTargetRef.kind} ${scaleTargetRef.name}`;

/** Each metric as a table shows it. */
function metricsOf({ spec: { metrics = [] }, status }: HorizontalPodAutoscaler): string[] {
  const current = status.currentMetrics ?? [];
  return metrics.map((metric, index) => {
    const known = current[index];
    return targetsOf([metric], known ? { currentMetrics: [known] } : {});
  });
}

const answer = (state: string, headline: string, advice: readonly string[] = []): Explanation => ({
  hop: undefined,
  state,
  headline,
  evidence: [],
  advice,
});

function unobserved(autoscaler: HorizontalPodAutoscaler): Explanation | undefined {
  if ((autoscaler.status.conditions ?? []).length > 0) return undefined;
  const advice = ["Ask again in a moment. If this persists, check that the controllers are running."];
  return answer("Unobserved", `${titleOf(autoscaler)} has not done anything yet.`, advice);
}

function unable(autoscaler: HorizontalPodAutoscaler): Explanation | undefined {
  const able = findCondition(autoscaler.status.conditions, "AbleToScale");
  if (able?.status !== "False") return undefined;
  const advice =
    able.reason === "FailedGetScale"
      ? [
          "Compare spec.scaleTargetRef with the object: its group, kind and name must match, and its kind must have a scale.",
        ]
      : ["See who else changes the object, and what refuses the change."];
  return answer(able.reason ?? "Unable", `${titleOf(autoscaler)} cannot scale: ${able.message ?? ""}.`, advice);
}

/** What helps, by the reason of the condition. */
const adviceOf: Readonly<Record<string, string>> = {
  ScalingDisabled:
    "Set the replicas of the target to at least 1: an autoscaler does not touch what was scaled to zero.",
  InvalidSelector: "The scale of the target must have a selector in its status, by which its pods are found.",
  AmbiguousSelector: "Delete all but one of these autoscalers, or give their targets different labels.",
  FailedGetResourceMetric:
    "Check that the pods run, are ready and request the resource: `kubectl top pods` shows what they use.",
  FailedGetContainerResourceMetric: "Check that the pods have a container of this name that requests the resource.",
  FailedGetPodsMetric: "Metrics of pods come from an adapter, which must be registered as custom.metrics.k8s.io.",
  FailedGetObjectMetric: "Metrics of objects come from an adapter, which must be registered as custom.metrics.k8s.io.",
  FailedGetExternalMetric:
    "External metrics come from an adapter, which must be registered as external.metrics.k8s.io.",
};

function inactive(autoscaler: HorizontalPodAutoscaler): Explanation | undefined {
  const active = findCondition(autoscaler.status.conditions, "ScalingActive");
  if (active?.status !== "False") return undefined;
  const { reason = "Inactive", message = "" } = active;
  const advice = Object.hasOwn(adviceOf, reason) ? adviceOf[reason] : undefined;
  return answer(reason, `${titleOf(autoscaler)} does not scale: ${message}.`, advice ? [advice] : []);
}

function limited(autoscaler: HorizontalPodAutoscaler): Explanation | undefined {
  const limit = findCondition(autoscaler.status.conditions, "ScalingLimited");
  if (limit?.status !== "True") return undefined;
  const { reason = "Limited" } = limit;
  const { minReplicas, maxReplicas } = autoscaler.spec;
  const title = titleOf(autoscaler);
  if (reason === "TooManyReplicas") {
    const headline = `${title} would like more than ${counted(maxReplicas, "replica")}, but may not set more.`;
    return answer(reason, headline, ["Raise spec.maxReplicas, or give each pod less to do."]);
  }
  if (reason === "TooFewReplicas") {
    const headline = `${title} would like fewer than ${counted(minReplicas, "replica")}, but may not set fewer.`;
    const advice =
      minReplicas > 1 ? "Nothing is wrong. Lower spec.minReplicas if fewer pods are enough." : "Nothing is wrong.";
    return answer(reason, headline, [advice]);
  }
  const headline = `${title} changes the size as fast as it may: ${limit.message ?? ""}.`;
  return answer(reason, headline, ["Nothing is wrong. The policies in spec.behavior set the speed."]);
}

function stabilized(autoscaler: HorizontalPodAutoscaler): Explanation | undefined {
  const able = findCondition(autoscaler.status.conditions, "AbleToScale");
  if (able?.reason !== "ScaleDownStabilized" && able?.reason !== "ScaleUpStabilized") return undefined;
  const [direction, field] =
    able.reason === "ScaleDownStabilized" ? ["fewer", "scaleDown"] : (["more", "scaleUp"] as const);
  const headline = `${titleOf(autoscaler)} waits until ${direction} pods have been enough for a while.`;
  const advice = `Nothing is wrong. spec.behavior.${field}.stabilizationWindowSeconds sets how long it waits.`;
  return answer(able.reason, direction === "more" ? headline.replace("enough", "needed") : headline, [advice]);
}

function steady(autoscaler: HorizontalPodAutoscaler): Explanation {
  const { currentReplicas = 0, desiredReplicas } = autoscaler.status;
  const title = titleOf(autoscaler);
  if (currentReplicas === desiredReplicas) {
    return answer("Steady", `${title} works, and keeps ${counted(desiredReplicas, "replica")}.`);
  }
  return answer("Scaling", `${title} has just changed the size from ${currentReplicas} to ${desiredReplicas}.`);
}
