import assert from "node:assert/strict";
import { test } from "node:test";
import { Namespace } from "#api/core/namespace.ts";
import { Pod } from "#api/core/pod.ts";
import { DeviceClass } from "#api/devices/device-class.ts";
import { ResourceClaim } from "#api/devices/resource-claim.ts";
import { ResourceClaimTemplate } from "#api/devices/resource-claim-template.ts";
import { ResourceSlice } from "#api/devices/resource-slice.ts";
import { type InputOf } from "#api/resource.ts";
import { startCluster, type TestCluster } from "#testing/start-cluster.ts";

const namespace = "default";
const driver = "gpu.example.com";
const devices = { requests: [{ name: "gpu", exactly: { deviceClassName: "gpu" } }] };

/** Two nodes with two GPUs each, and a class for them. */
async function startWithGpus(simulation = {}): Promise<TestCluster> {
  const cluster = await startCluster({ nodes: 2, simulation });
  const { client } = cluster;
  await client.create(DeviceClass, {
    metadata: { name: "gpu" },
    spec: {
      selectors: [{ cel: { expression: `device.driver == "${driver}"` } }],
      extendedResourceName: "example.com/gpu",
    },
  });
  for (const nodeName of ["node-1", "node-2"]) {
    const pool = { name: nodeName, generation: 1, resourceSliceCount: 1 };
    const gpus = ["gpu-0", "gpu-1"].map((name, at) => ({ name, attributes: { index: { int: at } } }));
    await client.create(ResourceSlice, {
      metadata: { name: nodeName },
      spec: { driver, pool, nodeName, devices: gpus },
    });
  }
  await client.create(ResourceClaimTemplate, { metadata: { name: "one-gpu", namespace }, spec: { spec: { devices } } });
  return cluster;
}

const podWith = (name: string, claim: object): InputOf<Pod> => ({
  metadata: { name, namespace },
  spec: {
    containers: [{ name: "main", image: "web:1", resources: { claims: [{ name: "gpu" }] } }],
    resourceClaims: [{ name: "gpu", ...claim }],
    restartPolicy: "Never",
  },
});
const fromTemplate = { resourceClaimTemplateName: "one-gpu" };

const gpusOf = (claims: readonly ResourceClaim[]): string[] =>
  claims
    .flatMap(({ status }) => status.allocation?.devices.results?.map(({ pool, device }) => `${pool}/${device}`) ?? [])
    .sort();

test("pods get a device each from a template, wait when there are none, and get those of pods that are done", async () => {
  await using cluster = await startWithGpus();
  const { client } = cluster;

  for (let n = 0; n < 5; n++) await client.create(Pod, podWith(`pod-${n}`, fromTemplate));
  await cluster.settle();

  const claims = await cluster.list(ResourceClaim);
  const pods = await cluster.list(Pod);
  const running = pods.filter(({ status }) => status.phase === "Running");
  const waiting = pods.find(({ status }) => status.phase === "Pending");
  assert.equal(running.length, 4);
  assert.deepEqual(gpusOf(claims), ["node-1/gpu-0", "node-1/gpu-1", "node-2/gpu-0", "node-2/gpu-1"]);
  const condition = waiting?.status.conditions?.find(({ type }) => type === "PodScheduled");
  assert.match(condition?.message ?? "", /^0\/2 nodes are available: 2 cannot allocate all claims\./);

  const [first] = running;
  assert(first);
  await client.delete(Pod, first.metadata);
  await cluster.settle();

  const after = await cluster.list(ResourceClaim);
  assert((await cluster.list(Pod)).every(({ status }) => status.phase === "Running"));
  assert.deepEqual(gpusOf(after), ["node-1/gpu-0", "node-1/gpu-1", "node-2/gpu-0", "node-2/gpu-1"]);
  for (const { metadata, status } of after) {
    assert.deepEqual(
      status.reservedFor?.map(({ uid }) => uid),
      metadata.ownerReferences?.map(({ uid }) => uid),
    );
  }
});

