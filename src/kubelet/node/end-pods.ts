import { isFinished } from "#api/core/pod/pod-state.ts";
import type { Pod } from "#api/core/pod.ts";
import type { Clock } from "#lib/async/clock.ts";
import { planShutdown, type ShutdownGrace } from "./plan-shutdown.ts";

export interface PodEnd {
  readonly reason: string;
  readonly message: string;
  readonly graceMs: number;
  readonly isDisruption: boolean;
}

export interface EndPodsDeps {
  readonly clock: Clock;
  readonly graces: readonly ShutdownGrace[];
  pods(): readonly Pod[];
  evict(uid: string, end: PodEnd): void;
  isCleanedUp(uid: string): boolean;
}

const reason = "Terminated";
const message = "Pod was terminated in response to imminent node shutdown.";
const pollMs = 100;

/** Ends all pods before the machine shuts down: group by group, each within its time. */
export async function endPods({ clock, graces, pods, evict, isCleanedUp }: EndPodsDeps): Promise<void> {
  const active = pods().filter((pod) => !isFinished(pod));
  for (const group of planShutdown(active, graces)) {
    for (const { metadata, spec } of group.pods) {
      const graceMs = Math.min(group.graceMs, spec.terminationGracePeriodSeconds * 1000);
      evict(metadata.uid, { reason, message, graceMs, isDisruption: true });
    }
    const untilMs = clock.now() + group.graceMs;
    // What did not end in time must not take the time of the next group.
    while (clock.now() < untilMs && !group.pods.every(({ metadata }) => isCleanedUp(metadata.uid))) {
      await clock.sleep(Math.min(pollMs, untilMs - clock.now()));
    }
  }
}
