import assert from "node:assert/strict";
import { test } from "node:test";
import { Deployment } from "#api/apps/deployment.ts";
import { Endpoints } from "#api/core/service/endpoints.ts";
import { Service } from "#api/core/service.ts";
import { EndpointSlice } from "#api/discovery/endpoint-slice.ts";
import { isNotFound } from "#api/status.ts";
import { deploymentOf, labels, metadata, startWithNode } from "#testing/one-node.ts";

const ports = [{ port: 80, targetPort: 8080 }];

test("the Endpoints of a service follow its pods, and go with it", async () => {
  await using cluster = await startWithNode();
  await cluster.apply(Deployment, deploymentOf(3, "web:1"));
  await cluster.apply(Service, { metadata: { ...metadata, labels: { team: "a" } }, spec: { selector: labels, ports } });
  await cluster.settle();
  const first = await cluster.client.get(Endpoints, metadata);
  await cluster.client.delete(Endpoints, metadata);
  await cluster.apply(Deployment, deploymentOf(1, "web:1"));
  await cluster.settle();
  const later = await cluster.client.get(Endpoints, metadata);
  await cluster.client.delete(Service, metadata);
  await cluster.settle();

  assert.deepEqual(first.metadata.labels, { team: "a", "endpoints.kubernetes.io/managed-by": "endpoint-controller" });
  const [subset, ...others] = first.subsets ?? [];
  assert.equal(others.length, 0);
  assert.equal(subset?.addresses?.length, 3);
  assert.deepEqual(subset?.ports, [{ port: 8080, protocol: "TCP" }]);
  assert.equal(subset?.addresses?.[0]?.targetRef?.kind, "Pod");
  assert.equal(later.subsets?.[0]?.addresses?.length, 1);
  await assert.rejects(cluster.client.get(Endpoints, metadata), isNotFound);
});

test("Endpoints that a user writes are mirrored into slices, for a service without a selector only", async () => {
  await using cluster = await startWithNode();
  const mirrors = async () =>
    (await cluster.list(EndpointSlice, "default")).filter(({ metadata: { labels } }) =>
      labels?.["endpointslice.kubernetes.io/managed-by"]?.startsWith("endpointslicemirroring"),
    );
  const subsets = [{ addresses: [{ ip: "10.1.2.3" }], ports: [{ port: 80 }] }];
  await cluster.apply(Endpoints, { metadata, subsets });
  await cluster.settle();
  const alone = await mirrors();

  await cluster.apply(Service, { metadata, spec: { ports } });
  await cluster.settle();
  const made = await mirrors();
  await cluster.client.delete(EndpointSlice, made[0]?.metadata ?? metadata);
  await cluster.settle();
  const again = await mirrors();
  const current = await cluster.client.get(Service, metadata);
  await cluster.client.update(Service, { ...current, spec: { ...current.spec, selector: labels } });
  await cluster.settle();

  assert.equal(alone.length, 0);
  assert.deepEqual(
    made.map(({ endpoints }) => endpoints[0]?.addresses),
    [["10.1.2.3"]],
  );
  assert.equal(again.length, 1);
  assert.deepEqual(await mirrors(), []);
});
