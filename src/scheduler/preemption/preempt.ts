import { Pod } from "#api/core/pod.ts";
import { isConflict, isNotFound, isRefusal } from "#api/status.ts";
import { type Client } from "#client/client.ts";
import { type EventRecorder } from "#client/events.ts";
import { type Clock, timestamp } from "#lib/async/clock.ts";
import { type Nominated } from "./nominations.ts";

export interface PreemptDeps {
  readonly client: Client;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly schedulerName: string;
}

export interface Preempting {
  readonly preemptor: Pod;
  readonly node: string;
  readonly victims: readonly Nominated[];
  readonly signal: AbortSignal;
  /** Called for each victim that goes on: the server refused to end it. */
  spared(victim: Nominated): void;
}

/** Ends the victims: each first says in its status why, so that its controller need not count it as a failure. */
export async function preempt(
  deps: PreemptDeps,
  { preemptor, node, victims, signal, spared }: Preempting,
): Promise<void> {
  const message = `Preempted by pod ${preemptor.metadata.uid} on node ${node}`;
  await Promise.all(
    victims.map(async (victim) => {
      const { pod } = victim;
      if (pod.metadata.deletionTimestamp) return;
      try {
        await endVictim(deps, pod, signal);
      } catch (error) {
        // It is gone, which is as good.
        if (isNotFound(error)) return;
        // Without an answer it may have been ended all the same.
        if (isRefusal(error)) spared(victim);
        throw error;
      }
      deps.events.event(pod, "Normal", "Preempted", message);
    }),
  );
}

async function endVictim({ client, clock, schedulerName }: PreemptDeps, pod: Pod, signal: AbortSignal): Promise<void> {
  const { uid, generation } = pod.metadata;
  const condition = {
    type: "DisruptionTarget",
    status: "True",
    reason: "PreemptionByScheduler",
    message: `${schedulerName}: preempting to accommodate a higher priority pod`,
    lastTransitionTime: timestamp(clock.now()),
    observedGeneration: generation ?? 0,
  };
  const body = { metadata: { uid }, status: { conditions: [condition] } };
  await client.patch(Pod, pod, { type: "strategic", body }, { subresource: "status", signal });
  await client.delete(Pod, pod, { preconditions: { uid }, signal });
}

/** A more important pod takes the node, so these look for another one. */
export async function clearNominations(
  { client }: Pick<PreemptDeps, "client">,
  pods: readonly Pod[],
  signal: AbortSignal,
): Promise<void> {
  await Promise.all(
    pods.map(async (pod) => {
      const body = { metadata: { uid: pod.metadata.uid }, status: { nominatedNodeName: null } };
      try {
        await client.patch(Pod, pod, { type: "strategic", body }, { subresource: "status", signal });
      } catch (error) {
        if (!isNotFound(error) && !isConflict(error)) throw error;
      }
    }),
  );
}
