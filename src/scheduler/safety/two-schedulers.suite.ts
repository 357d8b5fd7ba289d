import { schedulerUser } from "#cluster/identities.ts";
import { isAbort, type Task } from "#lib/async/tasks.ts";
import { type Random } from "#lib/data/random.ts";
import { startInformers } from "#runtime/cached-informer.ts";
import { runAsLeader } from "#runtime/leader.ts";
import { type Faults, type Life } from "#testing/chaos/faults.ts";
import { type ComponentDeps } from "#testing/start-cluster.ts";
import { TraceRecorder } from "#trace/recorder.ts";
import { runScheduler } from "../scheduler.ts";

/** Two processes with a scheduler, of which one leads. One that is killed comes back, with nothing that it knew. */
export function twoSchedulers(deps: ComponentDeps, faults: Faults, random: Random): readonly Task[] {
  return ["a", "b"].map((name) => async (stop: AbortSignal) => {
    for (let run = 0; !stop.aborted; run++) {
      await runOnce(deps, { faults, random, identity: `${name}-${run}` }, stop);
      await deps.clock.sleep(1 + Math.floor(random() * 5000), stop).catch(() => undefined);
    }
  });
}

interface Candidate {
  readonly faults: Faults;
  readonly random: Random;
  readonly identity: string;
}

async function runOnce(deps: ComponentDeps, { faults, random, identity }: Candidate, stop: AbortSignal): Promise<void> {
  const { clock, log } = deps;
  const end = new AbortController();
  const signal = AbortSignal.any([stop, end.signal]);
  const life: Life = { name: identity, signal, kill: () => end.abort(new Error(`${identity} was killed`)) };
  const client = faults.wrap(deps.clientFor(schedulerUser), life);
  const informers = startInformers(faults.wrap(deps.client, life), { clock, log, random });
  const lease = { namespace: "kube-system", name: "kube-scheduler" };
  const recorder = new TraceRecorder({ clock, random });
  const schedule: Task = (ended) => runScheduler({ client, informers, clock, log, random, recorder }, ended);
  try {
    await runAsLeader(schedule, { client, clock, log, random, lease, identity }, signal);
  } catch (error) {
    if (!isAbort(error, signal)) throw error;
  } finally {
    await informers[Symbol.asyncDispose]();
  }
}