test("two pods share a claim on one node, and it is free again after both", async () => {
  await using cluster = await startWithGpus();
  const { client } = cluster;
  await client.create(Pod, podWith("early", { resourceClaimName: "shared" }));
  await cluster.settle();
  assert.equal((await client.get(Pod, { namespace, name: "early" })).spec.nodeName, undefined);

  await client.create(ResourceClaim, { metadata: { name: "shared", namespace }, spec: { devices } });
  await client.create(Pod, podWith("late", { resourceClaimName: "shared" }));
  await cluster.settle();

  const pods = await cluster.list(Pod);
  const claim = await client.get(ResourceClaim, { namespace, name: "shared" });
  assert.equal(new Set(pods.map(({ spec }) => spec.nodeName)).size, 1);
  assert(pods.every(({ status }) => status.phase === "Running"));
  assert.deepEqual(claim.status.reservedFor?.map(({ name }) => name).sort(), ["early", "late"]);
  assert.deepEqual(claim.metadata.finalizers, ["resource.kubernetes.io/delete-protection"]);

  for (const { metadata } of pods) await client.delete(Pod, metadata);
  await cluster.settle();

  const free = await client.get(ResourceClaim, { namespace, name: "shared" });
  assert.deepEqual(free.status, {});
  assert.equal(free.metadata.finalizers, undefined);
});

const asksFor = (name: string, amount: string): InputOf<Pod> => {
  const resources = { limits: { "example.com/gpu": amount } };
  return {
    metadata: { name, namespace },
    spec: { containers: [{ name: "main", image: "web:1", resources }], restartPolicy: "Never" },
  };
};

test("pods get devices for extended resources of a class, and the claim goes with its pod", async () => {
  await using cluster = await startWithGpus();
  const { client } = cluster;

  for (const name of ["a", "b", "c"]) await client.create(Pod, asksFor(name, "2"));
  await cluster.settle();

  const pods = await cluster.list(Pod);
  const running = pods.filter(({ status }) => status.phase === "Running");
  assert.equal(running.length, 2);
  const claims = await cluster.list(ResourceClaim);
  assert.deepEqual(gpusOf(claims), ["node-1/gpu-0", "node-1/gpu-1", "node-2/gpu-0", "node-2/gpu-1"]);
  for (const { metadata, status, spec } of running) {
    const noted = status.extendedResourceClaimStatus;
    const claim = claims.find((one) => one.metadata.name === noted?.resourceClaimName);
    const requestMappings = [
      { containerName: "main", resourceName: "example.com/gpu", requestName: "container-0-request-0" },
    ];
    assert.deepEqual(noted, { requestMappings, resourceClaimName: claim?.metadata.name });
    assert.match(claim?.metadata.name ?? "", new RegExp(`^${metadata.name}-extended-resources-`));
    assert.equal(claim?.metadata.annotations?.["resource.kubernetes.io/extended-resource-claim"], "true");
    assert.deepEqual(claim?.metadata.finalizers, ["resource.kubernetes.io/delete-protection"]);
    assert.deepEqual(claim?.status.reservedFor, [{ resource: "pods", name: metadata.name, uid: metadata.uid }]);
    assert.equal(claim?.status.allocation?.devices.results?.[0]?.pool, spec.nodeName);
  }
  const waiting = pods.find(({ status }) => status.phase === "Pending");
  const condition = waiting?.status.conditions?.find(({ type }) => type === "PodScheduled");
  assert.match(condition?.message ?? "", /^0\/2 nodes are available: 2 cannot allocate all claims\./);

  const [first] = running;
  assert(first);
  await client.delete(Pod, first.metadata);
  await cluster.settle();

  assert((await cluster.list(Pod)).every(({ status }) => status.phase === "Running"));
  assert.deepEqual(gpusOf(await cluster.list(ResourceClaim)), gpusOf(claims));
});

test("a pod for a resource that nobody offers waits until a class stands behind it", async () => {
  await using cluster = await startWithGpus();
  const { client } = cluster;
  const limits = { "example.com/card": "1" };
  const spec = { containers: [{ name: "main", image: "web:1", resources: { limits } }] };
  await client.create(Pod, { metadata: { name: "early", namespace }, spec });
  await cluster.settle();
  const [waiting] = await cluster.list(Pod);
  const condition = waiting?.status.conditions?.find(({ type }) => type === "PodScheduled");
  assert.match(condition?.message ?? "", /^0\/2 nodes are available: 2 Insufficient example\.com\/card\./);

  const body = { spec: { extendedResourceName: "example.com/card" } };
  await client.patch(DeviceClass, { name: "gpu" }, { type: "merge", body });
  await cluster.settle();

  assert.equal((await client.get(Pod, { namespace, name: "early" })).status.phase, "Running");
  assert.equal(gpusOf(await cluster.list(ResourceClaim)).length, 1);
});

