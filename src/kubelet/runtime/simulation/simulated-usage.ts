import type { ContainerStats, ContainerStatus, Labels } from "../runtime.ts";
import { noUsage } from "./nothing.ts";

/** How much CPU time a container had used when it was last asked. States share it, so it does not change. */
export interface UsedCpu {
  readonly nanoSeconds: number;
  readonly atMs: number;
}

/** What a container has used since it was started. */
export interface UsedByContainer {
  readonly labels: Labels;
  /** When it was measured. */
  readonly atMs: number;
  readonly startedMs: number;
  readonly cpuNanoSeconds: number;
  readonly memoryBytes: number;
}

/** Adds what it has used since it was last asked. */
export function addCpu(
  { status, cpu }: { readonly status: ContainerStatus; readonly cpu?: UsedCpu },
  cpuMillis: number,
  atMs: number,
): UsedCpu {
  const before = cpu ?? { nanoSeconds: 0, atMs: status.startedAt };
  return { nanoSeconds: before.nanoSeconds + (atMs - before.atMs) * cpuMillis * 1000, atMs };
}

export const usedBy = (
  { labels, startedAt }: ContainerStatus,
  { nanoSeconds, atMs }: UsedCpu,
  memoryBytes: number,
): UsedByContainer => ({ labels, atMs, startedMs: startedAt, cpuNanoSeconds: nanoSeconds, memoryBytes });

export const statsOf = (
  { id, name, labels }: ContainerStatus,
  { atMs, cpuNanoSeconds, memoryBytes }: UsedByContainer,
): ContainerStats => ({
  ...noUsage,
  ...{ containerId: id, name, labels, at: atMs, cpuNanoSeconds },
  memoryWorkingSetBytes: memoryBytes,
  memoryUsageBytes: memoryBytes,
});
