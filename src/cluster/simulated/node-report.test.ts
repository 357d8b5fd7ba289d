import assert from "node:assert/strict";
import { test } from "node:test";
import { labels } from "#kubelet/config/runtime-labels.ts";
import { createReport } from "./node-report.ts";

const used = (pod: string, container: string, cpuNanoSeconds: number) => ({
  labels: { [labels.podNamespace]: "shop", [labels.podName]: pod, [labels.containerName]: container },
  ...{ atMs: 9_999, startedMs: 1_234, cpuNanoSeconds, memoryBytes: 100 },
});

test("createReport() has each container, and the node as their sum", () => {
  const { node, pods } = createReport([used("web", "app", 1), used("web", "proxy", 2), used("db", "main", 4)], 10_000);

  assert.deepEqual(node, { atMs: 10_000, startedMs: 0, cpuNanoSeconds: 7, memoryBytes: 300 });
  assert.deepEqual([...pods.keys()], ["shop/web", "shop/db"]);
  // The time of the start is in whole seconds, as in the status of a pod.
  const proxy = { atMs: 9_999, startedMs: 1_000, cpuNanoSeconds: 2, memoryBytes: 100 };
  assert.deepEqual(pods.get("shop/web")?.get("proxy"), proxy);
});
