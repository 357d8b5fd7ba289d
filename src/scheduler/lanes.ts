import { Pod } from "#api/core/pod.ts";
import { PodDisruptionBudget } from "#api/policy/pod-disruption-budget.ts";
import { type Client } from "#client/client.ts";
import { type EventRecorder } from "#client/events.ts";
import { type Clock } from "#lib/async/clock.ts";
import { type Random } from "#lib/data/random.ts";
import { type Log } from "#lib/process/log.ts";
import { type Change, type Informers } from "#runtime/informer.ts";
import { Decider } from "./decide.ts";
import { type FailedAttempt, type ObjectChange, type Profile, type SchedulerPlugin } from "./framework.ts";
import { groupOf } from "./gated.ts";
import { EndedVictims } from "./preemption/ended-victims.ts";
import { type Nominations } from "./preemption/nominations.ts";
import { type Outcome, Preemptor, type PreemptorDeps } from "./preemption/preemptor.ts";
import { type Snapshot } from "./snapshot.ts";

export interface LaneDeps {
  readonly client: Client;
  readonly informers: Informers;
  readonly clock: Clock;
  readonly log: Log;
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
  /** Tells plugins about every change of a pod of this profile. */
  observe(change: Change<Pod>): void;
  /** Lets plugins do what may take long, before anything is decided about a pod. Usually there is nothing. */
  prepare(pod: Pod): Promise<unknown> | undefined;
}

export interface Lanes {
  readonly byName: ReadonlyMap<string, Lane>;
  readonly ended: EndedVictims;
}

export function createLanes(profiles: readonly Profile[], deps: LaneDeps): Lanes {
  const budgets = deps.informers.of(PodDisruptionBudget);
  const ended = new EndedVictims((namespace) => budgets.list(namespace), deps.clock);
  const shared = { ...deps, budgets, ended };
  return { byName: new Map(profiles.map((profile) => [profile.schedulerName, createLane(profile, shared)])), ended };
}

function createLane(profile: Profile, deps: LaneDeps & Pick<PreemptorDeps, "budgets" | "ended">): Lane {
  const { schedulerName, plugins } = profile;
  const events = deps.eventsOf(schedulerName);
  const preparers = plugins.filter(({ prepare }) => prepare);
  const observers = plugins.filter(({ observe }) => observe);
  return {
    schedulerName,
    plugins,
    events,
    decider: new Decider(profile, deps.snapshot, deps.random, deps.nominations),
    preemptor: new Preemptor({ ...deps, events, plugins, schedulerName }),
    observe(change) {
      for (const plugin of observers) {
        try {
          plugin.observe?.(change);
        } catch (error) {
          // The scheduler must not miss the change because of a plugin.
          deps.log.error("a plugin failed to observe a pod", { plugin: plugin.name, error });
        }
      }
    },
    prepare(pod) {
      const work = preparers.flatMap((plugin) => plugin.prepare?.(pod, deps.snapshot) ?? []);
      return work.length > 0 ? Promise.all(work) : undefined;
    },
  };
}

/** Tells which pods are not of this group; without a group, all of them. */
export const outside =
  (group: string | undefined, lanes: Lanes) =>
  ({ pod }: { readonly pod: Pod }): boolean =>
    group === undefined || groupOf(laneOf(lanes, pod)?.plugins ?? [], pod) !== group;

/** The profile that a pod asks for, if it is one of ours. */
export const laneOf = (lanes: Lanes, { spec }: Pod): Lane | undefined =>
  lanes.byName.get(spec.schedulerName || "default-scheduler");

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
    last = last ? joined(last, outcome) : outcome;
  }
  return last;
}

const joined = (first: Outcome, second: Outcome): Outcome => ({
  ...second,
  message: `${first.message} ${second.message}`,
  async run(signal) {
    await first.run(signal);
    await second.run(signal);
  },
});

export interface Following {
  readonly informers: Informers;
  readonly log: Log;
  changed(change: ObjectChange): void;
  reconsider(pod: Pod): void;
}

/** Follows the kinds whose changes may help a pod, and what else plugins need to know. Returns how to end it. */
export function followAll({ byName, ended }: Lanes, { informers, log, changed, reconsider }: Following): () => void {
  const plugins = [...new Set([...byName.values()].flatMap((lane) => lane.plugins))];
  const hints = plugins.flatMap(({ retryOn }) => retryOn?.objects ?? []);
  const stops = Array.from(new Set(hints.map(({ resource }) => resource)), (resource) =>
    informers.of(resource).subscribe((change) => changed({ kind: "Object", resource, change })),
  );
  const stopEnded = informers.of(Pod).subscribe((change) => ended.onPod(change));
  const own = plugins.map((plugin) => {
    try {
      return plugin.follow?.(reconsider);
    } catch (error) {
      // The others can do their work.
      log.error("a plugin failed to follow what it needs", { plugin: plugin.name, error });
      return undefined;
    }
  });
  return () => {
    for (const stop of [...stops, stopEnded, ...own]) stop?.();
  };
}
