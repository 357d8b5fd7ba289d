import { Pod } from "#api/core/pod.ts";
import { matches } from "#api/meta/selector-matchers.ts";
import { PodDisruptionBudget } from "#api/policy/pod-disruption-budget.ts";
import { type Clock } from "#lib/async/clock.ts";
import { type Informers } from "#runtime/informer.ts";
import { type World } from "../reference/across-nodes.suite.ts";
import { bestEndings, type Waiting } from "../reference/whole.suite.ts";
import type { Tried } from "./two-schedulers.suite.ts";

/** Where all pods of the test are. */
export const namespace = "default";

/** The longest time that a scheduler may take to learn of a change, and to act on what it knew before. */
export const lagMs = 5000;

/** The store at some time, or what a scheduler took it for. */
interface View {
  readonly world: World;
  readonly waiting: readonly Waiting[];
}

interface Moment extends View {
  readonly atMs: number;
  readonly at: number;
}

/** For which node a scheduler lets a pod wait; undefined for none. */
interface Decided {
  readonly node: string | undefined;
  /** The first moment at which the store said something else or the same. */
  until: number;
}

/** Pods that a scheduler decided to end for the sake of another one. */
interface Choice {
  readonly by: string;
  readonly atMs: number;
  /** Undefined if it is gone. */
  readonly preemptor: Pod | undefined;
  readonly victims: ReadonlySet<string>;
  /** Pods that the same scheduler had chosen before. It knows that they end, although the store does not show it yet. */
  readonly chosenBefore: ReadonlySet<string>;
  readonly store: World;
  /** What the scheduler could take the cluster for: it may see an old state, but it always knows what it decided itself. */
  readonly views: readonly View[];
}

/** The end of a pod that neither was within its budget nor had to be. The store may show first what was chosen last. */
interface Needless {
  readonly pod: string;
  readonly budget: PodDisruptionBudget;
  readonly atMs: number;
}

/** Adds the pods that one scheduler has placed itself, which the store does not show on their nodes yet. */
export type Placing = (world: World) => World;

/**
 * Judges the ends of pods that budgets protect, in the order in which schedulers chose them: the store may show them in
 * another one, and then the last is not the one that broke the budget.
 */
export class Disruptions {
  readonly #clock: Clock;
  readonly #informers: Informers;
  readonly #choices: Choice[] = [];
  /** Pod → the choices behind its end. A scheduler may have asked for the end of a pod for the sake of several others. */
  readonly #behind = new Map<string, Set<Choice>>();
  /** Scheduler → the pods of which it knows that they end. */
  readonly #chosen = new Map<string, Set<string>>();
  /** Scheduler → pod → what it decided last. */
  readonly #decided = new Map<string, Map<string, Decided>>();
  #needless: readonly Needless[] = [];
  #moments: readonly Moment[] = [];
  #next = 0;

  constructor(clock: Clock, informers: Informers) {
    this.#clock = clock;
    this.#informers = informers;
  }

