import type { Step } from "./step.ts";

/**
 * The life of one pod on its node. Every change of it is made here or in `planPod`, and nowhere else.
 *
 * ```
 *  admitting ─→ running ──────────────→ stopping ───────────→ stopped ──────────→ cleaning ──────→ gone
 *    the node     containers are          containers are        nothing runs, and   the API has      nothing
 *    decides      started, restarted      told to end;          nothing can run     the pod no       is left
 *                 and checked             none is started       any more            more
 *
 *  admitting → running    the node has room for the pod, or a verdict says that it has not
 *  running   → stopping   the pod is deleted, evicted, rejected, over its deadline, or its containers are done
 *  stopping  → stopped    no container runs, no step that could start one is running, and the sandbox is down
 *  stopped   → cleaning   the pod was deleted: its last status is written and the object is removed from the API
 *  cleaning  → gone       sandboxes, volumes, cgroups and logs are removed
 *  any       → left       the kubelet ends; its pods continue, and the next kubelet takes them over
 * ```
 *
 * A finished pod that is not deleted stays `stopped`: it releases everything but its logs.
 */
export type Life =
  | { readonly phase: "admitting" }
  | { readonly phase: "running" }
  | { readonly phase: "stopping"; readonly sinceMs: number; readonly graceMs: number }
  | { readonly phase: "stopped"; readonly isReleased: boolean }
  | { readonly phase: "cleaning" }
  | { readonly phase: "gone" }
  | { readonly phase: "left" };

/** The life after a successful step. */
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
  /** The node never started the pod. */
  readonly isRejection?: boolean;
  /** Sets the condition DisruptionTarget: the pod had to make room, and its failure is not its own fault. */
  readonly isDisruption?: boolean;
}

/** Why the node ends a pod early. */
export interface Eviction {
  /** Default `Evicted`. */
  readonly reason?: string;
  readonly message: string;
  /** 1 s by default: what threatens the node must end almost immediately. */
  readonly graceMs?: number;
  /** The node lacks a resource, and this pod makes room. False if the pod exceeded its own limit. */
  readonly isDisruption?: boolean;
}

const evictionGraceMs = 1000;

export function evictionVerdict({ reason = "Evicted", message, graceMs, isDisruption = false }: Eviction): PodVerdict {
  return { reason, message, graceMs: graceMs ?? evictionGraceMs, isDisruption };
}
