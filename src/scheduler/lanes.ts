import { type Pod } from "#api/core/pod.ts";
import { PodDisruptionBudget } from "#api/policy/pod-disruption-budget.ts";
import { type Client } from "#client/client.ts";
import { type EventRecorder } from "#client/events.ts";
import { type Clock } from "#lib/async/clock.ts";
import { type Random } from "#lib/data/random.ts";
import { type Informers } from "#runtime/informer.ts";
import { Decider } from "./decide.ts";
import { type FailedAttempt, type Profile, type SchedulerPlugin } from "./framework.ts";
import { type Nominations } from "./preemption/nominations.ts";
import { type Outcome, Preemptor } from "./preemption/preemptor.ts";
import { type Snapshot } from "./snapshot.ts";

export interface LaneDeps {
  readonly client: Client;
  readonly informers: Informers;
  readonly clock: Clock;
  readonly random: Random;
  readonly snapshot: Snapshot;
  readonly nominations: Nominations;
  eventsOf(schedulerName: string): EventRecorder;
}

/** One profile at work. All profiles share the queue, the nodes and the nominations. */
export interface Lane {
  readonly schedulerName: string;
  readonly plugins: readonly SchedulerPlugin[];
  readonly decider: Decider;
  readonly preemptor: Preemptor;
  readonly events: EventRecorder;
  /** Those of its plugins that want to know about every pod. */
  readonly observers: readonly SchedulerPlugin[];
}

export type Lanes = ReadonlyMap<string, Lane>;

export const createLanes = (profiles: readonly Profile[], deps: LaneDeps): Lanes =>
  new Map(profiles.map((profile) => [profile.schedulerName, createLane(profile, deps)]));

function createLane(profile: Profile, deps: LaneDeps): Lane {
  const { schedulerName, plugins } = profile;
  const events = deps.eventsOf(schedulerName);
  const budgets = deps.informers.of(PodDisruptionBudget);
  return {
    schedulerName,
    plugins,
    events,
    decider: new Decider(profile, deps.snapshot, deps.random, deps.nominations),
    preemptor: new Preemptor({ ...deps, budgets, events, plugins, schedulerName }),
    observers: plugins.filter(({ observe }) => observe),
  };
}

/** The profile that a pod asks for, if it is one of ours. */
export const laneOf = (lanes: Lanes, { spec }: Pod): Lane | undefined =>
  lanes.get(spec.schedulerName || "default-scheduler");

/** Asks the plugins in order what can be done for a pod that fits nowhere, until one of them can do something. */
export async function postFilter(
  plugins: readonly SchedulerPlugin[],
  attempt: FailedAttempt,
): Promise<Outcome | undefined> {
  let last: Outcome | undefined;
  for (const plugin of plugins) {
    const outcome = plugin.postFilter && (await plugin.postFilter(attempt));
    if (!outcome) continue;
    if (outcome.nominate) return outcome;
    last = last ? { ...outcome, message: `${last.message} ${outcome.message}` } : outcome;
  }
  return last;
}
