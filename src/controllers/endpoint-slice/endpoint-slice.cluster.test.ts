import assert from "node:assert/strict";
import { test } from "node:test";
import { Deployment } from "#api/apps/deployment.ts";
import { Event } from "#api/core/event.ts";
import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { Service } from "#api/core/service.ts";
import { ServiceAccount } from "#api/core/service-account.ts";
import { EndpointSlice } from "#api/discovery/endpoint-slice.ts";
import { runReconcilers } from "#runtime/run-reconciler.ts";
import { deploymentOf, labels, metadata, startWithNode } from "#testing/one-node.ts";
import { startCluster } from "#testing/start-cluster.ts";
import { endpointSliceController } from "./endpoint-slice.ts";

test("a service's slices follow its pods", async () => {
  await using cluster = await startWithNode();
  await cluster.apply(Deployment, deploymentOf(3, "web:1"));
  await cluster.apply(Service, { metadata, spec: { selector: labels, ports: [{ port: 80, targetPort: 8080 }] } });
  await cluster.settle();
  const [slice, ...others] = await cluster.list(EndpointSlice, "default").then((all) => all.filter(isWeb));

  await cluster.apply(Deployment, deploymentOf(1, "web:1"));
  await cluster.settle();
  const [later] = await cluster.list(EndpointSlice, "default").then((all) => all.filter(isWeb));
  await cluster.client.delete(Service, metadata);
  await cluster.settle();

  assert.equal(others.length, 0);
  assert.deepEqual([slice?.endpoints.length, slice?.ports?.[0]?.port], [3, 8080]);
  assert(slice?.endpoints.every(({ conditions, nodeName }) => conditions.ready && nodeName === "node-1"));
  assert.equal(later?.endpoints.length, 1);
  assert.deepEqual((await cluster.list(EndpointSlice, "default")).filter(isWeb), []);
});

test("zones get endpoints in proportion to their CPU, and hints go when nodes cannot be placed", async () => {
  await using cluster = await startCluster({
    controllers: false,
    components: (deps) => [(stop) => runReconcilers([endpointSliceController], deps, stop)],
  });
  const { client } = cluster;
  await client.create(ServiceAccount, { metadata: { namespace: "default", name: "default" } });
  const node = (zone: string) => ({
    metadata: { name: zone, labels: { "topology.kubernetes.io/zone": zone } },
    status: { allocatable: { cpu: "4" }, conditions: [{ type: "Ready", status: "True" as const }] },
  });
  for (const zone of ["a", "b"]) await client.create(Node, node(zone));
  for (const [index, nodeName] of ["a", "a", "a", "b"].entries()) {
    const spec = { nodeName, containers: [{ name: "c", image: "i" }] };
    const pod = await client.create(Pod, { metadata: { namespace: "default", name: `p${index}`, labels }, spec });
    const ip = `10.1.0.${index + 1}`;
    const conditions = [{ type: "Ready", status: "True" as const }];
    await client.updateStatus(Pod, { ...pod, status: { ...pod.status, podIP: ip, podIPs: [{ ip }], conditions } });
  }
  const annotations = { "service.kubernetes.io/topology-mode": "Auto" };
  await client.create(Service, {
    metadata: { ...metadata, annotations },
    spec: { selector: labels, ports: [{ port: 80 }] },
  });
  const zones = async () => {
    await cluster.settle();
    const slices = await cluster.list(EndpointSlice, "default").then((all) => all.filter(isWeb));
    return slices.flatMap(({ endpoints }) => endpoints.map(({ hints }) => hints?.forZones?.[0]?.name ?? "-")).sort();
  };

  assert.deepEqual(await zones(), ["a", "a", "b", "b"]);
  await client.create(Node, { ...node("c"), metadata: { name: "c" } });
  assert.deepEqual(await zones(), ["-", "-", "-", "-"]);
  const reasons = (await cluster.list(Event, "default")).map(({ reason }) => reason);
  assert.deepEqual(new Set(reasons), new Set(["TopologyAwareHintsEnabled", "TopologyAwareHintsDisabled"]));
});

const isWeb = ({ metadata: { labels } }: EndpointSlice) => labels?.["kubernetes.io/service-name"] === "web";
