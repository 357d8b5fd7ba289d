import assert from "node:assert/strict";
import { test } from "node:test";
import { Namespace } from "#api/core/namespace.ts";
import { Pod } from "#api/core/pod.ts";
import { ResourceQuota } from "#api/core/resource-quota.ts";
import { DeviceClass } from "#api/devices/device-class.ts";
import { ResourceClaim } from "#api/devices/resource-claim.ts";
import { ResourceSlice } from "#api/devices/resource-slice.ts";
import { startCluster, type TestCluster } from "#testing/start-cluster.ts";

const namespace = "shop";
const quotaRef = { namespace, name: "few" };
const explicit = "requests.example.com/gpu";
const implicit = "requests.deviceclass.resource.kubernetes.io/gpu";

/** A node with four GPUs, a class for them, and a namespace with a quota. */
async function startWithGpus(hard: Record<string, string>): Promise<TestCluster> {
  const cluster = await startCluster({ nodes: 1 });
  const { client } = cluster;
  const driver = "gpu.example.com";
  await client.create(DeviceClass, {
    metadata: { name: "gpu" },
    spec: {
      selectors: [{ cel: { expression: `device.driver == "${driver}"` } }],
      extendedResourceName: "example.com/gpu",
    },
  });
  const devices = [0, 1, 2, 3].map((index) => ({ name: `gpu-${index}` }));
  const pool = { name: "node-1", generation: 1, resourceSliceCount: 1 };
  await client.create(ResourceSlice, {
    metadata: { name: "node-1" },
    spec: { driver, pool, nodeName: "node-1", devices },
  });
  await cluster.apply(Namespace, { metadata: { name: namespace } });
  await cluster.settle();
  await client.create(ResourceQuota, { metadata: quotaRef, spec: { hard } });
  await cluster.settle();
  return cluster;
}

const usedIn = async ({ client }: TestCluster) => (await client.get(ResourceQuota, quotaRef)).status.used;

const createPod = ({ client }: TestCluster, name: string, gpus: string) =>
  client.create(Pod, {
    metadata: { name, namespace },
    spec: {
      restartPolicy: "Never",
      containers: [{ name: "main", image: "web:1", resources: { limits: { "example.com/gpu": gpus } } }],
    },
  });

const createClaim = ({ client }: TestCluster, name: string, count: number) =>
  client.create(ResourceClaim, {
    metadata: { name, namespace },
    spec: { devices: { requests: [{ name: "gpus", exactly: { deviceClassName: "gpu", count } }] } },
  });

test("pods that get devices for an extended resource pay once, and claims share the limit with them", async () => {
  await using cluster = await startWithGpus({ [explicit]: "3", [implicit]: "9" });

  await createPod(cluster, "a", "2");
  await cluster.settle();
  const [claim] = await cluster.list(ResourceClaim, namespace);
  assert.equal((await cluster.client.get(Pod, { namespace, name: "a" })).status.phase, "Running");
  assert.match(claim?.metadata.name ?? "", /^a-extended-resources-/);
  assert.deepEqual(await usedIn(cluster), { [explicit]: "2", [implicit]: "2" });

  await createClaim(cluster, "mine", 1);
  assert.deepEqual(await usedIn(cluster), { [explicit]: "3", [implicit]: "3" });
  const refused = /exceeded quota: few, requested: requests\.example\.com\/gpu=1, used: requests\.example\.com\/gpu=3/;
  await assert.rejects(createClaim(cluster, "more", 1), refused);
  await assert.rejects(createPod(cluster, "b", "1"), refused);
  await cluster.clock.advance(20_000);
  await cluster.settle();
  assert.deepEqual(await usedIn(cluster), { [explicit]: "3", [implicit]: "3" });

  await cluster.client.delete(Pod, { namespace, name: "a" });
  await cluster.settle();
  assert.deepEqual(await usedIn(cluster), { [explicit]: "1", [implicit]: "1" });
  await createPod(cluster, "b", "2");
  await cluster.settle();
  assert.equal((await cluster.client.get(Pod, { namespace, name: "b" })).status.phase, "Running");
  await cluster.clock.advance(6 * 60_000);
  await cluster.settle();
  assert.deepEqual(await usedIn(cluster), { [explicit]: "3", [implicit]: "3" });
});

test("a pod whose attempt to get devices failed gets them within a full quota", async () => {
  await using cluster = await startWithGpus({ [explicit]: "1" });
  const metadata = { name: "a", namespace };
  const containers = [{ name: "main", image: "web:1", resources: { limits: { "example.com/gpu": "1" } } }];
  await cluster.client.create(Pod, { metadata, spec: { containers, schedulingGates: [{ name: "wait" }] } });
  const requestMappings = [{ containerName: "main", resourceName: "example.com/gpu", requestName: "r" }];
  const body = { status: { extendedResourceClaimStatus: { resourceClaimName: "gone", requestMappings } } };
  await cluster.client.patch(Pod, metadata, { type: "merge", body }, { subresource: "status" });
  await cluster.client.patch(Pod, metadata, { type: "merge", body: { spec: { schedulingGates: [] } } });
  await cluster.settle();

  assert.equal((await cluster.client.get(Pod, metadata)).status.phase, "Running");
  assert.deepEqual(await usedIn(cluster), { [explicit]: "1" });
});

test("what is used follows the class, with no claim changed", async () => {
  await using cluster = await startWithGpus({ [explicit]: "9", [implicit]: "9" });
  await createClaim(cluster, "mine", 2);
  await cluster.settle();

  const body = { spec: { extendedResourceName: "example.com/other" } };
  await cluster.client.patch(DeviceClass, { name: "gpu" }, { type: "merge", body });
  await cluster.clock.advance(20_000);
  await cluster.settle();
  assert.deepEqual(await usedIn(cluster), { [explicit]: "0", [implicit]: "2" });

  await cluster.client.create(DeviceClass, { metadata: { name: "new" }, spec: {} });
  await cluster.client.patch(
    DeviceClass,
    { name: "gpu" },
    { type: "merge", body: { spec: { extendedResourceName: "example.com/gpu" } } },
  );
  await cluster.settle();
  assert.deepEqual(await usedIn(cluster), { [explicit]: "2", [implicit]: "2" });
});

test("claims that pretend to be made for a pod do not get more than the quota allows", async () => {
  await using cluster = await startWithGpus({ [explicit]: "2" });
  const { client } = cluster;
  const containers = [{ name: "main", image: "web:1", resources: { limits: { "example.com/gpu": "1" } } }];
  const spec = { containers, schedulingGates: [{ name: "never" }] };
  const { metadata: owner } = await client.create(Pod, { metadata: { name: "bait", namespace }, spec });
  const pretend = (name: string) =>
    client.create(ResourceClaim, {
      metadata: {
        name,
        namespace,
        annotations: { "resource.kubernetes.io/extended-resource-claim": "true" },
        ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "bait", uid: owner.uid, controller: true }],
      },
      spec: { devices: { requests: [{ name: "gpus", exactly: { deviceClassName: "gpu", count: 1 } }] } },
    });
  const outcomes = await Promise.allSettled(Array.from({ length: 40 }, (_, index) => pretend(`c-${index}`)));
  await cluster.settle();

  assert.equal(outcomes.filter(({ status }) => status === "fulfilled").length, 2);
  assert.deepEqual(await usedIn(cluster), { [explicit]: "2" });
  await cluster.clock.advance(6 * 60_000);
  await cluster.settle();
  assert.deepEqual(await usedIn(cluster), { [explicit]: "2" });
});
