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

/** A change that may turn a rejection into a fit. */
export interface RetryOn {
  readonly kind: "Node" | "Pod";
  readonly change: "created" | "updated" | "deleted";
  /** Says whether this change can help at all; without it any will be tried. */
  helps?(pod: Pod, change: { readonly object: unknown; readonly previous: unknown }): boolean;
}

/** What a plugin has worked out about a pod before it looks at nodes. */
export type PodState = unknown;

/**
 * One concern of scheduling. Every hook is optional; the order of the plugins is the order in the profile. Hooks up to
 * `normalize` are pure: the same pod on the same node gets the same answer until the node changes.
 */
export interface SchedulerPlugin {
  readonly name: string;
  readonly weight?: number;
  readonly retryOn?: readonly RetryOn[];

  /** May the pod enter the queue at all? Otherwise the reason why it waits. */
  preEnqueue?(pod: Pod): string | undefined;
  /** Which of two pods goes first. */
  queueSort?(a: QueuedPod, b: QueuedPod): boolean;
  /** Names the only nodes that can fit, if that is known without looking at them. */
  candidates?(pod: Pod): ReadonlySet<string> | undefined;
  /** Worked out once per pod and handed to filter and score. undefined means nothing to do for this pod. */
  preFilter?(pod: Pod, snapshot: Snapshot): PodState | undefined;
  filter?(pod: Pod, node: NodeInfo, state: PodState): Verdict;
  /** The same for scoring. */
  preScore?(pod: Pod, snapshot: Snapshot): PodState | undefined;
  /** Higher is better. 0 to 100 unless `normalize` brings it there. */
  score?(pod: Pod, node: NodeInfo, state: PodState): number;
  /** Brings the scores of all fitting nodes to 0 to 100, in place. */
  normalize?(scores: Float64Array): void;
  /** Nothing fits: may name a node that will, after what the plugin does. */
  postFilter?(pod: Pod, rejections: ReadonlyMap<string, Rejection>, snapshot: Snapshot): Promise<string | undefined>;

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
  /** When it first came; kept over attempts. */
  readonly since: number;
  /** When it last entered the queue. */
  queuedAt: number;
  attempts: number;
  /** Plugins that rejected it in the last attempt: only changes that they name wake it. */
  rejectedBy: ReadonlySet<string>;
}

/** The plugins of one scheduler name. */
export interface Profile {
  readonly schedulerName: string;
  readonly plugins: readonly SchedulerPlugin[];
}
