import type { ContainerRuntime } from "#kubelet/runtime/runtime.ts";
import type { Clock } from "#lib/async/clock.ts";
import { withDeadline } from "#lib/async/deadline.ts";
import type { Nudge } from "#lib/async/nudge.ts";
import type { Log } from "#lib/process/log.ts";
import type { Placements } from "./placements.ts";

export interface PlacementsDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly placements: Placements;
  readonly everyMs: number;
  /** Given when processors were given to a container. */
  readonly changed: Nudge;
  readonly pods: {
    /** Those that have not ended. */
    readonly activePods: ReadonlySet<string>;
    readonly workers: readonly Worker[];
  };
  readonly runtime: Pick<ContainerRuntime, "updateResources">;
}

interface Worker {
  readonly uid: string;
  readonly state: {
    readonly containers: readonly { readonly id: string; readonly name: string; readonly state: string }[];
  };
}

/** Keeps running containers on the processors that they may use: those that they share change when others get their own. */
export async function runPlacements(deps: PlacementsDeps, signal: AbortSignal): Promise<void> {
  const { clock, log, placements, everyMs, changed } = deps;
  const applied = new Map<string, string>();
  while (!signal.aborted) {
    try {
      if (placements.keepOnly(deps.pods.activePods)) await placements.save();
    } catch (error) {
      log.warn("could not record which pods have processors for themselves", { error });
    }
    await moveContainers(deps, applied);
    await withDeadline(everyMs, { clock, signal }, () => changed.taken());
  }
}

async function moveContainers(deps: PlacementsDeps, applied: Map<string, string>): Promise<void> {
  const running = deps.pods.workers.flatMap(({ uid, state }) =>
    state.containers.filter((one) => one.state === "running").map(({ id, name }) => ({ id, podUid: uid, name })),
  );
  const ids = new Set(running.map(({ id }) => id));
  for (const id of applied.keys()) if (!ids.has(id)) applied.delete(id);
  for (const { id, podUid, name } of running) {
    const { cpusetCpus } = deps.placements.placeOf(podUid, name);
    if (cpusetCpus === undefined || applied.get(id) === cpusetCpus) continue;
    try {
      await deps.runtime.updateResources(id, { cpusetCpus });
      applied.set(id, cpusetCpus);
    } catch (error) {
      // It may have just ended. If not, the next round tries again.
      deps.log.debug("could not set the processors of a container", { container: id, error });
    }
  }
}
