import { timestamp } from "#lib/async/clock.ts";
import { escapeLabel } from "#lib/process/metrics.ts";
import type { ContainerUsage, Filesystem, NodeStats, PodUsage, Usage } from "./handle.ts";

/** The CPU rate between the last two samples; the kernel counts only totals. */
export class CpuRates {
  #last = new Map<string, { readonly usage: Usage; readonly nanoCores: number | undefined }>();
  #next = new Map<string, { readonly usage: Usage; readonly nanoCores: number | undefined }>();

  /** Undefined for the first sample. */
  rateOf(key: string, usage: Usage): number | undefined {
    const last = this.#last.get(key);
    const elapsedMs = last ? usage.atMs - last.usage.atMs : 0;
    const used = last ? usage.cpuNanoSeconds - last.usage.cpuNanoSeconds : 0;
    // Two samples at the same time say nothing new; a total that fell belongs to a new container.
    const nanoCores = last && elapsedMs > 0 && used >= 0 ? Math.round((used / elapsedMs) * 1000) : last?.nanoCores;
    this.#next.set(key, elapsedMs > 0 || !last ? { usage, nanoCores } : last);
    return nanoCores;
  }

  /** Call this after a full collection: entries that were not seen in it are forgotten. */
  turn(): void {
    this.#last = this.#next;
    this.#next = new Map();
  }
}

/** The body of `/stats/summary`. */
export function renderSummary(stats: NodeStats, rates: CpuRates): unknown {
  const summary = {
    node: {
      nodeName: stats.name,
      startTime: timestamp(stats.startedMs),
      ...(stats.usage ? usageForm("node", stats.usage, rates) : {}),
      ...(stats.usage ? { memory: nodeMemory(stats.usage, stats.memoryCapacityBytes) } : {}),
      ...(stats.filesystem ? { fs: filesystemForm(stats.filesystem) } : {}),
      ...(stats.imageFilesystem ? { runtime: { imageFs: filesystemForm(stats.imageFilesystem) } } : {}),
    },
    pods: stats.pods.map((pod) => podForm(pod, stats, rates)),
  };
  rates.turn();
  return summary;
}

function podForm(pod: PodUsage, stats: NodeStats, rates: CpuRates): unknown {
  const { name, namespace, uid, usage } = pod;
  const written = pod.containers.reduce((sum, { rootfs }) => sum + (rootfs?.usedBytes ?? 0), 0);
  const storage = stats.filesystem && { ...stats.filesystem, usedBytes: written, inodesUsed: 0 };
  return {
    podRef: { name, namespace, uid },
    startTime: timestamp(pod.startedMs),
    containers: pod.containers.map((container) => containerForm(uid, container, rates)),
    ...(usage ? usageForm(uid, usage, rates) : {}),
    ...(pod.processes === undefined ? {} : { process_stats: { process_count: pod.processes } }),
    ...(storage ? { "ephemeral-storage": filesystemForm(storage) } : {}),
  };
}

const containerForm = (podUid: string, container: ContainerUsage, rates: CpuRates): unknown => ({
  name: container.name,
  startTime: timestamp(container.startedMs),
  ...usageForm(`${podUid}/${container.name}`, container.usage, rates),
  ...(container.rootfs ? { rootfs: filesystemForm(container.rootfs) } : {}),
});

function usageForm(key: string, usage: Usage, rates: CpuRates) {
  const time = timestamp(usage.atMs);
  const nanoCores = rates.rateOf(key, usage);
  return {
    cpu: {
      time,
      ...(nanoCores === undefined ? {} : { usageNanoCores: nanoCores }),
      usageCoreNanoSeconds: usage.cpuNanoSeconds,
    },
    memory: {
      time,
      usageBytes: usage.memoryUsageBytes,
      workingSetBytes: usage.memoryWorkingSetBytes,
      rssBytes: usage.memoryRssBytes,
      ...(usage.pageFaults === undefined ? {} : { pageFaults: usage.pageFaults }),
      ...(usage.majorPageFaults === undefined ? {} : { majorPageFaults: usage.majorPageFaults }),
    },
  };
}

