import assert from "node:assert/strict";
import { test } from "node:test";
import { decideRestart } from "#kubelet/pod/plan/restart-backoff.ts";
import { simulatedMachine } from "./machine.ts";
import { conditionEvents, type NodeStatusInput, nodeStatus } from "./node-status.ts";

const now = Date.UTC(2026, 0, 1, 8);
const fine = [
  { type: "RuntimeReady", status: true, reason: "", message: "" },
  { type: "NetworkReady", status: true, reason: "", message: "" },
];
const input = (more: Partial<NodeStatusInput> = {}): NodeStatusInput => ({
  machine: simulatedMachine("node-1", "192.0.2.1"),
  kubeletVersion: "v1.36.4",
  kubeletPort: 10250,
  runtime: { name: "containerd", version: "1.6.20", apiVersion: "v1" },
  runtimeConditions: fine,
  pressure: [],
  images: [],
  devices: new Map([["example.com/gpu", { capacity: 2, allocatable: 1 }]]),
  previous: {},
  now,
  ...more,
});
const ready = (status: ReturnType<typeof nodeStatus>) => status.conditions?.find(({ type }) => type === "Ready");

test("nodeStatus() describes the machine", () => {
  const images = [
    { id: "1", tags: ["small:1"], digests: [], sizeBytes: 1, username: "", pinned: false },
    { id: "2", tags: ["large:1"], digests: ["large@sha256:2"], sizeBytes: 2, username: "", pinned: false },
  ];

  const status = nodeStatus(input({ images }));

  assert.equal(status.nodeInfo.containerRuntimeVersion, "containerd://1.6.20");
  assert.deepEqual(status.addresses, [
    { type: "InternalIP", address: "192.0.2.1" },
    { type: "Hostname", address: "node-1" },
  ]);
  assert.deepEqual([status.capacity?.["example.com/gpu"], status.allocatable?.["example.com/gpu"]], ["2", "1"]);
  assert.deepEqual(status.images?.[0], { names: ["large@sha256:2", "large:1"], sizeBytes: 2 });
  assert.equal(status.daemonEndpoints.kubeletEndpoint.Port, 10250);
});

test("nodeStatus() lets pods have the extended resources in the capacity, and no others", () => {
  const previous = { capacity: { "example.com/dongle": "4", cpu: "1" }, allocatable: { "example.com/gone": "1" } };

  const { capacity, allocatable } = nodeStatus(input({ previous }));

  assert.deepEqual([capacity?.["example.com/dongle"], allocatable?.["example.com/dongle"]], ["4", "4"]);
  assert.equal(allocatable?.["example.com/gone"], undefined);
  assert.notEqual(capacity?.cpu, "1");
});

test("nodeStatus() is not ready without a network, and says why", () => {
  const message = "Network plugin returns error: cni plugin not initialized";
  const broken = [
    fine[0] ?? [],
    { type: "NetworkReady", status: false, reason: "NetworkPluginNotReady", message },
  ].flat();

  const before = nodeStatus(input({ runtimeConditions: broken }));
  const after = nodeStatus(input({ previous: before, now: now + 60_000 }));

  assert.equal(
    ready(before)?.message,
    `container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:${message}`,
  );
  assert.deepEqual([ready(before)?.status, ready(after)?.status], ["False", "True"]);
  assert.equal(ready(after)?.lastTransitionTime, "2026-01-01T08:01:00Z");
  assert.deepEqual(conditionEvents(before.conditions ?? [], after.conditions ?? []), ["NodeReady"]);
  assert.equal(ready(nodeStatus(input({ runtimeConditions: [] })))?.message, "container runtime is down");
});

test("nodeStatus() shows pressure", () => {
  const before = nodeStatus(input());
  const after = nodeStatus(input({ previous: before, pressure: ["MemoryPressure", "PIDPressure"], now: now + 1000 }));

  const shown = after.conditions?.map(({ type, status, reason }) => [type, status, reason].join(" ")).slice(0, 3);
  assert.deepEqual(shown, [
    "MemoryPressure True KubeletHasInsufficientMemory",
    "DiskPressure False KubeletHasNoDiskPressure",
    "PIDPressure True KubeletHasInsufficientPID",
  ]);
  assert.deepEqual(conditionEvents(before.conditions ?? [], after.conditions ?? []), [
    "NodeHasInsufficientMemory",
    "NodeHasInsufficientPID",
  ]);
});

const minute = 60_000;
const restarts = [
  { name: "immediately the first time", before: undefined, finishedAt: 0, now: 0, at: "now", delayMs: 10_000 },
  {
    name: "after the delay",
    before: { delayMs: 10_000, startedAt: 0 },
    finishedAt: 5000,
    now: 6000,
    at: 15_000,
    delayMs: 10_000,
  },
  {
    name: "when the delay is over, and doubles it",
    before: { delayMs: 10_000, startedAt: 0 },
    finishedAt: 5000,
    now: 15_000,
    at: "now",
    delayMs: 20_000,
  },
  {
    name: "never later than five minutes",
    before: { delayMs: 300_000, startedAt: 0 },
    finishedAt: 0,
    now: 300_000,
    at: "now",
    delayMs: 300_000,
  },
  {
    name: "immediately after ten minutes without a failure",
    before: { delayMs: 300_000, startedAt: 0 },
    finishedAt: 11 * minute,
    now: 11 * minute,
    at: "now",
    delayMs: 10_000,
  },
] as const;
for (const { name, before, finishedAt, now: at, ...expected } of restarts) {
  test(`decideRestart() restarts ${name}`, () => {
    const decision = decideRestart(before, { finishedAt, now: at });

    assert.deepEqual([decision.at, decision.backoff.delayMs], [expected.at, expected.delayMs]);
  });
}
