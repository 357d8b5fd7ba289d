import type { Step } from "./step.ts";

/**
 * The life of one pod on its node. Every change of life is made here or in `planPod`, and nowhere else.
 *
 * ```
 *  admitting ─→ running ──────────────→ stopping ───────────→ stopped ──────────→ cleaning ──────→ gone
 *    the node     containers are          containers are        nothing runs, and   the API has      nothing
 *    decides      started, restarted      told to end;          nothing can run     the pod no       is left
 *                 and checked             none is started       any more            more
 *
 *  admitting → running    the node has room for the pod, or a verdict says that it has not
 *  running   → stopping   the pod is deleted, evicted, rejected, too old, or its containers have done their work
 *  stopping  → stopped    no container runs, no step is under way that could start one, the sandbox is down
 *  stopped   → cleaning   the pod was deleted: its last status is written and the object is removed from the API
 *  cleaning  → gone       sandboxes, volumes, cgroups and logs are removed
 *  any       → left       the kubelet ends; its pods go on, and the next kubelet takes them over
 * ```
 *
 * A pod that has done its work and is not deleted stays `stopped`: it gives back everything but its logs.
 */
export type Life =
  | { readonly phase: "admitting" }
  | { readonly phase: "running" }
  | { readonly phase: "stopping"; readonly sinceMs: number; readonly graceMs: number }
  | { readonly phase: "stopped"; readonly isReleased: boolean }
  | { readonly phase: "cleaning" }
  | { readonly phase: "gone" }
  | { readonly phase: "left" };

/** The life after a step that succeeded. */
export function lifeAfter(life: Life, step: Step): Life {
  if (life.phase === "stopped" && step.do === "release") return { ...life, isReleased: true };
  if (life.phase === "stopped" && step.do === "remove") return { phase: "cleaning" };
  if (life.phase === "cleaning" && step.do === "clean") return { phase: "gone" };
  return life;
}

/** Nothing runs, and nothing can run any more. */
export const hasStopped = ({ phase }: Life): boolean => phase === "stopped" || phase === "cleaning" || phase === "gone";

/** Nothing more is done for the pod. */
export const isOver = ({ phase }: Life): boolean => phase === "gone" || phase === "left";

/** Makes the pod fail whatever its containers do. */
export interface PodVerdict {
  readonly reason: string;
  readonly message: string;
  readonly graceMs?: number;
  /** The node never began with the pod. */
  readonly isRejection?: boolean;
  /** Sets the condition DisruptionTarget: the pod had to make room and is not to blame. */
  readonly isDisruption?: boolean;
}

/** Why the node ends a pod before its time. */
export interface Eviction {
  /** Default `Evicted`. */
  readonly reason?: string;
  readonly message: string;
  /** Default 1 s: what threatens the node is ended almost at once. */
  readonly graceMs?: number;
  /** The node is short of something, and this pod makes room. False if the pod broke a limit of its own. */
  readonly isDisruption?: boolean;
}

const evictionGraceMs = 1000;

export function evictionVerdict({ reason = "Evicted", message, graceMs, isDisruption = false }: Eviction): PodVerdict {
  return { reason, message, graceMs: graceMs ?? evictionGraceMs, isDisruption };
}
