import { type Node } from "#api/core/node.ts";
import { type Pod } from "#api/core/pod.ts";
import { type ApiObject, type Resource } from "#api/resource.ts";
import { type Change } from "#runtime/informer.ts";
import type { WaitingPods } from "./binding/waiting-pods.ts";
import type { Rejections } from "./explain.ts";
import type { CandidateLimits } from "./preemption/plan-preemption.ts";
import type { Outcome } from "./preemption/preemptor.ts";
import { type NodeInfo, type Snapshot } from "./snapshot.ts";

/** Why a node was rejected. A value, not an error, because it is stored and shown. */
export interface Rejection {
  /** Upstream's messages, such as `Insufficient cpu`. One attempt may produce several for a node. */
  readonly reasons: readonly string[];
  /** Removing pods from the node cannot help, so preemption need not try. */
  readonly isFinal: boolean;
}
export type Verdict = Rejection | undefined;

/** The pod fits on the node. */
export const fits: Verdict = undefined;
export const reject = (...reasons: string[]): Rejection => ({ reasons, isFinal: false });
export const rejectFinally = (...reasons: string[]): Rejection => ({ reasons, isFinal: true });

/** A change in the cluster that may turn a rejection into a fit. The snapshot already contains it. */
export type ClusterChange = NodeChange | PodChange | ObjectChange;

export interface NodeChange {
  readonly kind: "Node";
  readonly change: "created" | "updated" | "deleted";
  readonly object: Node;
  readonly previous: Node | undefined;
  readonly info: NodeInfo | undefined;
}

/** A pod with a node: it came there, has other labels, finished, was deleted, or now requests less. */
export interface PodChange {
  readonly kind: "Pod";
  readonly change: "created" | "updated" | "deleted";
  readonly object: Pod;
  readonly previous?: Pod | undefined;
  /** Whether something that it occupied is free now. */
  readonly freesRoom: boolean;
  /** The node that it is or was on. */
  readonly info: NodeInfo | undefined;
}

/** A change of an object of a kind that a plugin declares in `retryOn.objects`. */
export interface ObjectChange {
  readonly kind: "Object";
  readonly resource: Resource;
  readonly change: Change<ApiObject>;
}

/** A kind, and whether a change of one of its objects may help a pod. */
export interface ObjectHint<T extends ApiObject = ApiObject> {
  readonly resource: Resource<T>;
  mayHelp(pod: Pod, change: Change<T>): boolean;
}
export const hint = <T extends ApiObject>(
  resource: Resource<T>,
  mayHelp: (pod: Pod, change: Change<T>) => boolean,
): ObjectHint => ({ resource, mayHelp }) as unknown as ObjectHint;

/** Whether a pod that the plugin rejected should be retried after a change. Without a hint for a kind, never. */
export interface RetryHints {
  node?(pod: Pod, change: NodeChange): boolean;
  /** A pod has freed some of its node. */
  pod?(pod: Pod, change: PodChange): boolean;
  /** Any change of a pod on a node, for plugins that look at other pods. */
  otherPod?(pod: Pod, change: PodChange): boolean;
  readonly objects?: readonly ObjectHint[];
}

/** What a plugin has computed about a pod before it evaluates nodes. */
export type PodState = unknown;

/**
 * What a plugin says about nodes in comparison with others, for one pod. It is asked for each pod and node again, so an
 * answer may cost some nanoseconds only.
 */
export interface AcrossNodes {
  /** Asked after all other filters, and only for nodes that they accept. */
  readonly filter: ((slot: number) => Verdict) | undefined;
  /**
   * The same for thousands of nodes at once: marks each slot whose node `filter` rejects. Slots without a node are ignored.
   * Returns false if it has marked none.
   */
  readonly rejectAll?: ((rejected: Uint8Array) => boolean) | undefined;
  /**
   * If given, what `filter` says about a node depends on its own pods only, and on these values: for the next pod of the
   * class, only nodes that have changed are asked about, as long as the values are the same.
   */
  readonly basis?: readonly unknown[] | undefined;
  /** The scores of these nodes, from 0 to 100, in the same order. `into` has room for them. */
  readonly score: ((slots: Int32Array, into: Float64Array) => Float64Array) | undefined;
}

/** No node fits a pod: what is known, and what can be done about it. */
export interface FailedAttempt {
  readonly pod: Pod;
  readonly rejections: Rejections;
  /** Looks for less important pods that could end for its sake. Resolves with undefined if the pod has gone meanwhile. */
  makeRoom(limits?: CandidateLimits): Promise<Outcome | undefined>;
}

/** Whether a pod with a node may be bound: undefined if it may, else why not, or how long it may have to wait. */
export type Permission = undefined | Rejection | { readonly waitMs: number };

