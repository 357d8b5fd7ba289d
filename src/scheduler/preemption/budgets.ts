import { type Pod } from "#api/core/pod.ts";
import { isEmptySelector } from "#api/meta/label-selector.ts";
import { matches } from "#api/meta/selector-matchers.ts";
import { type PodDisruptionBudget } from "#api/policy/pod-disruption-budget.ts";
import { allCounted, type Uncounted } from "./ended-victims.ts";

/** The budgets of each namespace, sorted by a label that they ask for, because users choose how many there are. */
export class Budgets {
  readonly #list: (namespace: string) => readonly PodDisruptionBudget[];
  /** Pods that have just ended, which the budgets do not know yet. */
  readonly uncounted: Uncounted;
  readonly #byNamespace = new Map<string, ReadonlyMap<string, readonly PodDisruptionBudget[]>>();

  constructor(list: (namespace: string) => readonly PodDisruptionBudget[], uncounted = allCounted) {
    this.#list = list;
    this.uncounted = uncounted;
  }

  /** Those that may protect the pod. */
  around({ metadata: { namespace, labels = {} } }: Pod): readonly PodDisruptionBudget[] {
    let byLabel = this.#byNamespace.get(namespace);
    if (!byLabel) {
      byLabel = Map.groupBy(this.#list(namespace), labelOf);
      this.#byNamespace.set(namespace, byLabel);
    }
    if (byLabel.size === 0) return [];
    const pairs = Object.entries(labels).map(([key, value]) => pairOf(key, value));
    return [anyLabel, ...pairs].flatMap((pair) => byLabel.get(pair) ?? []);
  }
}

const anyLabel = "";
const pairOf = (key: string, value: string): string => `${key}=${value}`;

function labelOf({ spec }: PodDisruptionBudget): string {
  for (const key in spec?.selector?.matchLabels) return pairOf(key, spec.selector.matchLabels[key] ?? "");
  return anyLabel;
}

/** With more of them around a pod its end counts as breaking one. An eviction allows no more than one. */
const maxAround = 32;

/**
 * Pods whose end the budgets allow, and those whose end would break one. Both keep their order. A pod that ends anyway breaks
 * none: otherwise one that goes on could end in its place.
 */
export function splitByBudget<T extends { readonly pod: Pod }>(
  victims: readonly T[],
  budgets: Budgets,
): { readonly breaking: T[]; readonly allowed: T[] } {
  const left = new Map<PodDisruptionBudget, number>();
  const [breaking, allowed]: [T[], T[]] = [[], []];
  for (const victim of victims) {
    const state = budgets.uncounted.stateOf(victim.pod);
    const around = state === "ends" ? [] : budgets.around(victim.pod);
    let breaks = around.length > maxAround;
    for (const budget of breaks ? [] : around) {
      if (!protects(budget, victim.pod)) continue;
      // One that may end has been counted, but may break a budget all the same.
      const after = (left.get(budget) ?? allowedBy(budget, budgets)) - (state === "mayEnd" ? 0 : 1);
      left.set(budget, after);
      if (after < 0) breaks = true;
    }
    (breaks ? breaking : allowed).push(victim);
  }
  return { breaking, allowed };
}

const allowedBy = (budget: PodDisruptionBudget, { uncounted }: Budgets): number =>
  (budget.status?.disruptionsAllowed ?? 0) - uncounted.of(budget, (pod) => protects(budget, pod));

/** A pod without labels has no budget, and an empty selector protects nothing here, as upstream decides it. */
function protects({ metadata, spec, status }: PodDisruptionBudget, { metadata: pod }: Pod): boolean {
  if (metadata.namespace !== pod.namespace || Object.keys(pod.labels ?? {}).length === 0) return false;
  const selector = spec?.selector;
  if (!selector || isEmptySelector(selector) || !matches(selector, pod.labels)) return false;
  // The eviction of this pod has already been counted.
  return !Object.hasOwn(status?.disruptedPods ?? {}, pod.name);
}
