import { type Pod } from "#api/core/pod.ts";
import { isEmptySelector } from "#api/meta/label-selector.ts";
import { matches } from "#api/meta/selector-matchers.ts";
import { type PodDisruptionBudget } from "#api/policy/pod-disruption-budget.ts";

/** Pods whose end the budgets allow, and those whose end would break one. Both keep their order. */
export function splitByBudget<T extends { readonly pod: Pod }>(
  victims: readonly T[],
  budgets: readonly PodDisruptionBudget[],
): { readonly breaking: T[]; readonly allowed: T[] } {
  const left = new Map(budgets.map((budget) => [budget, budget.status?.disruptionsAllowed ?? 0]));
  const [breaking, allowed]: [T[], T[]] = [[], []];
  for (const victim of victims) {
    let breaks = false;
    for (const budget of budgets) {
      if (!protects(budget, victim.pod)) continue;
      const after = (left.get(budget) ?? 0) - 1;
      left.set(budget, after);
      if (after < 0) breaks = true;
    }
    (breaks ? breaking : allowed).push(victim);
  }
  return { breaking, allowed };
}

/** A pod without labels has no budget, and an empty selector protects nothing here, as upstream decides it. */
function protects({ metadata, spec, status }: PodDisruptionBudget, { metadata: pod }: Pod): boolean {
  if (metadata.namespace !== pod.namespace || Object.keys(pod.labels ?? {}).length === 0) return false;
  const selector = spec?.selector;
  if (!selector || isEmptySelector(selector) || !matches(selector, pod.labels)) return false;
  // The eviction of this pod has already been counted.
  return !Object.hasOwn(status?.disruptedPods ?? {}, pod.name);
}
