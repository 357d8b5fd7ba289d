import { type Node } from "#api/core/node.ts";
import { type Pod } from "#api/core/pod.ts";
import { type NodeInfo, type Snapshot } from "./snapshot.ts";

/** Why a node was refused. A value, not an error: it is kept and shown. */
export interface Rejection {
  /** In upstream's words, as in `Insufficient cpu`. One attempt may give several for a node. */
  readonly reasons: readonly string[];
  /** No change of the pods on the node can help: preemption need not try. */
  readonly isFinal: boolean;
}
export type Verdict = Rejection | undefined;

/** The node is fine. */
export const fits: Verdict = undefined;
export const reject = (...reasons: string[]): Rejection => ({ reasons, isFinal: false });
export const rejectFinally = (...reasons: string[]): Rejection => ({ reasons, isFinal: true });

/** Something that happened in the cluster and may turn a rejection into a fit. The snapshot has it already. */
export type ClusterChange = NodeChange | PodChange;

export interface NodeChange {
  readonly kind: "Node";
  readonly change: "created" | "updated" | "deleted";
  readonly object: Node;
  readonly previous: Node | undefined;
  readonly info: NodeInfo | undefined;
}

/** A pod that had a node: it ended or was deleted, or asks for less than before. */
export interface PodChange {
  readonly kind: "Pod";
  readonly change: "updated" | "deleted";
  readonly object: Pod;
  /** The node it is or was on. */
  readonly info: NodeInfo | undefined;
}

/** Says for a pod that the plugin rejected whether it should be tried again; a kind that is missing never helps. */
export interface RetryHints {
  node?(pod: Pod, change: NodeChange): boolean;
  pod?(pod: Pod, change: PodChange): boolean;
}

/** What a plugin has worked out about a pod before it looks at nodes. */
export type PodState = unknown;

/**
 * One concern of scheduling. Every hook is optional; the order of the plugins is the order in the profile. Hooks up to
 * `normalize` are pure: pods for which `looksAt` is the same get the same answer on the same node until the node or
 * `basis` changes.
 */
export interface SchedulerPlugin {
  readonly name: string;
  readonly weight?: number;
  readonly retryOn?: RetryHints;

  /** May the pod enter the queue at all? Otherwise the reason why it waits. */
  preEnqueue?(pod: Pod): string | undefined;
  /** Which of two pods goes first. */
  queueSort?(a: QueuedPod, b: QueuedPod): boolean;
  /**
   * The parts of a pod that the hooks below look at, as JSON. Pods that are the same in them share their work; a plugin
   * that filters or scores and does not say makes every pod one of its own.
   */
  looksAt?(pod: Pod): unknown;
  /** What the answers depend on besides the pod and the one node: when it changes, every node is judged again. */
  basis?(pod: Pod, snapshot: Snapshot): unknown;
  /** Names the only nodes that can fit, if that is known without looking at them, or refuses all nodes. */
  candidates?(pod: Pod): ReadonlySet<string> | Rejection | undefined;
  /** Worked out once for pods that are alike and handed to filter. undefined: nothing against any node. */
  preFilter?(pod: Pod, snapshot: Snapshot): PodState | undefined;
  filter?(pod: Pod, node: NodeInfo, state: PodState): Verdict;
  /** The same for scoring. undefined: every node scores 0. */
  preScore?(pod: Pod, snapshot: Snapshot): PodState | undefined;
  /** Higher is better. 0 to 100 unless `normalize` brings it there. */
  score?(pod: Pod, node: NodeInfo, state: PodState): number;
  /** Brings the scores of all fitting nodes to 0 to 100, in place. */
  normalize?(scores: Float64Array): void;

  /** The pod has a node: claim what it needs there, or throw. `unreserve` takes it back. */
  reserve?(pod: Pod, nodeName: string): void;
  unreserve?(pod: Pod, nodeName: string): void;
  /** May wait, or refuse by throwing. */
  permit?(pod: Pod, nodeName: string, signal: AbortSignal): Promise<void>;
  preBind?(pod: Pod, nodeName: string, signal: AbortSignal): Promise<void>;
  /** True: bound, nobody else needs to. */
  bind?(pod: Pod, nodeName: string, signal: AbortSignal): Promise<boolean>;
  postBind?(pod: Pod, nodeName: string): void;
}

/** A pod in the queue. */
export interface QueuedPod {
  pod: Pod;
  readonly key: string;
  /** When it came, or when its last attempt failed. */
  queuedAt: number;
  attempts: number;
  /** Attempts that no node fitted. */
  rejections: number;
  /** Attempts in a row that ended with an error. */
  errors: number;
  /** Plugins that rejected it in the last attempt: only changes that they name wake it. */
  rejectedBy: ReadonlySet<string>;
}

/** The plugins of one scheduler name. */
export interface Profile {
  readonly schedulerName: string;
  readonly plugins: readonly SchedulerPlugin[];
}
