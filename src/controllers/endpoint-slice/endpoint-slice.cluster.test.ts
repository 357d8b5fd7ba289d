import assert from "node:assert/strict";
import { test } from "node:test";
import { Deployment } from "#api/apps/deployment.ts";
import { Service } from "#api/core/service.ts";
import { EndpointSlice } from "#api/discovery/endpoint-slice.ts";
import { deploymentOf, labels, metadata, startWithNode } from "#testing/one-node.ts";

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

const isWeb = ({ metadata: { labels } }: EndpointSlice) => labels?.["kubernetes.io/service-name"] === "web";
