import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMap } from "#api/core/config-map.ts";
import { Namespace } from "#api/core/namespace.ts";
import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { ServiceAccount } from "#api/core/service-account.ts";
import { isForbidden } from "#api/status.ts";
import { startCluster } from "./start-cluster.ts";

test("startCluster() is a control plane that settles", async () => {
  await using cluster = await startCluster();

  await cluster.apply(Namespace, { metadata: { name: "shop" } });
  await cluster.settle();

  const accounts = await cluster.list(ServiceAccount, "shop");
  assert.deepEqual(
    accounts.map(({ metadata }) => metadata.name),
    ["default"],
  );
  const [certificates] = await cluster.list(ConfigMap, "shop");
  assert.match(certificates?.data?.["ca.crt"] ?? "", /BEGIN CERTIFICATE/);
});

test("startCluster() places a pod on a node that comes later", async () => {
  await using cluster = await startCluster();
  const { apply, settle } = cluster;
  await settle();
  const spec = { containers: [{ name: "web", image: "nginx" }] };
  await apply(Pod, { metadata: { namespace: "default", name: "web" }, spec });
  await settle();

  const resources = { cpu: "2", memory: "4Gi", pods: "10" };
  await apply(Node, { metadata: { name: "node-1" } });
  const status = {
    capacity: resources,
    allocatable: resources,
    conditions: [{ type: "Ready", status: "True" as const }],
  };
  await cluster.client.updateStatus(Node, { metadata: { name: "node-1" }, status });
  await cluster.client.patch(Node, { name: "node-1" }, { type: "merge", body: { spec: { taints: null } } });
  await settle();

  const [pod] = await cluster.list(Pod);
  assert.equal(pod?.spec.nodeName, "node-1");
});

test("startCluster() has all gates and freezes what is shared", async () => {
  await using cluster = await startCluster({ controllers: false });

  const stranger = cluster.clientFor({ name: "stranger", groups: [] });
  await assert.rejects(stranger.list(Pod), isForbidden);
  const [namespace] = await cluster.list(Namespace);

  assert(namespace);
  assert.throws(() => Object.assign(namespace.metadata, { name: "changed" }), TypeError);
});
