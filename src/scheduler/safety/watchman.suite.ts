import { Node } from "#api/core/node.ts";
import { isFinished } from "#api/core/pod/pod-state.ts";
import { Pod } from "#api/core/pod.ts";
import { type Clock } from "#lib/async/clock.ts";
import { type Change, type Informers } from "#runtime/informer.ts";
import { type World } from "../reference/across-nodes.suite.ts";
import { type Reason } from "../reference/nodes.suite.ts";
import { reasonOf } from "../reference/whole.suite.ts";
import { Disruptions, lagMs, namespace } from "./disruptions.suite.ts";
import { type SentBinding, type Tried } from "./two-schedulers.suite.ts";

/** A binding that a scheduler has asked for. */
interface Sent extends SentBinding {
  readonly atMs: number;
  /** Whether rules about other pods allowed it then, as far as the scheduler could know. */
  readonly wasAllowed: boolean;
  hasAnswer: boolean;
  /** The scheduler knows that the pod has not got the node. Until then it keeps the room, even after a failure. */
  isGivenUp: boolean;
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
  /** When a pod last left, which may turn rules about other pods around. */
  #leftMs = Number.NEGATIVE_INFINITY;
  readonly #disruptions: Disruptions;

  constructor(clock: Clock, informers: Informers) {
    this.#clock = clock;
    this.#informers = informers;
    this.#disruptions = new Disruptions(clock, informers);
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
    const sentBefore = [...this.#sent.values()].filter((other) => other.pod !== name);
    const own = sentBefore.filter((other) => other.by === by);
    // Two schedulers may not lead at the same time, so what another has under way counts against this one.
    const foreign = sentBefore.filter((other) => other.by !== by && !other.hasAnswer);
    const placed = (sent: readonly Sent[]): World => this.#with([...foreign, ...sent], world);
    const seen = [[], own.filter(({ isGivenUp }) => !isGivenUp), own.filter(({ atMs }) => this.#isRecent(atMs))];
    const pod = this.#informers.of(Pod).get({ namespace, name });
    const node = world.nodes.find(({ metadata }) => metadata.name === nodeName);
    const wasAllowed =
      this.#isRecent(this.#leftMs) ||
      !pod ||
      !node ||
      seen.some((sent) => !isAcross(reasonOf(placed(sent), unplaced(pod), node)));
    const sent: Sent = { ...binding, atMs: now, wasAllowed, hasAnswer: false, isGivenUp: false };
    this.#sent.set(`${name} ${nodeName}`, sent);
    return () => {
      sent.hasAnswer = true;
    };
  }

  /** A scheduler decides by what it has decided before, too. */
  onTried(tried: Tried): void {
    const own = [...this.#sent.values()].filter(({ by, pod }) => by === tried.by && pod !== tried.pod);
    const kept = own.filter(({ isGivenUp }) => !isGivenUp);
    this.#disruptions.onTried(tried, this.world, (world) => this.#with(kept, world));
  }

  onRead(by: string, { metadata, spec }: Pod): void {
    if (spec.nodeName) return;
    for (const sent of this.#sent.values()) if (sent.by === by && sent.pod === metadata.name) sent.isGivenUp = true;
    this.#disruptions.onGivenUp(by, metadata.name);
  }

  onEnd(by: string, pod: string): void {
    this.#disruptions.onEnd(by, pod);
  }

  onFailure(by: string, pod: string): void {
    this.#disruptions.onFailure(by, pod);
  }

  /** The world with pods that it does not show on their nodes yet. */
  #with(sent: readonly Sent[], world: World): World {
    const known = new Set(world.pods.map(({ metadata }) => metadata.uid));
    const more = sent.flatMap((other) => this.#placed(other) ?? []).filter(({ metadata }) => !known.has(metadata.uid));
    return { ...world, pods: [...world.pods, ...more] };
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
    if (before?.status?.nominatedNodeName || pod.status?.nominatedNodeName) {
      this.#disruptions.onNomination(pod.metadata.name);
    }
    const isAsked = this.#disruptions.isAsked(pod.metadata.name);
    if (isSame && before && isAsked && !isDisrupted(before) && isDisrupted(pod)) this.#onPreempted(before);
    this.#disruptions.remember(this.world);
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

  #onPreempted(victim: Pod): void {
    this.preempted++;
    this.faults.push(...this.#disruptions.onEnding(victim));
  }

  #isRecent(atMs: number | undefined): boolean {
    return atMs !== undefined && this.#clock.now() - atMs < lagMs;
  }
}

const unplaced = (pod: Pod): Pod => ({ ...pod, spec: { ...pod.spec, nodeName: undefined } }) as unknown as Pod;

/** Whether the rule is about other pods, on other nodes too. */
const isAcross = (reason: Reason | undefined): boolean =>
  reason?.plugin === "PodTopologySpread" || reason?.plugin === "InterPodAffinity";
