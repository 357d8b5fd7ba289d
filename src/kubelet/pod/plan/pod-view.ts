import type { Pod } from "#api/core/pod.ts";
import type { ProbeResults } from "#kubelet/probes/results.ts";
import { hasStopped, type Life, type PodVerdict } from "./life.ts";
import type { PodState } from "./pod-state.ts";
import type { RestartsView } from "./restart-backoff.ts";
import type { Step } from "./step.ts";
import type { StepsView } from "./steps.ts";

/** The input of all decisions about a pod. */
export interface PodView extends PodState {
  readonly pod: Pod;
  /** The API no longer has the pod. */
  readonly isGone: boolean;
  readonly life: Life;
  readonly verdict: PodVerdict | undefined;
  /** Containers and sandboxes whose state must be read again. */
  readonly toLookAt: ReadonlySet<string>;
  readonly volumes: VolumesView;
  /** The containers whose images are present. */
  readonly images: { has(container: string): boolean };
  /** A sandbox may exist that the runtime did not report. */
  readonly mayHaveLostSandbox: boolean;
  readonly isResizing: boolean;
  readonly probes: ProbeResults;
  readonly restarts: RestartsView;
  readonly steps: StepsView;
  readonly now: number;
}

/** `refreshAt` is when the content of mounted volumes must be updated; 0 for now. */
export type VolumesView =
  | { readonly is: "unmounted" }
  | { readonly is: "mounted"; readonly refreshAt: number | undefined };

export interface PodPlan {
  readonly life: Life;
  readonly verdict?: PodVerdict;
  /** These may all run concurrently. */
  readonly steps: readonly Step[];
  /** Containers that wait before they are restarted. */
  readonly backOffs: readonly BackOff[];
  /** Running containers are being resized now. */
  readonly startsResize: boolean;
  /** Whether to report the status. */
  readonly reports: boolean;
  /** When to plan again even if nothing has happened. */
  readonly wakeAt: number | undefined;
}

export interface BackOff {
  readonly container: string;
  /** The id of the ended container. */
  readonly endedId: string;
  readonly delayMs: number;
  readonly at: number;
}

/** Whether the pod is being deleted, or is already gone from the API. */
export const isLeaving = ({ pod, isGone }: PodView): boolean => isGone || pod.metadata.deletionTimestamp !== undefined;

/** How long containers have to stop. */
export function graceOf({ pod, verdict }: PodView): number {
  const seconds = pod.metadata.deletionGracePeriodSeconds ?? pod.spec.terminationGracePeriodSeconds;
  return verdict?.graceMs ?? seconds * 1000;
}

/** Whether a container of the pod runs, or may run soon. */
export function mayRun({ life, containers, steps }: PodView): boolean {
  if (hasStopped(life)) return false;
  if (containers.some(({ state }) => state !== "exited")) return true;
  return steps.isUnderWay("create") || steps.isUnderWay("start");
}