const nodeMemory = (usage: Usage, capacityBytes: number) => ({
  time: timestamp(usage.atMs),
  availableBytes: Math.max(0, capacityBytes - usage.memoryWorkingSetBytes),
  usageBytes: usage.memoryUsageBytes,
  workingSetBytes: usage.memoryWorkingSetBytes,
  rssBytes: usage.memoryRssBytes,
});

const filesystemForm = ({ atMs, ...counts }: Filesystem) => ({ time: timestamp(atMs), ...counts });

interface Sample {
  /** As text, because several families have the same. */
  readonly labels: string;
  readonly value: number;
  readonly atMs?: number;
}

/** The body of `/metrics/resource`, which autoscalers and `kubectl top` read. */
export function renderResourceMetrics(stats: NodeStats): string {
  const node = stats.usage ? [{ labels: "", usage: stats.usage }] : [];
  const pods: { labels: string; usage: Usage }[] = [];
  const containers: { labels: string; usage: Usage; startedMs: number }[] = [];
  for (const pod of stats.pods) {
    const place = `namespace="${escapeLabel(pod.namespace)}",pod="${escapeLabel(pod.name)}"`;
    if (pod.usage) pods.push({ labels: `{${place}}`, usage: pod.usage });
    for (const { name, usage, startedMs } of pod.containers) {
      containers.push({ labels: `{container="${escapeLabel(name)}",${place}}`, usage, startedMs });
    }
  }
  const cpu = ({ labels, usage }: { labels: Sample["labels"]; usage: Usage }): Sample => {
    return { labels, value: usage.cpuNanoSeconds / 1e9, atMs: usage.atMs };
  };
  const memory = ({ labels, usage }: { labels: Sample["labels"]; usage: Usage }): Sample => {
    return { labels, value: usage.memoryWorkingSetBytes, atMs: usage.atMs };
  };
  const starts = containers.map(({ labels, startedMs }) => ({ labels, value: startedMs / 1000 }));
  return [
    family("container_cpu_usage_seconds_total", "counter", containers.map(cpu)),
    family("container_memory_working_set_bytes", "gauge", containers.map(memory)),
    family("container_start_time_seconds", "gauge", starts),
    family("node_cpu_usage_seconds_total", "counter", node.map(cpu)),
    family("node_memory_working_set_bytes", "gauge", node.map(memory)),
    family("pod_cpu_usage_seconds_total", "counter", pods.map(cpu)),
    family("pod_memory_working_set_bytes", "gauge", pods.map(memory)),
    family("resource_scrape_error", "gauge", [{ labels: "", value: 0 }]),
  ].join("");
}

const help: Readonly<Record<string, string>> = {
  container_cpu_usage_seconds_total: "CPU time that a container has used.",
  container_memory_working_set_bytes: "Memory that a container uses and cannot easily give back.",
  container_start_time_seconds: "When a container was started, in seconds since the epoch.",
  node_cpu_usage_seconds_total: "CPU time that the node has used.",
  node_memory_working_set_bytes: "Memory that the node uses and cannot easily give back.",
  pod_cpu_usage_seconds_total: "CPU time that a pod has used.",
  pod_memory_working_set_bytes: "Memory that a pod uses and cannot easily give back.",
  resource_scrape_error: "1 if the metrics could not be collected.",
};

function family(name: string, type: string, samples: readonly Sample[]): string {
  if (samples.length === 0) return "";
  let text = `# HELP ${name} ${help[name]}\n# TYPE ${name} ${type}\n`;
  for (const { labels, value, atMs } of samples) text += `${name}${labels} ${value}${atMs ? ` ${atMs}` : ""}\n`;
  return text;
}
