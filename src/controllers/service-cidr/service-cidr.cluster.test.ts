import assert from "node:assert/strict";
import { test } from "node:test";
import { Service } from "#api/core/service.ts";
import { findCondition } from "#api/meta/condition.ts";
import { ServiceCIDR } from "#api/networking/service-cidr.ts";
import { isNotFound } from "#api/status.ts";
import { startCluster } from "#testing/start-cluster.ts";

const name = "more";
const metadata = { namespace: "default", name: "web" };

test("a range becomes ready, and stays for as long as a service has one of its addresses", async () => {
  await using cluster = await startCluster();
  await cluster.client.create(ServiceCIDR, { metadata: { name }, spec: { cidrs: ["10.20.0.0/24"] } });
  await cluster.settle();
  const made = await cluster.client.get(ServiceCIDR, { name });
  await cluster.apply(Service, { metadata, spec: { clusterIP: "10.20.0.7", ports: [{ port: 80 }] } });

  await cluster.client.delete(ServiceCIDR, { name });
  await cluster.settle();
  const held = await cluster.client.get(ServiceCIDR, { name });
  const other = {
    metadata: { namespace: "default", name: "other" },
    spec: { clusterIP: "10.20.0.8", ports: [{ port: 80 }] },
  };
  await assert.rejects(cluster.client.create(Service, other), /does not match the current range/);
  await cluster.client.delete(Service, metadata);
  await cluster.settle();

  assert.deepEqual(made.metadata.finalizers, ["networking.k8s.io/service-cidr-finalizer"]);
  assert.equal(findCondition(made.status.conditions, "Ready")?.message, "Kubernetes Service CIDR is ready");
  const { status, reason } = findCondition(held.status.conditions, "Ready") ?? {};
  assert.deepEqual([status, reason], ["False", "Terminating"]);
  await assert.rejects(cluster.client.get(ServiceCIDR, { name }), isNotFound);
});
