import { Pod } from "#api/core/pod.ts";
import { isConflict, isNotFound } from "#api/status.ts";
import { type Client } from "#client/client.ts";
import { type EventRecorder } from "#client/events.ts";
import { type Clock, timestamp } from "#lib/async/clock.ts";

export interface ReportDeps {
  readonly client: Client;
  readonly events: EventRecorder;
  readonly clock: Clock;
}

export interface NotScheduled {
  readonly pod: Pod;
  /** `Unschedulable`: no node fits. `SchedulerError`: an error occurred. */
  readonly reason: string;
  readonly message: string;
  /** The node to nominate; null removes it, and undefined leaves what is there. */
  readonly nominate?: string | null | undefined;
  readonly signal: AbortSignal;
}

/** Reports in an event and in the pod's status why it has no node. */
export async function reportNotScheduled(
  deps: ReportDeps,
  { pod, reason, message, nominate, signal }: NotScheduled,
): Promise<void> {
  deps.events.event(pod, "Warning", "FailedScheduling", shortened(message));
  const { status, metadata } = pod;
  const known = status?.conditions?.find(({ type }) => type === "PodScheduled");
  const isKnown = known?.status === "False" && known.reason === reason && known.message === message;
  const isNominated = nominate === undefined || nominate === (status?.nominatedNodeName ?? null);
  if (isKnown && isNominated) return;
  const now = timestamp(deps.clock.now());
  const condition = {
    type: "PodScheduled",
    status: "False",
    reason,
    message,
    lastTransitionTime: known?.status === "False" ? (known.lastTransitionTime ?? now) : now,
    observedGeneration: metadata.generation ?? 0,
  };
  const body = {
    metadata: { uid: metadata.uid },
    status: { conditions: [condition], ...(isNominated ? {} : { nominatedNodeName: nominate }) },
  };
  try {
    await deps.client.patch(Pod, pod, { type: "strategic", body }, { subresource: "status", signal });
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
}

/** The maximum length of an event's note. */
const maxNote = 1024;
const shortened = (message: string): string =>
  message.length <= maxNote ? message : `${message.slice(0, maxNote - 4)} ...`;
