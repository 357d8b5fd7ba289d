import { type Pod } from "#api/core/pod.ts";
import { PodDisruptionBudget } from "#api/policy/pod-disruption-budget.ts";
import { inSlices } from "#lib/async/turns.ts";
import { type Informer } from "#runtime/informer.ts";
import { type Rejections } from "../explain.ts";
import { type SchedulerPlugin } from "../framework.ts";
import { type Snapshot } from "../snapshot.ts";
import { Budgets } from "./budgets.ts";
import { EndedVictims } from "./ended-victims.ts";
import { type Nominated, type Nominations, priorityOf } from "./nominations.ts";
import {
  type CandidateLimits,
  endsByPreemption,
  findCandidates,
  noCandidate,
  type Preemption,
  type PreemptionDeps,
  planPreemption,
} from "./plan-preemption.ts";
import { clearNominations, type PreemptDeps, preempt } from "./preempt.ts";
import { bestCandidate, type Candidate } from "./rank.ts";

export interface PreemptorDeps extends PreemptDeps {
  readonly plugins: readonly SchedulerPlugin[];
  readonly snapshot: Snapshot;
  readonly nominations: Nominations;
  readonly budgets: Informer<PodDisruptionBudget>;
  readonly random: () => number;
}

/** What follows from an attempt to make room for a pod. */
export interface Outcome {
  /** Why it was not possible; empty if it was. */
  readonly message: string;
  /** The node to nominate in the pod's status; null removes it, and undefined leaves what is there. */
  readonly nominate: string | null | undefined;
  readonly victims: readonly Nominated[];
  /** Ends the victims. */
  run(signal: AbortSignal): Promise<void>;
}

export interface Search {
  readonly limits?: CandidateLimits | undefined;
  /** Whether the pod still waits. */
  isThere(): boolean;
  /** Others have a say in which pods end. */
  readonly screen?: ((candidates: readonly Candidate[]) => Promise<readonly Candidate[]>) | undefined;
}

/** Makes room for pods that fit nowhere, by ending less important ones. */
export class Preemptor {
  readonly #deps: PreemptorDeps;
  /** Pod → the victims that have to be gone before others may end for its sake. */
  readonly #awaited = new Map<string, readonly string[]>();

  readonly #ended = new EndedVictims();
  #hasTakenOver = false;

  constructor(deps: PreemptorDeps) {
    this.#deps = deps;
  }

  /**
   * Looks for room on the nodes that `rejections` names; the pod fits on none. Nothing else may be decided meanwhile. Returns
   * undefined if the pod has gone by then.
   */
  async makeRoom(
    preemptor: Nominated,
    rejections: Rejections,
    { limits, isThere, screen }: Search,
  ): Promise<Outcome | undefined> {
    const { nominations } = this.#deps;
    if (this.#isWaiting(preemptor.key)) return refused(stillWaiting, undefined);
    this.#takeOver();
    const uncounted = this.#ended.recent(this.#deps.clock.now(), (key) => this.#deps.snapshot.podOf(key));
    const budgets = new Budgets((namespace) => this.#deps.budgets.list(namespace), uncounted);
    const plan = await this.#plan({ ...this.#deps, budgets, limits }, preemptor, rejections, screen);
    if (!isThere()) return undefined;
    if (plan.node === undefined) {
      if (!plan.keepsNomination) nominations.delete(preemptor.key);
      return refused(plan.message, plan.keepsNomination ? undefined : null);
    }
    const lesser = nominations.lesser(plan.node, priorityOf(preemptor.pod));
    for (const { key } of lesser) nominations.delete(key);
    nominations.set(preemptor.key, preemptor.pod, plan.node);
    // Their end is written later, but the next pod must already know of it.
    this.#ended.add(plan.victims, this.#deps.clock.now());
    this.#awaited.set(
      preemptor.key,
      plan.victims.map(({ key }) => key),
    );
    const run = (signal: AbortSignal) => this.#run(preemptor, plan, { lesser: lesser.map(({ pod }) => pod), signal });
    return { message: "", nominate: plan.node, victims: plan.victims, run };
  }

  async #plan(
    deps: PreemptionDeps,
    preemptor: Nominated,
    rejections: Rejections,
    screen: Search["screen"],
  ): Promise<Preemption> {
    if (!screen) return await inSlices(planPreemption(deps, preemptor, rejections));
    const found = await inSlices(findCandidates(deps, preemptor, rejections));
    if (!("candidates" in found)) return found;
    return bestCandidate(await screen(found.candidates)) ?? noCandidate;
  }

  /** The pod has a node, or is gone. */
  forget(key: string): void {
    this.#awaited.delete(key);
    this.#deps.nominations.delete(key);
  }

  /** Pods that another scheduler ended, which led before this one, may not be counted by budgets yet either. */
  #takeOver(): void {
    if (this.#hasTakenOver) return;
    this.#hasTakenOver = true;
    const pods = this.#deps.snapshot.nodes.flatMap((info) => Array.from(info.pods, ([key, pod]) => ({ key, pod })));
    this.#ended.add(
      pods.filter(({ pod }) => endsByPreemption(pod)),
      this.#deps.clock.now(),
    );
  }

  #isWaiting(key: string): boolean {
    const awaited = this.#awaited.get(key) ?? [];
    if (awaited.some((victim) => this.#deps.snapshot.podOf(victim))) return true;
    this.#awaited.delete(key);
    return false;
  }

  async #run(
    { key, pod: preemptor }: Nominated,
    { node, victims }: Preemption & { readonly node: string },
    { lesser, signal }: { readonly lesser: readonly Pod[]; readonly signal: AbortSignal },
  ): Promise<void> {
    try {
      await Promise.all([
        preempt(this.#deps, { preemptor, node, victims, signal, spared: (victim) => this.#ended.delete(victim) }),
        clearNominations(this.#deps, lesser, signal),
      ]);
    } catch (error) {
      // The next attempt tries again, perhaps elsewhere.
      this.#awaited.delete(key);
      throw error;
    }
  }
}

const stillWaiting = "not eligible due to a terminating pod on the nominated node.";

const refused = (message: string, nominate: null | undefined): Outcome => ({
  message: `preemption: ${message}`,
  nominate,
  victims: [],
  run: async () => {},
});
