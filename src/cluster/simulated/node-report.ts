import { labels } from "#kubelet/config/runtime-labels.ts";
import type { UsedByContainer } from "#kubelet/runtime/simulation/simulated-usage.ts";
import type { NodeReport, UsagePoint } from "#server/usage/resource-metrics.ts";

/** What a simulated node reports about itself and its pods: the node uses what its containers use. */
export function createReport(used: readonly UsedByContainer[], nowMs: number): NodeReport {
  const pods = new Map<string, Map<string, UsagePoint>>();
  const node = { atMs: nowMs, startedMs: 0, cpuNanoSeconds: 0, memoryBytes: 0 };
  for (const { labels: own, atMs, startedMs, cpuNanoSeconds, memoryBytes } of used) {
    const key = `${own[labels.podNamespace]}/${own[labels.podName]}`;
    const containers = pods.get(key) ?? new Map<string, UsagePoint>();
    pods.set(key, containers);
    containers.set(own[labels.containerName] ?? "", {
      atMs,
      // As in the status of the pod, from which a kubelet takes it.
      startedMs: Math.floor(startedMs / 1000) * 1000,
      cpuNanoSeconds,
      memoryBytes,
    });
    node.cpuNanoSeconds += cpuNanoSeconds;
    node.memoryBytes += memoryBytes;
  }
  return { node, pods };
}
