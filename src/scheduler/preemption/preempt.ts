import { Pod } from "#api/core/pod.ts";
import { ignoreNotFound, isConflict, isNotFound, isRefusal } from "#api/status.ts";
import { type Client } from "#client/client.ts";
import { type EventRecorder } from "#client/events.ts";
import { type Clock, timestamp } from "#lib/async/clock.ts";
import { allOrFirstError } from "#lib/async/tasks.ts";
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
  /** Called when the server has been asked to end a victim: it ends, or nobody knows. */
  written(victim: Nominated): void;
  /** Called instead for a victim that goes on: the server refused to end it. */
  spared(victim: Nominated): void;
}

/**
 * Ends the victims: each first says in its status why, so that its controller need not count it as a failure. Waits for all of
 * them, even if one cannot be ended.
 */
export async function preempt(deps: PreemptDeps, preempting: Preempting): Promise<void> {
  const victims = preempting.victims.filter(({ pod }) => !pod.metadata.deletionTimestamp);
  await allOrFirstError(victims.map((victim) => preemptOne(deps, victim, preempting)));
}

async function preemptOne(
  deps: PreemptDeps,
  victim: Nominated,
  { preemptor, node, signal, written, spared }: Preempting,
): Promise<void> {
  const { pod } = victim;
  let goesOn = false;
  try {
    await endVictim(deps, pod, signal);
    deps.events.event(pod, "Normal", "Preempted", `Preempted by pod ${preemptor.metadata.uid} on node ${node}`);
  } catch (error) {
    if (await endsAnyway(deps, pod, { error, signal })) return;
    // Without an answer it may have been ended all the same.
    goesOn = isRefusal(error);
    throw error;
  } finally {
    if (goesOn) spared(victim);
    else written(victim);
  }
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

/** The pod is gone or about to go, which is as good. After a conflict, another pod may have its name. */
async function endsAnyway(
  { client }: PreemptDeps,
  { metadata: { namespace, name, uid } }: Pod,
  { error, signal }: { readonly error: unknown; readonly signal: AbortSignal },
): Promise<boolean> {
  if (isNotFound(error)) return true;
  if (!isConflict(error)) return false;
  const found = await client.get(Pod, { namespace, name }, { signal }).catch(ignoreNotFound);
  return found?.metadata.uid !== uid || found.metadata.deletionTimestamp !== undefined;
}

/** A more important pod takes the node, so these look for another one. */
export async function clearNominations(
  { client }: Pick<PreemptDeps, "client">,
  pods: readonly Pod[],
  signal: AbortSignal,
): Promise<void> {
  await allOrFirstError(
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