/**
 * One concern of scheduling. Every hook is optional; the plugins run in the order of the profile. Hooks up to
 * `normalize` are pure: pods with an equal `looksAt` get the same result on the same node until the node or `basis`
 * changes.
 */
export interface SchedulerPlugin {
  readonly name: string;
  readonly weight?: number;
  readonly retryOn?: RetryHints;

  /**
   * Called when the scheduler starts, to follow what the plugin needs to know. `reconsider` asks `preEnqueue` again about a
   * pod. Returns how to end it.
   */
  follow?(reconsider: (pod: Pod) => void): () => void;
  /** Returns why the pod may not enter the queue yet; undefined if it may. */
  preEnqueue?(pod: Pod): string | undefined;
  /** Pods of one group are looked at again by `preEnqueue` as soon as it lets one of them in. */
  groupOf?(pod: Pod): string | undefined;
  /** Told of every change of a pod of the profile, before anything else is asked about it. */
  observe?(change: Change<Pod>): void;
  /** Which of two pods goes first. */
  queueSort?(a: QueuedPod, b: QueuedPod): boolean;
  /** Work for a pod before the other hooks are asked about it, that may take long. Returns undefined if there is none. */
  prepare?(pod: Pod, snapshot: Snapshot): Promise<void> | undefined;
  /**
   * The parts of a pod that the hooks below read, as JSON; `null` if they read only the node. Pods that are equal in them
   * share their work. If a plugin that filters or scores does not have this, no pods are equivalent.
   */
  looksAt?(pod: Pod): unknown;
  /** What the results depend on besides the pod and the node itself: when it changes, every node is evaluated again. */
  basis?(pod: Pod, snapshot: Snapshot): unknown;
  /** Names the only nodes that can fit, if that is known without evaluating them, or rejects all nodes. */
  candidates?(pod: Pod): ReadonlySet<string> | Rejection | undefined;
  /** Computed once for equivalent pods and passed to filter. If it returns undefined, the plugin accepts every node. */
  preFilter?(pod: Pod, snapshot: Snapshot): PodState | undefined;
  filter?(pod: Pod, node: NodeInfo, state: PodState): Verdict;
  /** Like `preFilter`, for scoring. If it returns undefined, every node scores 0. */
  preScore?(pod: Pod, snapshot: Snapshot): PodState | undefined;
  /** Higher is better. 0 to 100 unless `normalize` scales it. */
  score?(pod: Pod, node: NodeInfo, state: PodState): number;
  /** Scales the scores of all feasible nodes to 0 to 100, in place. */
  normalize?(scores: Float64Array): void;
  /** For rules about pods on other nodes. It needs no `looksAt`. If it returns undefined, the pod has no such rules. */
  acrossNodes?(pod: Pod, snapshot: Snapshot): AcrossNodes | undefined;

  /** No node fits. The first plugin that helps ends the search. */
  postFilter?(attempt: FailedAttempt): Promise<Outcome | undefined>;

  /** The pod has a node: reserves what it needs there, or throws. `unreserve` undoes it. */
  reserve?(pod: Pod, nodeName: string): void;
  unreserve?(pod: Pod, nodeName: string, waiting?: WaitingPods): Promise<void> | void;
  /** A pod that has to wait is among `waiting` until every plugin that asked for it allows it, or one rejects it. */
  permit?(pod: Pod, nodeName: string, waiting: WaitingPods): Permission;
  preBind?(pod: Pod, nodeName: string, signal: AbortSignal): Promise<void> | undefined;
  /**
   * Returns how to wait for what others prepare for the pod, for minutes if need be; undefined if nothing is missing.
   * Other pods are scheduled meanwhile. The signal also fires when the pod is deleted.
   */
  untilReady?(pod: Pod, nodeName: string): ((signal: AbortSignal) => Promise<void>) | undefined;
  /** Returns true if it has bound the pod; then no other plugin is called. */
  bind?(pod: Pod, nodeName: string, signal: AbortSignal): Promise<boolean>;
  postBind?(pod: Pod, nodeName: string): void;
}

/** A pod in the queue. */
export interface QueuedPod {
  pod: Pod;
  readonly key: string;
  /** When it was added, or when its last attempt failed. */
  queuedAt: number;
  attempts: number;
  /** Attempts in which no node was feasible. */
  rejections: number;
  /** Consecutive attempts that ended with an error. */
  errors: number;
  /** Plugins that rejected it in the last attempt: only changes that they name wake it. */
  rejectedBy: ReadonlySet<string>;
}

/** The plugins of one scheduler name. */
export interface Profile {
  readonly schedulerName: string;
  readonly plugins: readonly SchedulerPlugin[];
  /** How many feasible nodes of so many are enough to choose from; all of them if absent. */
  enoughOf?(nodes: number): number;
}
