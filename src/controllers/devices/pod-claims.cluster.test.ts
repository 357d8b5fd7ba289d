import assert from "node:assert/strict";
import { test } from "node:test";
import { Namespace } from "#api/core/namespace.ts";
import { Pod } from "#api/core/pod.ts";
import { DeviceClass } from "#api/devices/device-class.ts";
import { ResourceClaim } from "#api/devices/resource-claim.ts";
import { ResourceClaimTemplate } from "#api/devices/resource-claim-template.ts";
import { ResourceSlice } from "#api/devices/resource-slice.ts";
import { startCluster } from "#testing/start-cluster.ts";

const namespace = "default";
const driver = "gpu.example.com";

test("a pod that has ended loses the claim that was made for it, and gets no other one", async () => {
  const hooks = { ending: () => ({ afterMs: 1000, exitCode: 0 }) };
  await using cluster = await startCluster({ nodes: 1, simulation: { hooks } });
  const { client } = cluster;
  const made = new Set<string>();
  cluster.informers.of(ResourceClaim).subscribe(({ object }) => made.add(object.metadata.uid));
  await client.create(DeviceClass, { metadata: { name: "gpu" }, spec: {} });
  await client.create(ResourceSlice, {
    metadata: { name: "gpus" },
    spec: {
      driver,
      pool: { name: "node-1", generation: 1, resourceSliceCount: 1 },
      nodeName: "node-1",
      devices: [{ name: "gpu-0" }],
    },
  });
  const devices = { requests: [{ name: "gpu", exactly: { deviceClassName: "gpu" } }] };
  await client.create(ResourceClaimTemplate, { metadata: { name: "one", namespace }, spec: { spec: { devices } } });

  await client.create(Pod, {
    metadata: { name: "train", namespace },
    spec: {
      restartPolicy: "Never",
      containers: [{ name: "main", image: "train:1", resources: { claims: [{ name: "gpu" }] } }],
      resourceClaims: [{ name: "gpu", resourceClaimTemplateName: "one" }],
    },
  });
  await cluster.clock.advance(60_000);

  const pod = await client.get(Pod, { name: "train", namespace });
  assert.deepEqual([pod.status.phase, made.size, await cluster.list(ResourceClaim)], ["Succeeded", 1, []]);
});

test("a claim of another namespace that names a pod is not taken for the one of the pod", async () => {
  await using cluster = await startCluster({ nodes: 1 });
  const { client } = cluster;
  await client.create(Namespace, { metadata: { name: "evil" } });
  const spec = {
    schedulingGates: [{ name: "wait" }],
    containers: [{ name: "main", image: "web:1" }],
    resourceClaims: [{ name: "gpu", resourceClaimTemplateName: "one" }],
  };
  const { uid } = (await client.create(Pod, { metadata: { name: "web", namespace }, spec })).metadata;
  await client.create(ResourceClaim, {
    metadata: {
      name: "foreign",
      namespace: "evil",
      annotations: { "resource.kubernetes.io/pod-claim-name": "gpu" },
      finalizers: ["example.com/stay"],
      ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "web", uid, controller: true }],
    },
    spec: {},
  });
  await cluster.settle();

  await client.create(ResourceClaimTemplate, { metadata: { name: "one", namespace }, spec: { spec: {} } });
  await cluster.settle();

  const [noted] = (await client.get(Pod, { name: "web", namespace })).status.resourceClaimStatuses ?? [];
  assert.match(noted?.resourceClaimName ?? "", /^web-gpu-/);
});
