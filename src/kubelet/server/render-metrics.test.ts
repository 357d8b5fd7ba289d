import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "#api/core/pod.ts";
import { build } from "#testing/build.ts";
import { noCounts } from "./handle.ts";
import { renderContainerMetrics, renderKubeletMetrics, renderProbeMetrics } from "./render-metrics.ts";

const usage = { atMs: 2000, cpuNanoSeconds: 5e8, memoryUsageBytes: 3, memoryWorkingSetBytes: 2, memoryRssBytes: 1 };

test("renderKubeletMetrics() has pods, containers and evictions", () => {
  const counts = {
    ...noCounts,
    runningPods: 2,
    containers: new Map([["running", 3]]),
    evictions: new Map([["memory.available", 4]]),
  };
  const process = { startedMs: 1000, cpuSeconds: 1.5, residentBytes: 9 };
  const lines = renderKubeletMetrics({ nodeName: "n", counts, process }).split("\n");
  for (const line of [
    "kubelet_running_pods 2",
    'kubelet_running_containers{container_state="running"} 3',
    'kubelet_evictions{eviction_signal="memory.available"} 4',
    "process_start_time_seconds 1",
  ]) {
    assert(lines.includes(line), line);
  }
});

test("renderProbeMetrics() counts checks by their result", () => {
  const about = { namespace: "default", pod: "web", podUid: "u", container: "main" };
  const probe = { ...about, probe: "Liveness", result: "failed", count: 7 } as const;
  const text = renderProbeMetrics({ ...noCounts, probes: [probe] }, 0);
  const labels = 'container="main",namespace="default",pod="web",pod_uid="u",probe_type="Liveness",result="failed"';
  assert(text.includes(`prober_probe_total{${labels}} 7\n`), text);
});

test("renderContainerMetrics() names containers as the runtime does", () => {
  const pod = build(Pod, {
    metadata: { name: "web", uid: "u" },
    spec: { containers: [{ name: "main", image: "i" }] },
    status: {
      containerStatuses: [
        { name: "main", image: "i:1", imageID: "", ready: true, restartCount: 0, containerID: "containerd://abc" },
      ],
    },
  });
  const container = { name: "main", startedMs: 1000, usage };
  const pods = [
    { name: "web", namespace: "default", uid: "u", startedMs: 0, usage, processes: 5, containers: [container] },
  ];
  const stats = { name: "n", startedMs: 0, memoryCapacityBytes: 100, usage, pods };
  const lines = renderContainerMetrics(stats, [pod], 2).split("\n");
  const labels = 'container="main",id="/kubepods/podu/abc",image="i:1",name="abc",namespace="default",pod="web"';
  for (const line of [
    `container_cpu_usage_seconds_total{${labels},cpu="total"} 0.5`,
    `container_start_time_seconds{${labels}} 1`,
    'container_processes{container="",id="/kubepods/podu",image="",name="",namespace="default",pod="web"} 5',
    'container_memory_rss{container="",id="/",image="",name="",namespace="",pod=""} 1',
    "machine_cpu_cores 2",
  ]) {
    assert(lines.includes(line), line);
  }
});
