import { type NodeReport, type UsagePoint } from "./resource-metrics.ts";

/** How often nodes are asked. */
export const resolutionMs = 15_000;
/** A container that is younger has not settled yet, so its average since the start says little. */
const minFreshMs = 10_000;

/** The last two measurements of a container or a node. There may be only one yet. */
export interface UsagePair {
  readonly last: UsagePoint;
  readonly previous?: UsagePoint;
}

/** What is remembered of one node. */
export interface NodeHistory {
  readonly node: UsagePair | undefined;
  /** By `namespace/name`, and by the name of the container. */
  readonly pods: ReadonlyMap<string, ReadonlyMap<string, UsagePair>>;
}

/** Adds a report to what is remembered, and forgets what it does not mention. */
export function planHistory(known: NodeHistory | undefined, { node, pods }: NodeReport): NodeHistory {
  const next = new Map<string, ReadonlyMap<string, UsagePair>>();
  for (const [key, containers] of pods) {
    const before = known?.pods.get(key);
    const pairs = new Map<string, UsagePair>();
    for (const [name, point] of containers) pairs.set(name, containerPair(before?.get(name), point));
    next.set(key, pairs);
  }
  return { node: node && pairOf(known?.node, node), pods: next };
}

function containerPair(known: UsagePair | undefined, point: UsagePoint): UsagePair {
  const ageMs = point.atMs - point.startedMs;
  if (ageMs >= minFreshMs && ageMs < resolutionMs) {
    return { last: point, previous: { ...point, atMs: point.startedMs, cpuNanoSeconds: 0 } };
  }
  // A container that was started after the last measurement has nothing to do with it.
  return point.startedMs < (known?.last.atMs ?? 0) ? pairOf(known, point) : { last: point };
}

function pairOf(known: UsagePair | undefined, point: UsagePoint): UsagePair {
  if (!known) return { last: point };
  if (point.atMs > known.last.atMs) return { last: point, previous: known.last };
  // The node has not measured again since.
  if (known.previous && known.previous.atMs < point.atMs) return { last: point, previous: known.previous };
  return { last: point };
}

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
