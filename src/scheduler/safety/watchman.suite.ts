import { Node } from "#api/core/node.ts";
import { isFinished } from "#api/core/pod/pod-state.ts";
import { Pod } from "#api/core/pod.ts";
import { matches } from "#api/meta/selector-matchers.ts";
import { PodDisruptionBudget } from "#api/policy/pod-disruption-budget.ts";
import { type Clock } from "#lib/async/clock.ts";
import { type Change, type Informers } from "#runtime/informer.ts";
import { type World } from "../reference/across-nodes.suite.ts";
import { type Reason } from "../reference/nodes.suite.ts";
import { bestEndings, reasonOf, type Waiting } from "../reference/whole.suite.ts";
import { type SentBinding } from "./two-schedulers.suite.ts";

/** Where all pods of the test are. */
export const namespace = "default";

/** The longest time that a scheduler may take to learn of a change, and to act on what it knew before. */
export const lagMs = 5000;

/** A binding that a scheduler has asked for. */
interface Sent extends SentBinding {
  readonly atMs: number;
  /** Whether rules about other pods allowed it then, as far as the scheduler could know. */
  readonly wasAllowed: boolean;
  hasAnswer: boolean;
}

interface Moment {
  readonly atMs: number;
  readonly world: World;
  readonly waiting: readonly Waiting[];
}

const isDisrupted = ({ metadata, status }: Pod): boolean =>
  metadata.deletionTimestamp !== undefined &&
  (status?.conditions ?? []).some(({ reason }) => reason === "PreemptionByScheduler");

/** Sees every change of the store, in order, and notes what no scheduler may do. */
export class Watchman {
  readonly faults: string[] = [];
  bound = 0;
  preempted = 0;
  readonly #clock: Clock;
  readonly #informers: Informers;
  /** Nodes that others have changed, and when. Schedulers could not know yet. */
  readonly #disturbed = new Map<string, number>();
  /** Bindings that schedulers have asked for, by pod and node. */
  readonly #sent = new Map<string, Sent>();
  /** Pods that schedulers wanted to wait for a node: they know that, even if the store does not. */
  readonly #nominated = new Map<string, string>();
  /** Pods whose end a scheduler has asked for. Users also end pods that a scheduler only began to end. */
  readonly #ended = new Set<string>();
  /** When a pod last left, which may turn rules about other pods around. */
  #leftMs = Number.NEGATIVE_INFINITY;
  #moments: Moment[] = [];

  constructor(clock: Clock, informers: Informers) {
    this.#clock = clock;
    this.#informers = informers;
  }

  follow(): () => void {
    return this.#informers.of(Pod).subscribe((change) => this.#onPod(change));
  }

  /** Somebody else has changed what fits on this node. */
  disturb(node: string): void {
    this.#disturbed.set(node, this.#clock.now());
  }

