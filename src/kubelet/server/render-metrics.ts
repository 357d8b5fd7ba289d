import type { Pod } from "#api/core/pod.ts";
import { Metrics } from "#lib/process/metrics.ts";
import type { KubeletCounts, NodeStats, Usage } from "./handle.ts";

export interface KubeletMetricsInput {
  readonly nodeName: string;
  readonly counts: KubeletCounts;
  /** Of the process that the kubelet runs in. */
  readonly process: { readonly startedMs: number; readonly cpuSeconds: number; readonly residentBytes: number };
}

type Sample = readonly [labels: readonly string[], value: number];
type Kind = "counter" | "gauge";

function familyOf(metrics: Metrics, type: Kind) {
  return (name: string, help: string, labels: readonly string[], samples: readonly Sample[]): void => {
    if (samples.length > 0) metrics.read(name, help, { type, labels, values: () => samples });
  };
}

/** The body of `/metrics`: the kubelet itself, with upstream's names. */
export function renderKubeletMetrics({ nodeName, counts, process }: KubeletMetricsInput): string {
  const metrics = new Metrics();
  const gauge = familyOf(metrics, "gauge");
  const counter = familyOf(metrics, "counter");
  const one = (value: number): Sample[] => [[[], value]];
  gauge("kubelet_node_name", "The node's name.", ["node"], [[[nodeName], 1]]);
  gauge("kubelet_desired_pods", "Pods that the kubelet knows.", [], one(counts.pods));
  gauge("kubelet_running_pods", "Pods that have a running sandbox.", [], one(counts.runningPods));
  const containers = Array.from(counts.containers, ([state, count]): Sample => [[state], count]);
  gauge("kubelet_running_containers", "Containers by their state.", ["container_state"], containers);
  const evictions = Array.from(counts.evictions, ([signal, count]): Sample => [[signal], count]);
  counter("kubelet_evictions", "Pods that were evicted, by signal.", ["eviction_signal"], evictions);
  counter("process_cpu_seconds_total", "CPU time of the process.", [], one(process.cpuSeconds));
  gauge("process_resident_memory_bytes", "Memory of the process.", [], one(process.residentBytes));
  gauge("process_start_time_seconds", "When the process was started.", [], one(process.startedMs / 1000));
  return metrics.render();
}

/** The body of `/metrics/probes`. */
export function renderProbeMetrics({ probes }: KubeletCounts, startedMs: number): string {
  const metrics = new Metrics();
  const labels = ["container", "namespace", "pod", "pod_uid", "probe_type", "result"];
  const samples = probes.map(({ container, namespace, pod, podUid, probe, result, count }): Sample => {
    return [[container, namespace, pod, podUid, probe, result], count];
  });
  familyOf(metrics, "gauge")(
    "process_start_time_seconds",
    "When the process was started.",
    [],
    [[[], startedMs / 1000]],
  );
  familyOf(metrics, "counter")("prober_probe_total", "Checks of containers, by result.", labels, samples);
  return metrics.render();
}

interface Subject {
  /** container, id, image, name, namespace, pod */
  readonly labels: readonly string[];
  readonly usage: Usage;
  readonly diskBytes?: number;
  readonly startedMs?: number;
  readonly processes?: number | undefined;
}
const subjectLabels = ["container", "id", "image", "name", "namespace", "pod"];

type Read = (subject: Subject) => number | undefined;

const subjectGauges: readonly [name: string, help: string, read: Read][] = [
  ["container_memory_usage_bytes", "Memory, with caches.", ({ usage }) => usage.memoryUsageBytes],
  [
    "container_memory_working_set_bytes",
    "Memory that cannot easily be given back.",
    ({ usage }) => usage.memoryWorkingSetBytes,
  ],
  ["container_memory_rss", "Memory without caches.", ({ usage }) => usage.memoryRssBytes],
  ["container_last_seen", "When it was measured, in seconds since the epoch.", ({ usage }) => usage.atMs / 1000],
  ["container_fs_usage_bytes", "Size of the writable layer.", ({ diskBytes }) => diskBytes],
  [
    "container_start_time_seconds",
    "When it was started, in seconds since the epoch.",
    ({ startedMs }) => startedMs && startedMs / 1000,
  ],
  ["container_processes", "Number of processes.", ({ processes }) => processes],
];

/** The body of `/metrics/cadvisor`: the node, pods and containers, with the names of cAdvisor. */
export function renderContainerMetrics(stats: NodeStats, pods: readonly Pod[], cores: number): string {
  const metrics = new Metrics();
  const subjects = subjectsOf(stats, pods);
  const gauge = familyOf(metrics, "gauge");
  const cpu = subjects.map(({ labels, usage }): Sample => [[...labels, "total"], usage.cpuNanoSeconds / 1e9]);
  familyOf(metrics, "counter")("container_cpu_usage_seconds_total", "CPU time.", [...subjectLabels, "cpu"], cpu);
  for (const [name, help, read] of subjectGauges) {
    const samples = subjects.flatMap((subject): Sample[] => {
      const value = read(subject);
      return value === undefined ? [] : [[subject.labels, value]];
    });
    gauge(name, help, subjectLabels, samples);
  }
  gauge("machine_cpu_cores", "Processors of the machine.", [], [[[], cores]]);
  gauge("machine_memory_bytes", "Memory of the machine.", [], [[[], stats.memoryCapacityBytes]]);
  return metrics.render();
}

function subjectsOf(stats: NodeStats, pods: readonly Pod[]): Subject[] {
  const byUid = new Map(pods.map((pod) => [pod.metadata.uid, pod]));
  const node: Subject[] = stats.usage ? [{ labels: ["", "/", "", "", "", ""], usage: stats.usage }] : [];
  const inPods = stats.pods.flatMap((pod): Subject[] => {
    const { namespace, name, uid, usage, processes, startedMs } = pod;
    const id = `/kubepods/pod${uid}`;
    const { status } = byUid.get(uid) ?? {};
    const all = [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])];
    const containers = pod.containers.map((container): Subject => {
      const known = all.find((one) => one.name === container.name);
      const containerId = known?.containerID?.split("://")[1] ?? "";
      const labels = [container.name, `${id}/${containerId}`, known?.image ?? "", containerId, namespace, name];
      const disk = container.rootfs ? { diskBytes: container.rootfs.usedBytes } : {};
      return { labels, usage: container.usage, startedMs: container.startedMs, ...disk };
    });
    return [
      ...(usage ? [{ labels: ["", id, "", "", namespace, name], usage, processes, startedMs }] : []),
      ...containers,
    ];
  });
  return [...node, ...inPods];
}
