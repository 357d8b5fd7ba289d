import type { Pod } from "#api/core/pod.ts";
import { labels } from "#kubelet/config/runtime-labels.ts";
import {
  hasStorageLimit,
  type PodStorage,
  planStorageEvictions,
  type StorageEviction,
} from "#kubelet/resources/storage-limits.ts";
import type { ContainerStats } from "#kubelet/runtime/runtime.ts";
import type { Clock } from "#lib/async/clock.ts";
import { outOfTime, withDeadline } from "#lib/async/deadline.ts";
import { isAbort, runTogether } from "#lib/async/tasks.ts";
import type { Log } from "#lib/process/log.ts";

export interface StorageWatchDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** The pods on this node. */
  pods(): readonly Pod[];
  /** Measures their disk usage; the time grows with their number of files. */
  measure(pods: readonly Pod[], signal: AbortSignal): Promise<ReadonlyMap<string, PodStorage>>;
  evict(eviction: StorageEviction): void;
}

const pauseMs = 10_000;
/** All pods are measured together. If that takes longer than this, each is measured on its own. */
const togetherMs = 5000;
const aloneMs = 5000;
/** Pods with very many files are measured one after another, and no other pod waits for them. */
const slowMs = 600_000;

/** Evicts pods that exceed their storage limits, until the signal. */
export async function runStorageWatch(deps: StorageWatchDeps, signal: AbortSignal): Promise<void> {
  const slow = new Set<string>();
  await runTogether(signal, [
    (stop) => repeat(deps, stop, (pods) => lookAtAll(deps, { pods, slow }, stop)),
    (stop) => repeat(deps, stop, (pods) => lookAtSlow(deps, { pods, slow }, stop)),
  ]);
}

async function repeat(
  { clock, log, pods }: StorageWatchDeps,
  signal: AbortSignal,
  look: (pods: readonly Pod[]) => Promise<void>,
): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(pauseMs, signal);
    try {
      await look(pods().filter(hasStorageLimit));
    } catch (error) {
      if (isAbort(error, signal)) throw error;
      log.warn("could not measure the storage of pods", { error });
    }
  }
}

interface Turn {
  readonly pods: readonly Pod[];
  /** Which pods take long to measure, by UID. */
  readonly slow: Set<string>;
}

async function lookAtAll(deps: StorageWatchDeps, { pods, slow }: Turn, signal: AbortSignal): Promise<void> {
  const quick = pods.filter(({ metadata }) => !slow.has(metadata.uid));
  if (quick.length === 0 || (await lookWithin(deps, { pods: quick, limitMs: togetherMs }, signal))) return;
  for (const pod of quick) {
    if (await lookWithin(deps, { pods: [pod], limitMs: aloneMs }, signal)) continue;
    slow.add(pod.metadata.uid);
  }
}

async function lookAtSlow(deps: StorageWatchDeps, { pods, slow }: Turn, signal: AbortSignal): Promise<void> {
  const known = new Set(pods.map(({ metadata }) => metadata.uid));
  for (const uid of slow) if (!known.has(uid)) slow.delete(uid);
  for (const pod of pods) {
    if (!slow.has(pod.metadata.uid)) continue;
    if (await lookWithin(deps, { pods: [pod], limitMs: slowMs }, signal)) continue;
    deps.log.warn("could not measure the storage of a pod", { uid: pod.metadata.uid });
  }
}

/** Measures and evicts; false if it ran out of time. */
async function lookWithin(
  { clock, measure, evict }: StorageWatchDeps,
  { pods, limitMs }: { readonly pods: readonly Pod[]; readonly limitMs: number },
  signal: AbortSignal,
): Promise<boolean> {
  const usage = await withDeadline(limitMs, { clock, signal }, (limit) => measure(pods, limit));
  if (usage === outOfTime) return false;
  const measured = pods.flatMap((pod) => {
    const storage = usage.get(pod.metadata.uid);
    return storage ? [{ pod, storage }] : [];
  });
  for (const eviction of planStorageEvictions(measured)) evict(eviction);
  return true;
}

/** Adds the writable layers of containers, which the runtime measures. */
export function withWritableLayers(
  onDisk: ReadonlyMap<string, PodStorage>,
  stats: readonly ContainerStats[],
): Map<string, PodStorage> {
  const byPod = Map.groupBy(stats, (one) => one.labels[labels.podUid] ?? "");
  const add = (uid: string, storage: PodStorage): PodStorage => {
    const sums = new Map(storage.containers);
    for (const one of byPod.get(uid) ?? []) {
      const name = one.labels[labels.containerName] ?? one.name;
      sums.set(name, (sums.get(name) ?? 0) + one.writableLayerBytes);
    }
    return { ...storage, containers: sums };
  };
  return new Map(Array.from(onDisk, ([uid, storage]) => [uid, add(uid, storage)]));
}