test("a claim that a scheduler left behind is removed before its pod gets devices", async () => {
  await using cluster = await startWithGpus();
  const { client } = cluster;
  const { spec } = asksFor("p", "1");
  const metadata = { name: "p", namespace };
  const { uid } = (await client.create(Pod, { metadata, spec: { ...spec, schedulingGates: [{ name: "wait" }] } }))
    .metadata;
  const left = await client.create(ResourceClaim, {
    metadata: {
      name: "p-extended-resources-left",
      namespace,
      annotations: { "resource.kubernetes.io/extended-resource-claim": "true" },
      finalizers: ["resource.kubernetes.io/delete-protection"],
      ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "p", uid, controller: true }],
    },
    spec: { devices },
  });
  await cluster.settle();
  await client.patch(Pod, { namespace, name: "p" }, { type: "merge", body: { spec: { schedulingGates: [] } } });
  await cluster.settle();

  const pod = await client.get(Pod, { namespace, name: "p" });
  assert.equal(pod.status.phase, "Running");
  const claims = await cluster.list(ResourceClaim);
  assert.deepEqual(
    claims.map((claim) => claim.metadata.name),
    [pod.status.extendedResourceClaimStatus?.resourceClaimName],
  );
  assert.notEqual(claims[0]?.metadata.uid, left.metadata.uid);
});

test("a claim of another namespace that names a pod neither stops it nor is deleted with the scheduler's rights", async () => {
  await using cluster = await startWithGpus();
  const { client } = cluster;
  const { spec } = asksFor("p", "1");
  const gated = { ...spec, schedulingGates: [{ name: "wait" }] };
  const { uid } = (await client.create(Pod, { metadata: { name: "p", namespace }, spec: gated })).metadata;
  await client.create(Namespace, { metadata: { name: "evil" } });
  const foreign = await client.create(ResourceClaim, {
    metadata: {
      name: "p-extended-resources-evil",
      namespace: "evil",
      annotations: { "resource.kubernetes.io/extended-resource-claim": "true" },
      finalizers: ["example.com/stay"],
      ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "p", uid, controller: true }],
    },
    spec: { devices },
  });
  await cluster.settle();

  await client.patch(Pod, { namespace, name: "p" }, { type: "merge", body: { spec: { schedulingGates: [] } } });
  await cluster.settle();

  assert.equal((await client.get(Pod, { namespace, name: "p" })).status.phase, "Running");
  assert.equal((await client.get(ResourceClaim, foreign.metadata)).metadata.uid, foreign.metadata.uid);
});

test("a pod that gets its devices from a device plugin names no claim, even if an earlier attempt noted one", async () => {
  const capacity = { cpu: "4", memory: "8Gi", pods: "10", "example.com/gpu": "4" };
  await using cluster = await startWithGpus({ capacity });
  const { client } = cluster;
  const { spec } = asksFor("p", "3");
  const metadata = { name: "p", namespace };
  await client.create(Pod, { metadata, spec: { ...spec, schedulingGates: [{ name: "wait" }] } });
  const requestMappings = [{ containerName: "main", resourceName: "example.com/gpu", requestName: "r" }];
  const body = { status: { extendedResourceClaimStatus: { resourceClaimName: "gone", requestMappings } } };
  await client.patch(Pod, { namespace, name: "p" }, { type: "merge", body }, { subresource: "status" });
  await client.patch(Pod, { namespace, name: "p" }, { type: "merge", body: { spec: { schedulingGates: [] } } });
  await cluster.settle();

  const { status } = await client.get(Pod, { namespace, name: "p" });

  assert.deepEqual([status.phase, status.extendedResourceClaimStatus], ["Running", undefined]);
  assert.deepEqual(await cluster.list(ResourceClaim), []);
});
