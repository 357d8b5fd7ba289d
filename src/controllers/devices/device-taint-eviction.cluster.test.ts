import assert from "node:assert/strict";
import { test } from "node:test";
import { Event } from "#api/core/event.ts";
import { Pod } from "#api/core/pod.ts";
import { DeviceClass } from "#api/devices/device-class.ts";
import { type DeviceTaint, type DeviceToleration } from "#api/devices/device-taint.ts";
import { ResourceClaim } from "#api/devices/resource-claim.ts";
import { ResourceSlice } from "#api/devices/resource-slice.ts";
import { findCondition } from "#api/meta/condition.ts";
import { startCluster, type TestCluster } from "#testing/start-cluster.ts";

const namespace = "default";
const driver = "gpu.example.com";
const broken = { key: "broken", effect: "NoExecute" } as const;
const pool = (generation: number) => ({ name: "node-1", generation, resourceSliceCount: 1 });

const slice = (name: string, generation: number, taints: Record<string, Partial<DeviceTaint>[]> = {}) => ({
  metadata: { name },
  spec: {
    driver,
    pool: pool(generation),
    nodeName: "node-1",
    devices: ["gpu-0", "gpu-1"].map((device) => ({ name: device, taints: taints[device] ?? [] })),
  },
});

/** A node with two GPUs, and a pod for each: one whose claim tolerates taints for a minute, and one that does not. */
async function startWithPods(): Promise<TestCluster> {
  const cluster = await startCluster({ nodes: 1 });
  const { client } = cluster;
  await client.create(DeviceClass, {
    metadata: { name: "gpu" },
    spec: { selectors: [{ cel: { expression: `device.driver == "${driver}"` } }] },
  });
  await client.create(ResourceSlice, slice("first", 1));
  const patience: DeviceToleration = { operator: "Exists", effect: "NoExecute", tolerationSeconds: 60 };
  for (const [name, tolerations] of Object.entries({ patient: [patience], other: [] })) {
    const exactly = { deviceClassName: "gpu", tolerations };
    const devices = { requests: [{ name: "gpu", exactly }] };
    await client.create(ResourceClaim, { metadata: { name, namespace }, spec: { devices } });
    await client.create(Pod, {
      metadata: { name, namespace },
      spec: {
        containers: [{ name: "main", image: "web:1", resources: { claims: [{ name: "gpu" }] } }],
        resourceClaims: [{ name: "gpu", resourceClaimName: name }],
      },
    });
    await cluster.settle();
  }
  return cluster;
}

const put = (cluster: TestCluster, object: ReturnType<typeof slice>) => cluster.apply(ResourceSlice, object);
const names = async (cluster: TestCluster) => (await cluster.list(Pod)).map(({ metadata }) => metadata.name);
const said = async (cluster: TestCluster) =>
  (await cluster.list(Event))
    .filter(({ reason }) => reason === "DeviceTaintManagerEviction")
    .map(({ involvedObject, message }) => `${involvedObject.name}: ${message}`)
    .sort();

test("a NoExecute taint of a device evicts its pod at once, or when its claim no longer tolerates it", async () => {
  await using cluster = await startWithPods();
  const reasons = new Set<string>();
  cluster.informers.of(Pod).subscribe(({ object: { metadata, status } }) => {
    const target = findCondition(status.conditions, "DisruptionTarget");
    if (target) reasons.add(`${metadata.name} ${target.reason}`);
  });

  await put(cluster, slice("first", 1, { "gpu-0": [broken], "gpu-1": [broken] }));
  await cluster.clock.advance(40_000);
  const early = await names(cluster);
  await cluster.clock.advance(60_000);

  assert.deepEqual([early, await names(cluster)], [["patient"], []]);
  assert.deepEqual([...reasons], ["other DeletionByDeviceTaintManager", "patient DeletionByDeviceTaintManager"]);
  assert.deepEqual(await said(cluster), ["other: Marking for deletion", "patient: Marking for deletion"]);
});

test("a pod stays if the taint of its device is taken back in time, or is in a slice that does not count any more", async () => {
  await using cluster = await startWithPods();

  await put(cluster, slice("first", 1, { "gpu-0": [broken] }));
  await cluster.clock.advance(30_000);
  await put(cluster, slice("first", 1));
  await cluster.clock.advance(90_000);
  const afterRemoval = await names(cluster);
  await put(cluster, slice("first", 1, { "gpu-0": [broken] }));
  await cluster.clock.advance(30_000);
  await put(cluster, slice("second", 2));
  await cluster.clock.advance(90_000);

  assert.deepEqual(
    [afterRemoval, await names(cluster)],
    [
      ["other", "patient"],
      ["other", "patient"],
    ],
  );
  assert.deepEqual(await said(cluster), ["patient: Cancelling deletion"]);
});

test("a taint that counts again, because the newer slice is gone, evicts the pod", async () => {
  await using cluster = await startWithPods();
  await put(cluster, slice("second", 2));
  await put(cluster, slice("first", 1, { "gpu-1": [broken] }));
  await cluster.clock.advance(30_000);
  const before = await names(cluster);

  await cluster.client.delete(ResourceSlice, { name: "second" });
  await cluster.clock.advance(40_000);

  assert.deepEqual([before, await names(cluster)], [["other", "patient"], ["patient"]]);
});
