import assert from "node:assert/strict";
import { test } from "node:test";
import { Namespace } from "#api/core/namespace.ts";
import { DeviceClass } from "#api/devices/device-class.ts";
import { ResourceClaim } from "#api/devices/resource-claim.ts";
import { ResourceClaimTemplate } from "#api/devices/resource-claim-template.ts";
import { ResourceSlice } from "#api/devices/resource-slice.ts";
import { ClusterRole } from "#api/rbac/cluster-role.ts";
import { ClusterRoleBinding } from "#api/rbac/cluster-role-binding.ts";
import { startCluster } from "#testing/start-cluster.ts";

const place = { name: "gpus", namespace: "default" };
const device = { driver: "gpu.example.com", pool: "node-1", device: "gpu-0" };
const allocation = { devices: { results: [{ request: "a", ...device }] } };
const spec = { devices: { requests: [{ name: "a", exactly: { deviceClassName: "gpu" } }] } };
const rbac = "rbac.authorization.k8s.io";

test("a claim is allocated, reported on and deallocated by patches of its status", async () => {
  await using cluster = await startCluster({ controllers: false });
  const { client } = cluster;
  await client.create(ResourceClaim, { metadata: place, spec });
  const patch = (body: object) =>
    client.patch(ResourceClaim, place, { type: "merge", body }, { subresource: "status" });

  await patch({ status: { allocation } });
  await patch({ status: { devices: [{ ...device, data: { speed: 9 } }] } });
  const labelled = await patch({ metadata: { labels: { app: "web" } } });
  const reported = await client.get(ResourceClaim, place);
  const released = await patch({ status: { allocation: null } });

  assert.deepEqual(reported.status, { allocation, devices: [{ ...device, data: { speed: 9 } }] });
  assert.equal(labelled.metadata.labels, undefined);
  assert.deepEqual(released.status, {});
});

test("selectors that do not compile or cost too much are refused, each with its path", async () => {
  await using cluster = await startCluster({ controllers: false });
  const { client } = cluster;
  const selectors = (...sources: string[]) => sources.map((expression) => ({ cel: { expression } }));
  const dear = `device.attributes.all(a, device.attributes.all(b, device.attributes.all(c, device.attributes.all(d, a + b + c + d != ""))))`;
  const requests = [
    { name: "a", exactly: { deviceClassName: "gpu", selectors: selectors("true", "device.driver") } },
    { name: "b", firstAvailable: [{ name: "c", deviceClassName: "gpu", selectors: selectors(dear) }] },
  ];
  const claim = { devices: { requests } };
  const first =
    'requests[0].exactly.selectors[1].cel.expression: Invalid value: "device.driver": must evaluate to bool';
  const second =
    "requests[1].firstAvailable[0].selectors[0].cel.expression: Forbidden: too complex, exceeds cost limit";
  const saying =
    (...texts: string[]) =>
    (error: Error) =>
      texts.every((text) => error.message.includes(text));

  await assert.rejects(
    client.create(ResourceClaim, { metadata: place, spec: claim }),
    saying(`spec.devices.${first}`, second),
  );
  await assert.rejects(
    client.create(ResourceClaimTemplate, { metadata: place, spec: { spec: claim } }),
    saying(`spec.spec.devices.${first}`, second),
  );
  await assert.rejects(
    client.create(DeviceClass, { metadata: { name: "gpu" }, spec: { selectors: selectors("device.nope") } }),
    saying("spec.selectors[0].cel.expression: Invalid value", "undefined field 'nope'"),
  );
  await client.create(DeviceClass, {
    metadata: { name: "gpu" },
    spec: { selectors: selectors("device.driver == 'a'") },
  });
});

test("who may only write the status of claims can neither allocate nor report", async () => {
  await using cluster = await startCluster({ controllers: false });
  await cluster.client.create(ResourceClaim, { metadata: place, spec });
  await cluster.client.create(ClusterRole, {
    metadata: { name: "status" },
    rules: [{ verbs: ["patch"], apiGroups: ["resource.k8s.io"], resources: ["resourceclaims/status"] }],
  });
  await cluster.client.create(ClusterRoleBinding, {
    metadata: { name: "jane" },
    roleRef: { apiGroup: rbac, kind: "ClusterRole", name: "status" },
    subjects: [{ apiGroup: rbac, kind: "User", name: "jane" }],
  });
  const jane = cluster.clientFor({ name: "jane", groups: ["system:authenticated"] });
  const body = { status: { allocation, devices: [device] } };

  await assert.rejects(
    jane.patch(ResourceClaim, place, { type: "merge", body }, { subresource: "status" }),
    /"resourceclaims\/binding", verb="patch".*"resourceclaims\/driver", verb="\[arbitrary-node:patch\]"/s,
  );
});

test("admin access is granted as soon as the namespace has the label, and no longer than that", async () => {
  await using cluster = await startCluster({ controllers: false });
  const { client } = cluster;
  const label = (value: string | null) =>
    client.patch(
      Namespace,
      { name: "default" },
      { type: "merge", body: { metadata: { labels: { "resource.kubernetes.io/admin-access": value } } } },
    );
  const create = (name: string) => {
    const requests = [{ name: "a", exactly: { deviceClassName: "gpu", adminAccess: true } }];
    return client.create(ResourceClaim, { metadata: { ...place, name }, spec: { devices: { requests } } });
  };

  await assert.rejects(create("early"), /Forbidden: admin access to devices requires/);
  await label("true");
  await create("in-time");
  await label(null);
  await assert.rejects(create("late"), /Forbidden: admin access to devices requires/);
});

test("a change of a slice keeps the time of its taints and raises its generation", async () => {
  await using cluster = await startCluster({ controllers: false });
  const { client } = cluster;
  const pool = { name: "node-1", generation: 1, resourceSliceCount: 1 };
  const taints = [{ key: "example.com/broken", effect: "NoSchedule" as const }];
  const devices = [{ name: "gpu-0", taints, attributes: { model: { string: "x" } } }];
  const slice = { driver: "gpu.example.com", pool, nodeName: "node-1", devices };

  const created = await client.create(ResourceSlice, { metadata: { name: "s" }, spec: slice });
  const changed = await client.patch(
    ResourceSlice,
    { name: "s" },
    { type: "merge", body: { spec: { pool: { generation: 2 } } } },
  );

  assert.match(created.spec.devices?.[0]?.taints?.[0]?.timeAdded ?? "", /^\d{4}-/);
  assert.deepEqual(changed.spec.devices, created.spec.devices);
  assert.deepEqual([created.metadata.generation, changed.metadata.generation], [1, 2]);
});
