import { type ResourceQuota } from "#api/core/resource-quota.ts";
import { findCondition } from "#api/meta/condition.ts";
import { compareQuantities } from "#api/meta/quantity.ts";
import { type PodDisruptionBudget } from "#api/policy/pod-disruption-budget.ts";
import { own } from "#lib/data/own.ts";
import { counted, type Explanation, listed } from "./explanation.ts";

/** What a quota has left. */
export function explainQuota({ metadata: { name }, spec, status }: ResourceQuota): Explanation {
  const limits = Object.keys(spec.hard ?? {}).sort();
  const uncounted = limits.filter((limit) => own(status.used, limit) === undefined);
  const full = limits.filter((limit) => {
    const used = own(status.used, limit);
    return used !== undefined && compareQuantities(used, own(spec.hard, limit) ?? "0") >= 0;
  });
  const evidence = limits.map(
    (limit) => `${limit}: ${own(status.used, limit) ?? "not counted"} of ${spec.hard?.[limit]}`,
  );
  const about = { hop: undefined, evidence };
  if (full.length > 0) {
    const headline = `ResourceQuota ${name} is used up: whatever needs more ${listed(full)} is refused.`;
    return { ...about, state: "UsedUp", headline, advice: ["Delete what is not needed, or raise spec.hard."] };
  }
  if (uncounted.length > 0) {
    const headline = `ResourceQuota ${name} does not limit ${listed(uncounted)}: it is not counted.`;
    const advice = "Check the names: no kind that is served counts them. A new quota is counted within a moment.";
    return { ...about, state: "NotCounted", headline, advice: [advice] };
  }
  return {
    ...about,
    state: "Available",
    headline: `ResourceQuota ${name} has room left in all its limits.`,
    advice: [],
  };
}

/** Whether a disruption budget lets pods go. */
export function explainBudget({ metadata: { name, generation = 0 }, status }: PodDisruptionBudget): Explanation {
  const { disruptionsAllowed, currentHealthy, desiredHealthy, expectedPods, disruptedPods = {} } = status;
  const condition = findCondition(status.conditions, "DisruptionAllowed");
  const leaving = Object.keys(disruptedPods).length;
  const about = {
    hop: undefined,
    evidence: [
      `${currentHealthy} healthy of ${counted(expectedPods, "expected pod")}, ${desiredHealthy} must stay`,
      ...(leaving > 0 ? [`${counted(leaving, "eviction")} under way`] : []),
    ],
  };
  const title = `PodDisruptionBudget ${name}`;
  if ((status.observedGeneration ?? 0) < generation) {
    const advice = ["Ask again in a moment. If this persists, check that the controllers are running."];
    return {
      ...about,
      state: "Unobserved",
      headline: `${title} allows no eviction: it has not been counted yet.`,
      advice,
    };
  }
  if (condition?.reason === "SyncFailed") {
    const advice = ["Select only pods whose controller can be scaled, or set spec.minAvailable to a number."];
    const headline = `${title} allows no eviction because its pods cannot be counted: ${condition.message}`;
    return { ...about, state: "SyncFailed", headline, advice };
  }
  if (disruptionsAllowed > 0) {
    const headline = `${title} allows ${counted(disruptionsAllowed, "eviction")} now.`;
    return { ...about, state: "Allowed", headline, advice: [] };
  }
  return { ...about, ...noneAllowed(title, status) };
}

function noneAllowed(title: string, status: PodDisruptionBudget["status"]): Omit<Explanation, "hop" | "evidence"> {
  const { currentHealthy, desiredHealthy, expectedPods } = status;
  if (expectedPods === 0 && currentHealthy > 0) {
    const headline = `${title} allows no eviction: none of its pods has a controller that says how many there should be.`;
    const advice = ["Create the pods by a controller such as a Deployment, or set spec.minAvailable to a number."];
    return { state: "NoController", headline, advice };
  }
  if (expectedPods === 0) {
    const advice = ["Compare spec.selector with the labels of the pods."];
    return { state: "NoPods", headline: `${title} allows no eviction: it selects no pods.`, advice };
  }
  const state = "UsedUp";
  if (desiredHealthy >= expectedPods) {
    const headline = `${title} never allows an eviction: it demands ${expectedPods === 1 ? "its only pod" : `all of its ${expectedPods} pods`}.`;
    return { state, headline, advice: ["Run more pods, or demand fewer: a drain of their nodes cannot finish."] };
  }
  const headline = `${title} allows no eviction now: ${currentHealthy} of its pods ${currentHealthy === 1 ? "is" : "are"} healthy, and ${desiredHealthy} must stay.`;
  return { state, headline, advice: ["Find out why the others are not ready: `orlop why pod/NAME`."] };
}

/** Upstream's messages name the quota: `exceeded quota: NAME, requested: …`, `failed quota: NAME: must specify …`. */
export function quotaAdvice(message: string): string | undefined {
  const [, how, name = ""] = /\b(exceeded|failed|status unknown for) quota: ([a-z0-9.-]{1,253})/.exec(message) ?? [];
  const tooMuch = how === "exceeded" ? beyondLimits(message) : [];
  if (tooMuch.length > 0) {
    return `It asks for more than the quota ${name} allows in all: ${listed(tooMuch)}. Request less, or raise its spec.hard.`;
  }
  if (how === "exceeded") {
    return `The quota ${name} is used up: raise its spec.hard, or delete or request less. \`kubectl describe quota ${name}\` shows what is used.`;
  }
  if (how === "failed") {
    return `The quota ${name} demands these resources: set them for every container, or create a LimitRange with defaults.`;
  }
  return how ? `What is used of the quota ${name} has not been counted yet: ask again in a moment.` : undefined;
}

/** What a request has more of than the whole limit, so that freeing what is used does not help. */
function beyondLimits(message: string): string[] {
  const [, asked = "", limits = ""] =
    /requested: (\S{1,4000}), used: \S{1,4000}, limited: (\S{1,4000})/.exec(message) ?? [];
  const limited = new Map(amountsIn(limits));
  return amountsIn(asked).flatMap(([name, amount]) => {
    const limit = limited.get(name);
    return limit !== undefined && compareQuantities(amount, limit) > 0 ? [`${amount} ${name} of ${limit}`] : [];
  });
}

/** `pods=1,requests.cpu=500m`. Anybody may write an event, so other text is passed over. */
const amountsIn = (text: string): [name: string, amount: string][] =>
  text.split(",").flatMap((part) => {
    const at = part.lastIndexOf("=");
    const amount = part.slice(at + 1);
    return at > 0 && /^\d{1,18}(\.\d{1,9})?(m|k|[KMGTPE]i?)?$/.test(amount) ? [[part.slice(0, at), amount]] : [];
  });
