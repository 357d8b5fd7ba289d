import { isFinished } from "#api/core/pod/pod-state.ts";
import type { Pod } from "#api/core/pod.ts";
import { isCriticalPod } from "#kubelet/resources/critical-pod.ts";
import type { Clock } from "#lib/async/clock.ts";
import { isAbort } from "#lib/async/tasks.ts";
import type { Log } from "#lib/process/log.ts";
import { evictionMessage } from "./eviction-message.ts";
import {
  metThresholds,
  noPressureState,
  type PressurePlan,
  type PressureState,
  planPressure,
} from "./plan-pressure.ts";
import { type PodUse, rankPods } from "./rank-pods.ts";
import { type Observations, type Pressure, resourceOf, type Signal, type StarvedResource } from "./signals.ts";
import { isHard, type Threshold, withContainerFs } from "./thresholds.ts";

export interface EvictionSettings {
  readonly thresholds: readonly Threshold[];
  readonly transitionMs: number;
  /** The longest grace period of a pod that a soft threshold evicts. */
  readonly maxPodGraceMs: number;
}

/** What eviction needs from the machine. */
export interface EvictionHost {
  observe(signal: AbortSignal): Promise<Observations>;
  /** Whether images and writable layers have a disk of their own. */
  hasImageDisk(): Promise<boolean>;
  /** What each pod uses of the resource, by UID. A pod that cannot be measured is absent. */
  measure(pods: readonly Pod[], resource: StarvedResource, signal: AbortSignal): Promise<ReadonlyMap<string, PodUse>>;
  removeUnusedImages(signal: AbortSignal): Promise<void>;
}

/** How a pod ends. */
export interface PodEnd {
  readonly message: string;
  readonly graceMs: number;
  readonly isDisruption: boolean;
}

export interface EvictionDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly settings: EvictionSettings;
  readonly host: EvictionHost;
  /** The pods of the node. */
  pods(): readonly Pod[];
  /** Removes the containers of pods that have ended. */
  removeDeadContainers(signal: AbortSignal): Promise<void>;
  evict(uid: string, end: PodEnd, cause: Signal): void;
  /** Whether an evicted pod no longer uses anything. */
  isCleanedUp(uid: string): boolean;
  conditionsChanged(conditions: readonly Pressure[]): void;
  /** Reports about the node that pods may have to go. */
  reclaims(resource: StarvedResource): void;
}

const pauseMs = 10_000;
const cleanupMs = 30_000;
const cleanupPollMs = 1000;
const hardGraceMs = 1000;

/** Measures the node, and frees what runs out: first what nobody needs, then one pod at a time. Until the signal. */
export async function runEviction(deps: EvictionDeps, signal: AbortSignal): Promise<void> {
  const { clock, log } = deps;
  const evictor = new Evictor(deps);
  while (!signal.aborted) {
    let evicted: Pod | undefined;
    try {
      evicted = await evictor.look(signal);
    } catch (error) {
      if (isAbort(error, signal)) throw error;
      log.warn("could not look for pressure on the node", { error });
    }
    if (evicted) await untilCleanedUp(deps, evicted, signal);
    else await clock.sleep(pauseMs, signal);
  }
}

/** Waits until what the pod used is free, so that the next look does not evict another pod for it. */
async function untilCleanedUp({ clock, isCleanedUp }: EvictionDeps, { metadata }: Pod, signal: AbortSignal) {
  for (let waitedMs = 0; waitedMs < cleanupMs; waitedMs += cleanupPollMs) {
    await clock.sleep(cleanupPollMs, signal);
    if (isCleanedUp(metadata.uid)) return;
  }
}

class Evictor {
  readonly #deps: EvictionDeps;
  #state: PressureState = noPressureState;
  #conditions: readonly Pressure[] = [];
  #disk: { readonly thresholds: readonly Threshold[]; readonly hasImageDisk: boolean } | undefined;

  constructor(deps: EvictionDeps) {
    this.#deps = deps;
  }