  /** A scheduler counts the pods that it has placed itself, although the store does not show them yet, and some never. */
  onBinding(binding: SentBinding): () => void {
    const { by, pod: name, node: nodeName } = binding;
    const { world } = this;
    const now = this.#clock.now();
    const isKnown = (pod: Pod): boolean => world.pods.some(({ metadata }) => metadata.uid === pod.metadata.uid);
    const sentBefore = [...this.#sent.values()].filter((other) => other.pod !== name);
    const own = sentBefore.filter((other) => other.by === by);
    // Two schedulers may not lead at the same time, so what another has under way counts against this one.
    const foreign = sentBefore.filter((other) => other.by !== by && !other.hasAnswer);
    const placed = (sent: readonly Sent[]): World => ({
      ...world,
      pods: [
        ...world.pods,
        ...[...foreign, ...sent].flatMap((other) => this.#placed(other) ?? []).filter((pod) => !isKnown(pod)),
      ],
    });
    const seen = [[], own.filter(({ hasAnswer }) => !hasAnswer), own.filter(({ atMs }) => this.#isRecent(atMs))];
    const pod = this.#informers.of(Pod).get({ namespace, name });
    const node = world.nodes.find(({ metadata }) => metadata.name === nodeName);
    const wasAllowed =
      this.#isRecent(this.#leftMs) ||
      !pod ||
      !node ||
      seen.some((sent) => !isAcross(reasonOf(placed(sent), unplaced(pod), node)));
    const sent: Sent = { ...binding, atMs: now, wasAllowed, hasAnswer: false };
    this.#sent.set(`${name} ${nodeName}`, sent);
    return () => {
      sent.hasAnswer = true;
    };
  }

  onNomination(pod: string, node: string | null): void {
    if (node) this.#nominated.set(pod, node);
    else this.#nominated.delete(pod);
  }

  onEnd(pod: string): void {
    this.#ended.add(pod);
  }

  #placed({ pod: name, node: nodeName }: SentBinding): Pod | undefined {
    const pod = this.#informers.of(Pod).get({ namespace, name });
    return pod && { ...pod, spec: { ...pod.spec, nodeName } };
  }

  get world(): World {
    const pods = this.#informers
      .of(Pod)
      .list()
      .filter((pod) => pod.spec.nodeName && !isFinished(pod));
    return { nodes: this.#informers.of(Node).list(), pods, namespaceLabels: {} };
  }

  #onPod(change: Change<Pod>): void {
    const { object: pod } = change;
    const before = change.type === "put" ? change.previous : undefined;
    if (change.type === "delete" || pod.metadata.deletionTimestamp) this.#leftMs = this.#clock.now();
    const isSame = before?.metadata.uid === pod.metadata.uid;
    if (isSame && before?.spec.nodeName && before.spec.nodeName !== pod.spec.nodeName) {
      this.faults.push(`${pod.metadata.name} went from ${before.spec.nodeName} to ${pod.spec.nodeName}`);
    }
    if (isSame && !before?.spec.nodeName && pod.spec.nodeName) this.#onBound(pod);
    const isEnded = this.#ended.has(pod.metadata.name);
    if (isSame && before && isEnded && !isDisrupted(before) && isDisrupted(pod)) this.#onPreempted(before);
    this.#remember();
  }

  #onBound(pod: Pod): void {
    this.bound++;
    const { nodeName = "" } = pod.spec;
    const { world } = this;
    const others = { ...world, pods: world.pods.filter(({ metadata }) => metadata.uid !== pod.metadata.uid) };
    const node = world.nodes.find(({ metadata }) => metadata.name === nodeName);
    const isDisturbed = this.#isRecent(this.#disturbed.get(nodeName));
    if (!node) {
      if (!isDisturbed) this.faults.push(`${pod.metadata.name} was bound to ${nodeName}, which does not exist`);
      return;
    }
    const reason = reasonOf(others, unplaced(pod), node);
    if (!reason || isDisturbed) return;
    // Bindings arrive in another order than they were decided, which such rules depend on.
    const wasAllowed = this.#sent.get(`${pod.metadata.name} ${nodeName}`)?.wasAllowed ?? false;
    if (isAcross(reason) && (wasAllowed || this.#isRecent(this.#leftMs))) return;
    this.faults.push(`${pod.metadata.name} was bound to ${nodeName} against ${reason.reasons.join(", ")}`);
  }

  /** A budget may be broken only if that could not be avoided at any time since the scheduler may have looked. */
  #onPreempted(victim: Pod): void {
    this.preempted++;
    const broken = this.#informers
      .of(PodDisruptionBudget)
      .list()
      .filter(({ spec }) => matches(spec?.selector ?? {}, victim.metadata.labels));
    for (const budget of broken) {
      const healthy = healthyOf(this.#informers, budget).filter(({ metadata }) => metadata.uid !== victim.metadata.uid);
      const least = Number(budget.spec?.minAvailable ?? 0);
      if (healthy.length >= least) continue;
      // Any of those that wait for this node may be the reason.
      const now = this.#waiting();
      const preemptors = now.filter(({ node }) => node === victim.spec.nodeName);
      const isAvoidable = (world: World, waiting: readonly Waiting[]): boolean =>
        preemptors.every(({ pod }) => {
          const rivals = waiting.filter((other) => other.pod.metadata.uid !== pod.metadata.uid);
          const cluster = { world, waiting: rivals, budgets: [counted(budget, world)] };
          return bestEndings(cluster, pod).some((best) => best.broken === 0);
        });
      // A scheduler may see an old state of the store, but it always knows for whom it has made room itself.
      const wasAvoidable = ({ world, waiting }: Moment): boolean =>
        isAvoidable(world, waiting) && isAvoidable(world, [...waiting.filter((one) => !isAmong(now, one)), ...now]);
      if (preemptors.length > 0 && this.#moments.every(wasAvoidable)) {
        this.faults.push(`the end of ${victim.metadata.name} broke the budget ${budget.metadata.name} without need`);
      }
    }
  }

  /** Pods for which others end. */
  #waiting(): Waiting[] {
    const pods = this.#informers.of(Pod).list();
    return pods.flatMap((pod) => {
      if (pod.spec.nodeName) return [];
      const node = pod.status?.nominatedNodeName ?? this.#nominated.get(pod.metadata.name);
      return node ? [{ pod, node }] : [];
    });
  }

  #remember(): void {
    const now = this.#clock.now();
    // What was the case at the beginning of the time counts too.
    const first = this.#moments.findLastIndex(({ atMs }) => atMs <= now - lagMs);
    this.#moments = this.#moments.slice(Math.max(first, 0));
    this.#moments.push({ atMs: now, world: this.world, waiting: this.#waiting() });
  }

  #isRecent(atMs: number | undefined): boolean {
    return atMs !== undefined && this.#clock.now() - atMs < lagMs;
  }
}

const isAmong = (waiting: readonly Waiting[], { pod }: Waiting): boolean =>
  waiting.some((other) => other.pod.metadata.uid === pod.metadata.uid);

const unplaced = (pod: Pod): Pod => ({ ...pod, spec: { ...pod.spec, nodeName: undefined } }) as unknown as Pod;

/** Whether the rule is about other pods, on other nodes too. */
const isAcross = (reason: Reason | undefined): boolean =>
  reason?.plugin === "PodTopologySpread" || reason?.plugin === "InterPodAffinity";

/** The budget as it would be if its status were always up to date. */
function counted(budget: PodDisruptionBudget, world: World): PodDisruptionBudget {
  const healthy = world.pods.filter((pod) => isHealthy(budget, pod)).length;
  const disruptionsAllowed = Math.max(healthy - Number(budget.spec?.minAvailable ?? 0), 0);
  return { ...budget, status: { ...budget.status, disruptionsAllowed } } as PodDisruptionBudget;
}

const isHealthy = ({ spec }: PodDisruptionBudget, { metadata, status }: Pod): boolean =>
  metadata.deletionTimestamp === undefined &&
  status?.phase === "Running" &&
  matches(spec?.selector ?? {}, metadata.labels);

export const healthyOf = (informers: Informers, budget: PodDisruptionBudget): Pod[] =>
  informers
    .of(Pod)
    .list(budget.metadata.namespace)
    .filter((pod) => isHealthy(budget, pod));
