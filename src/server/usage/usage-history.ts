import { type NodeReport, type UsagePoint } from "./resource-metrics.ts";

/** How often nodes are asked. */
export const resolutionMs = 15_000;
/** A container that is younger has not settled yet, so its average since the start says little. */
const minFreshMs = 10_000;

/** The last two measurements of a container or a node. There may be only one yet. */
export interface UsagePair {
  readonly last: UsagePoint;
  readonly previous?: UsagePoint | undefined;
}

/**
 * What is remembered of one node. A report changes what the one before it left, in place: new objects for it would live for
 * half a minute, which is long enough to be moved among those that only a full collection frees.
 */
export class NodeHistory {
  readonly #node = new Measurements();
  /** By `namespace/name`, and by the name of the container. */
  readonly #pods = new Map<string, Map<string, Measurements>>();

  get node(): UsagePair | undefined {
    return this.#node.pair;
  }

  pod(key: string): ReadonlyMap<string, UsagePair> | undefined {
    return this.#pods.get(key);
  }

  /** Adds a report, and forgets what it does not mention. */
  take({ node, pods }: NodeReport): void {
    if (node) this.#node.take(node, planPrevious(this.node, node));
    else this.#node.forget();
    for (const key of this.#pods.keys()) if (!pods.has(key)) this.#pods.delete(key);
    for (const [key, points] of pods) {
      const containers = this.#pods.get(key) ?? new Map<string, Measurements>();
      this.#pods.set(key, containers);
      for (const name of containers.keys()) if (!points.has(name)) containers.delete(name);
      for (const [name, point] of points) {
        const measurements = containers.get(name) ?? new Measurements();
        containers.set(name, measurements);
        measurements.take(point, planContainerPrevious(measurements.pair, point));
      }
    }
  }
}

/** What a new measurement is compared with: the start of the container, the last one, the one before it, or nothing. */
type Previous = "start" | "last" | "previous" | "nothing";

function planContainerPrevious(known: UsagePair | undefined, point: UsagePoint): Previous {
  const ageMs = point.atMs - point.startedMs;
  if (ageMs >= minFreshMs && ageMs < resolutionMs) return "start";
  // A container that was started after the last measurement has nothing to do with it.
  return point.startedMs < (known?.last.atMs ?? 0) ? planPrevious(known, point) : "nothing";
}

function planPrevious(known: UsagePair | undefined, point: UsagePoint): Previous {
  if (!known) return "nothing";
  if (point.atMs > known.last.atMs) return "last";
  // The node has not measured again since.
  return known.previous && known.previous.atMs < point.atMs ? "previous" : "nothing";
}

/** The last two measurements, in two objects that are used again and again. */
class Measurements implements UsagePair {
  #last = emptyPoint();
  #previous = emptyPoint();
  #count = 0;

  get pair(): UsagePair | undefined {
    return this.#count > 0 ? this : undefined;
  }
  get last(): UsagePoint {
    return this.#last;
  }
  get previous(): UsagePoint | undefined {
    return this.#count > 1 ? this.#previous : undefined;
  }

  take(point: UsagePoint, previous: Previous): void {
    if (previous === "last") [this.#last, this.#previous] = [this.#previous, this.#last];
    Object.assign(this.#last, point);
    if (previous === "start") Object.assign(this.#previous, point, { atMs: point.startedMs, cpuNanoSeconds: 0 });
    this.#count = previous === "nothing" ? 1 : 2;
  }

  forget(): void {
    this.#count = 0;
  }
}

const emptyPoint = (): UsagePoint => ({ atMs: 0, startedMs: 0, cpuNanoSeconds: 0, memoryBytes: 0 });

/** What was used in a window of time. */
export interface MeasuredUsage {
  readonly atMs: number;
  readonly windowMs: number;
  readonly cpuNanoCores: number;
  readonly memoryBytes: number;
}

/** Undefined if there is no rate: after the first measurement, or if a counter has fallen. */
export function usageOf({ last, previous }: UsagePair): MeasuredUsage | undefined {
  if (!previous || last.startedMs < previous.startedMs || last.cpuNanoSeconds < previous.cpuNanoSeconds)
    return undefined;
  const windowMs = last.atMs - previous.atMs;
  const cpuNanoCores = Math.floor(((last.cpuNanoSeconds - previous.cpuNanoSeconds) / windowMs) * 1000);
  return { atMs: last.atMs, windowMs, cpuNanoCores, memoryBytes: Math.floor(last.memoryBytes) };
}

export interface PodUsage extends Pick<MeasuredUsage, "atMs" | "windowMs"> {
  readonly containers: ReadonlyMap<string, MeasuredUsage>;
}

/** Undefined until every container has been measured twice; the time is that of the oldest measurement. */
export function podUsageOf(pairs: ReadonlyMap<string, UsagePair> | undefined): PodUsage | undefined {
  if (!pairs) return undefined;
  const containers = new Map<string, MeasuredUsage>();
  let oldest: MeasuredUsage | undefined;
  for (const [name, pair] of pairs) {
    if (!pair.previous) return undefined;
    const usage = usageOf(pair);
    if (!usage) continue;
    containers.set(name, usage);
    if (!oldest || usage.atMs < oldest.atMs) oldest = usage;
  }
  return oldest && { atMs: oldest.atMs, windowMs: oldest.windowMs, containers };
}