  /** Resolves with the pod that was evicted, if one was. */
  async look(signal: AbortSignal): Promise<Pod | undefined> {
    const { host, clock, settings, log, reclaims } = this.#deps;
    const { thresholds, hasImageDisk } = await this.#lookAtDisks();
    const observations = await host.observe(signal);
    const { transitionMs } = settings;
    const plan = planPressure({
      settings: { thresholds, transitionMs },
      state: this.#state,
      observations,
      now: clock.now(),
    });
    this.#accept(plan);
    const [worst] = plan.starved;
    if (!worst) return undefined;
    const resource = resourceOf(worst.signal);
    log.warn("the node runs out of a resource", { resource, signal: worst.signal });
    reclaims(resource);
    if (await this.#reclaim(worst.signal, signal)) return undefined;
    const cause = { worst, resource, starved: plan.starved, observations, hasImageDisk };
    return await this.#evictOne(cause, signal);
  }

  /** Which disks there are does not change while a kubelet runs. */
  async #lookAtDisks() {
    if (this.#disk) return this.#disk;
    const hasImageDisk = await this.#deps.host.hasImageDisk();
    this.#disk = { thresholds: withContainerFs(this.#deps.settings.thresholds, hasImageDisk), hasImageDisk };
    return this.#disk;
  }

  #accept({ state, conditions }: PressurePlan): void {
    this.#state = state;
    if (conditions.join() === this.#conditions.join()) return;
    this.#conditions = conditions;
    this.#deps.conditionsChanged(conditions);
  }

  /** Removes what nobody needs. True if that was enough. */
  async #reclaim(starved: Signal, signal: AbortSignal): Promise<boolean> {
    const { host, log, removeDeadContainers } = this.#deps;
    const { thresholds, hasImageDisk } = await this.#lookAtDisks();
    if (!isReclaimable(starved, hasImageDisk)) return false;
    const tasks = [removeDeadContainers, (stop: AbortSignal) => host.removeUnusedImages(stop)];
    for (const task of tasks) {
      await task(signal).catch((error: unknown) => {
        if (isAbort(error, signal)) throw error;
        log.warn("could not remove unused containers or images", { error });
      });
    }
    return metThresholds(thresholds, await host.observe(signal), "minimum reclaim").length === 0;
  }

  async #evictOne(cause: Cause, signal: AbortSignal): Promise<Pod | undefined> {
    const { pods, host, evict, log } = this.#deps;
    const { worst, resource, hasImageDisk } = cause;
    const active = pods().filter((pod) => !isFinished(pod));
    const uses = await host.measure(active, resource, signal);
    const useOf = ({ metadata }: Pod) => uses.get(metadata.uid);
    const ranked = rankPods(active, { signal: worst.signal, hasImageDisk, useOf });
    const pod = ranked.find((one) => !isCriticalPod(one));
    if (!pod) {
      log.warn("no pod can be evicted", { resource });
      return undefined;
    }
    const message = evictionMessage(pod, useOf(pod), cause);
    evict(pod.metadata.uid, { message, graceMs: this.#graceOf(pod, worst), isDisruption: true }, worst.signal);
    return pod;
  }

  #graceOf({ spec }: Pod, threshold: Threshold): number {
    if (isHard(threshold)) return hardGraceMs;
    const own = spec.terminationGracePeriodSeconds * 1000;
    return Math.max(hardGraceMs, Math.min(this.#deps.settings.maxPodGraceMs, own));
  }
}

interface Cause {
  readonly worst: Threshold;
  readonly resource: StarvedResource;
  readonly starved: readonly Threshold[];
  readonly observations: Observations;
  readonly hasImageDisk: boolean;
}

/** Dead containers and unused images take disk only, and only of the disk they are on. */
function isReclaimable(signal: Signal, hasImageDisk: boolean): boolean {
  const resource = resourceOf(signal);
  const isDisk = resource === "ephemeral-storage" || resource === "inodes";
  return isDisk && !(hasImageDisk && signal.startsWith("nodefs."));
}
