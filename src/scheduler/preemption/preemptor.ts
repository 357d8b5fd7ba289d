import { type Pod } from "#api/core/pod.ts";
import { PodDisruptionBudget } from "#api/policy/pod-disruption-budget.ts";
import { allOrFirstError } from "#lib/async/tasks.ts";
import { inSlices } from "#lib/async/turns.ts";
import { type Informer } from "#runtime/informer.ts";
import { type Rejections } from "../explain.ts";
import { type SchedulerPlugin } from "../framework.ts";
import { type Snapshot } from "../snapshot.ts";
import { Budgets } from "./budgets.ts";
import { type BudgetsOf, type Choice, type EndedVictims } from "./ended-victims.ts";
import { type Nominated, type Nominations, priorityOf } from "./nominations.ts";
import {
  type CandidateLimits,
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
  readonly ended: EndedVictims;
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
  /** Called when the victims could not be ended, so that the pod has to be tried again. */
  again(): void;
  /** Others have a say in which pods end. */
  readonly screen?: ((candidates: readonly Candidate[]) => Promise<readonly Candidate[]>) | undefined;
}

/** Its victims have to be gone before others may end for the pod's sake. */
interface Plan extends Choice {
  readonly node: string;
  isStarted: boolean;
}

interface Run {
  /** Pods that have to look for another node now. */
  readonly lesser: readonly Pod[];
  readonly signal: AbortSignal;
  again(): void;
}

/** Makes room for pods that fit nowhere, by ending less important ones. */
export class Preemptor {
  readonly #deps: PreemptorDeps;
  readonly #budgetsOf: BudgetsOf;
  /** By pod. */
  readonly #plans = new Map<string, Plan>();

  constructor(deps: PreemptorDeps) {
    this.#deps = deps;
    this.#budgetsOf = (namespace) => deps.budgets.list(namespace);
  }

  /**
   * Looks for room on the nodes that `rejections` names; the pod fits on none. Nothing else may be decided meanwhile. Returns
   * undefined if the pod has gone by then.
   */
  async makeRoom(
    preemptor: Nominated,
    rejections: Rejections,
    { limits, isThere, again, screen }: Search,
  ): Promise<Outcome | undefined> {
    const { nominations, snapshot, ended } = this.#deps;
    if (this.#isWaiting(preemptor.key)) return refused(stillWaiting, undefined);
    ended.takeOver(snapshot);
    const budgets = new Budgets(this.#budgetsOf, ended.recent());
    const found = await this.#plan({ ...this.#deps, budgets, limits }, preemptor, rejections, screen);
    if (!isThere()) return undefined;
    if (found.node === undefined) {
      if (!found.keepsNomination) nominations.delete(preemptor.key);
      return refused(found.message, found.keepsNomination ? undefined : null);
    }
    const { node, victims } = found;
    const lesser = nominations.lesser(node, priorityOf(preemptor.pod));
    for (const { key } of lesser) nominations.delete(key);
    nominations.set(preemptor.key, preemptor.pod, node);
    const plan = { node, victims, isStarted: false };
    // Their end is written later, but the next pod must already know of it.
    ended.choose(plan);
    this.#plans.set(preemptor.key, plan);
    const run = (signal: AbortSignal) =>
      this.#run(preemptor, plan, { lesser: lesser.map(({ pod }) => pod), again, signal });
    return { message: "", nominate: node, victims, run };
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
    this.#drop(key);
    this.#deps.nominations.delete(key);
  }

  /** If it has not been started, it never will: nobody ends for its sake. */
  #drop(key: string): void {
    const plan = this.#plans.get(key);
    if (plan && !plan.isStarted) this.#deps.ended.drop(plan);
    this.#plans.delete(key);
  }

  #isWaiting(key: string): boolean {
    const victims = this.#plans.get(key)?.victims ?? [];
    if (victims.some((victim) => this.#deps.snapshot.podOf(victim.key))) return true;
    this.#drop(key);
    return false;
  }

  async #run(preemptor: Nominated, plan: Plan, { lesser, again, signal }: Run): Promise<void> {
    const clearing = () => clearNominations(this.#deps, lesser, signal);
    // The pod is gone or has got a node meanwhile, so nobody has to end for it.
    if (!this.#isCurrent(preemptor, plan)) return await clearing();
    plan.isStarted = true;
    await allOrFirstError([this.#end(preemptor, plan, { again, signal }), clearing()]);
  }

  async #end(preemptor: Nominated, plan: Plan, { again, signal }: Pick<Run, "again" | "signal">): Promise<void> {
    const { ended } = this.#deps;
    try {
      await preempt(this.#deps, {
        preemptor: preemptor.pod,
        node: plan.node,
        victims: plan.victims,
        signal,
        written: (victim) => ended.written(plan, victim),
        spared: (victim) => ended.spare(plan, victim),
      });
    } catch (error) {
      // The next attempt tries again, perhaps elsewhere.
      if (this.#isCurrent(preemptor, plan)) this.#plans.delete(preemptor.key);
      again();
      throw error;
    }
  }

  #isCurrent({ key }: Nominated, plan: Plan): boolean {
    return this.#plans.get(key) === plan;
  }
}

const stillWaiting = "not eligible due to a terminating pod on the nominated node.";

const refused = (message: string, nominate: null | undefined): Outcome => ({
  message: `preemption: ${message}`,
  nominate,
  victims: [],
  run: async () => {},
});
