import type { Pod } from "#api/core/pod.ts";
import type { ProbeResults } from "#kubelet/probes/results.ts";
import { hasStopped, type Life, type PodVerdict } from "./life.ts";
import type { PodState } from "./pod-state.ts";
import type { RestartsView } from "./restart-backoff.ts";
import type { Step } from "./step.ts";
import type { StepsView } from "./steps.ts";

/** Everything that decisions about a pod are made from. */
export interface PodView extends PodState {
  readonly pod: Pod;
  /** The API has the pod no more. */
  readonly isGone: boolean;
  readonly life: Life;
  readonly verdict: PodVerdict | undefined;
  /** Containers and sandboxes to which something has happened. */
  readonly toLookAt: ReadonlySet<string>;
  readonly volumes: VolumesView;
  /** The containers whose images are there. */
  readonly images: { has(container: string): boolean };
  /** A sandbox may exist that the runtime did not tell us of. */
  readonly mayHaveLostSandbox: boolean;
  readonly isResizing: boolean;
  readonly probes: ProbeResults;
  readonly restarts: RestartsView;
  readonly steps: StepsView;
  readonly now: number;
}

/** `refreshAt` is when the content of mounted volumes must be brought up to date; 0 for now. */
export type VolumesView =
  | { readonly is: "unmounted" }
  | { readonly is: "mounted"; readonly refreshAt: number | undefined };

export interface PodPlan {
  readonly life: Life;
  readonly verdict?: PodVerdict;
  /** All of them may be done at once. */
  readonly steps: readonly Step[];
  /** Containers that wait before they are restarted. */
  readonly backOffs: readonly BackOff[];
  /** Containers that run get other resources now. */
  readonly startsResize: boolean;
  /** Whether the status is to be reported. */
  readonly reports: boolean;
  /** When to plan again even if nothing happens. */
  readonly wakeAt: number | undefined;
}

export interface BackOff {
  readonly container: string;
  /** The end of which container this is about. */
  readonly endedId: string;
  readonly delayMs: number;
  readonly at: number;
}

/** The pod was deleted, or is gone from the API already. */
export const isLeaving = ({ pod, isGone }: PodView): boolean => isGone || pod.metadata.deletionTimestamp !== undefined;

/** How long containers have to end. */
export function graceOf({ pod, verdict }: PodView): number {
  const seconds = pod.metadata.deletionGracePeriodSeconds ?? pod.spec.terminationGracePeriodSeconds;
  return verdict?.graceMs ?? seconds * 1000;
}

/** Whether a container of the pod runs, or could be running soon. */
export function mayRun({ life, containers, steps }: PodView): boolean {
  if (hasStopped(life)) return false;
  if (containers.some(({ state }) => state !== "exited")) return true;
  return steps.isUnderWay("create") || steps.isUnderWay("start");
}
