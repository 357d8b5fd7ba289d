import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { type Client } from "#client/client.ts";
import { createEventRecorder } from "#client/events.ts";
import { type Clock } from "#lib/async/clock.ts";
import { type Task } from "#lib/async/tasks.ts";
import { type Random } from "#lib/data/random.ts";
import { type Log } from "#lib/process/log.ts";
import { type LeaderDeps, runAsLeader } from "#runtime/leader.ts";

/** How one of several servers is chosen to run a component. */
export interface ElectionOptions extends Pick<LeaderDeps, "leaseDurationMs" | "renewDeadlineMs" | "retryPeriodMs"> {
  /** By default, there is an election if other servers may share the store. */
  readonly enabled?: boolean | undefined;
  /** The lease, if it is not the one in kube-system with the name of the component. */
  readonly lease?: LeaderDeps["lease"] | undefined;
}

export interface ElectionDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly random: Random;
  /** Whether other servers may run the same components on the same store. */
  readonly isShared: boolean;
  readonly election?: ElectionOptions | undefined;
}

/** Makes tasks that only one server runs at a time, each under a lease in kube-system. */
export function electing(deps: ElectionDeps): (name: string, client: Client, task: Task) => Task {
  const { isShared, election = {}, ...rest } = deps;
  const { enabled = isShared, lease: other, ...times } = election;
  const identity = `${hostname()}_${randomUUID()}`;
  return (name, client, task) => {
    if (!enabled) return task;
    const lease = other ?? { namespace: "kube-system", name };
    return async (ended) => {
      await using events = createEventRecorder(client, { ...rest, component: name });
      await runAsLeader(task, { ...rest, ...times, client, events, lease, identity }, ended);
    };
  };
}