  /** What the store has now. */
  remember(world: World): void {
    const now = this.#clock.now();
    // What was the case at the beginning of the time counts too.
    const first = this.#moments.findLastIndex(({ atMs }) => atMs <= now - lagMs);
    const moment = { atMs: now, at: this.#next++, world, waiting: this.#waiting() };
    this.#moments = [...this.#moments.slice(Math.max(first, 0)), moment];
  }

  /** The store says for which node a pod waits, or no longer does. */
  onNomination(pod: string): void {
    for (const byPod of this.#decided.values()) {
      const decided = byPod.get(pod);
      if (decided) decided.until = Math.min(decided.until, this.#next);
    }
  }

  /** A scheduler has tried to place a pod. */
  onTried(tried: Tried, world: World, placing: Placing): void {
    const { by, pod } = tried;
    const decided = this.#decided.get(by) ?? new Map<string, Decided>();
    this.#decided.set(by, decided);
    if (tried.victims.length > 0) this.#onChoice(tried, decided, { world, placing });
    else if (tried.node === undefined && tried.keepsNomination) return;
    else decided.set(pod, { node: undefined, until: Infinity });
  }

  #onChoice(
    { by, pod, victims }: Tried,
    decided: Map<string, Decided>,
    { world, placing }: { readonly world: World; readonly placing: Placing },
  ): void {
    this.remember(world);
    const preemptor = this.#podOf(pod);
    const chosen = this.#chosen.get(by) ?? new Set<string>();
    const views = this.#moments.map((moment) => {
      const waiting = this.#corrected(moment, decided).filter((other) => other.pod.metadata.name !== pod);
      return { world: placing(moment.world), waiting };
    });
    const [atMs, chosenBefore] = [this.#clock.now(), new Set(chosen)];
    this.#choices.push({ by, atMs, preemptor, victims: new Set(victims), chosenBefore, store: world, views });
    this.#chosen.set(by, new Set([...chosen, ...victims]));
    const node = victims.map((name) => this.#podOf(name)?.spec.nodeName).find((name) => name !== undefined);
    for (const other of views.at(-1)?.waiting ?? []) {
      const isLesser = priorityOf(other.pod) < priorityOf(preemptor);
      if (other.node === node && isLesser) decided.set(other.pod.metadata.name, { node: undefined, until: Infinity });
    }
    decided.set(pod, { node, until: Infinity });
  }

  /** A scheduler knows that the pod was not bound, and lets it wait for the node that the store says, if any. */
  onGivenUp(by: string, pod: string): void {
    this.#decided.get(by)?.delete(pod);
  }

  /** A scheduler has asked for the end of a pod. */
  onEnd(by: string, pod: string): void {
    const choices = this.#choices.filter((choice) => choice.by === by && choice.victims.has(pod));
    const recent = choices.filter(({ atMs }) => this.#clock.now() - atMs < lagMs);
    const behind = this.#behind.get(pod) ?? new Set<Choice>();
    for (const choice of recent.length > 0 ? recent : choices.slice(-1)) behind.add(choice);
    this.#behind.set(pod, behind);
  }

  /** A scheduler does not know whether the pod ends. */
  onFailure(by: string, pod: string): void {
    this.#chosen.get(by)?.delete(pod);
  }

  /** Whether a scheduler has asked for the end of the pod. Users also end pods that a scheduler only began to end. */
  isAsked(pod: string): boolean {
    return this.#behind.has(pod);
  }

  /** A pod ends. Returns what broke a budget, although that could be avoided: this end, or one just before. */
  onEnding(victim: Pod): string[] {
    const choices = [...(this.#behind.get(victim.metadata.name) ?? [])];
    const around = this.#informers.of(PodDisruptionBudget).list();
    return around.flatMap((budget) => {
      if (!matches(budget.spec?.selector ?? {}, victim.metadata.labels)) return [];
      const [pod, atMs] = [victim.metadata.name, this.#clock.now()];
      if (!choices.some((choice) => isAllowed(budget, choice)))
        this.#needless = [...this.#needless, { pod, budget, atMs }];
      const healthy = healthyOf(this.#informers, budget).filter(({ metadata }) => metadata.name !== pod);
      return healthy.length < leastOf(budget) ? this.#takeNeedless(budget) : [];
    });
  }

  #takeNeedless({ metadata: { name } }: PodDisruptionBudget): string[] {
    const isRecent = ({ atMs }: Needless): boolean => this.#clock.now() - atMs < lagMs;
    const guilty = this.#needless.filter((end) => end.budget.metadata.name === name && isRecent(end));
    this.#needless = this.#needless.filter((end) => !guilty.includes(end));
    return guilty.map(({ pod }) => `the end of ${pod} broke the budget ${name} without need`);
  }

  /** Pods for which others end, by the store. */
  #waiting(): Waiting[] {
    const pods = this.#informers.of(Pod).list();
    return pods.flatMap((pod) => {
      const node = pod.status?.nominatedNodeName;
      return node && !pod.spec.nodeName ? [{ pod, node }] : [];
    });
  }

  /** The pods that wait, as a scheduler takes it that sees the store of some time, but knows its own decisions. */
  #corrected({ at, waiting }: Moment, decided: ReadonlyMap<string, Decided>): Waiting[] {
    const own = [...decided].filter(([, { until }]) => at < until);
    const others = waiting.filter(({ pod }) => !own.some(([name]) => name === pod.metadata.name));
    const corrected = own.flatMap(([name, { node }]) => {
      const pod = this.#podOf(name);
      return pod && node && !pod.spec.nodeName ? [{ pod, node }] : [];
    });
    return [...others, ...corrected];
  }

  #podOf(name: string): Pod | undefined {
    return this.#informers.of(Pod).get({ namespace, name });
  }
}

/** Either all that were chosen until then could end, or one of the budget's pods had to. */
function isAllowed(budget: PodDisruptionBudget, { store, chosenBefore, victims, preemptor, views }: Choice): boolean {
  if (!preemptor) return true;
  const left = healthyIn(store, budget).filter(
    ({ metadata: { name } }) => !chosenBefore.has(name) && !victims.has(name),
  );
  if (left.length >= leastOf(budget)) return true;
  return views.some(({ world, waiting }) => {
    const budgets = [counted(budget, world, chosenBefore)];
    const best = bestEndings({ world, waiting, budgets, chosen: chosenBefore }, preemptor);
    return !best.some(({ broken }) => broken === 0);
  });
}

/** The budget as it would be if its status were always up to date, and counted the pods that are about to end. */
function counted(budget: PodDisruptionBudget, world: World, chosen: ReadonlySet<string>): PodDisruptionBudget {
  const healthy = healthyIn(world, budget).filter(({ metadata }) => !chosen.has(metadata.name));
  const disruptionsAllowed = Math.max(healthy.length - leastOf(budget), 0);
  return { ...budget, status: { ...budget.status, disruptionsAllowed } } as PodDisruptionBudget;
}

const leastOf = ({ spec }: PodDisruptionBudget): number => Number(spec?.minAvailable ?? 0);
const priorityOf = (pod: Pod | undefined): number => pod?.spec.priority ?? 0;

const isHealthy = ({ spec }: PodDisruptionBudget, { metadata, status }: Pod): boolean =>
  metadata.deletionTimestamp === undefined &&
  status?.phase === "Running" &&
  matches(spec?.selector ?? {}, metadata.labels);

const healthyIn = ({ pods }: World, budget: PodDisruptionBudget): Pod[] => pods.filter((pod) => isHealthy(budget, pod));

export const healthyOf = (informers: Informers, budget: PodDisruptionBudget): Pod[] =>
  informers
    .of(Pod)
    .list(budget.metadata.namespace)
    .filter((pod) => isHealthy(budget, pod));
