import assert from "node:assert/strict";
import { test } from "node:test";
import { Service } from "#api/core/service.ts";
import { EndpointSlice } from "#api/discovery/endpoint-slice.ts";
import { build } from "#testing/build.ts";
import { planOwnEndpoint } from "./own-endpoint.ts";
import { planService } from "./service-map.ts";

const node = { name: "b", zone: "", family: "IPv4" as const };
const service = build(Service, {
  metadata: { namespace: "kube-system", name: "kube-dns" },
  spec: {
    type: "ClusterIP",
    sessionAffinity: "None",
    clusterIP: "10.96.0.10",
    ports: [
      { name: "dns", port: 53, protocol: "UDP" },
      { name: "metrics", port: 9153, protocol: "TCP" },
    ],
  },
  status: { loadBalancer: {} },
});
const slice = build(EndpointSlice, {
  metadata: { namespace: "kube-system", name: "kube-dns-a", labels: { "kubernetes.io/service-name": "kube-dns" } },
  addressType: "IPv4",
  ports: [
    { name: "dns", port: 4444, protocol: "UDP" },
    { name: "metrics", port: 9153, protocol: "TCP" },
  ],
  endpoints: [{ addresses: ["10.0.0.1"], nodeName: "a", conditions: { ready: true } }],
});
const targetsOf = (own: Parameters<typeof planOwnEndpoint>[1]) => {
  const plan = planService(service, [slice], node);
  assert(plan);
  return planOwnEndpoint(plan, own).ports.map(({ cluster }) =>
    cluster.map(({ address, port }) => `${address}:${port}`),
  );
};

test("planOwnEndpoint() leads the service's port to this node's server and leaves the others", () => {
  const server = { address: "10.0.0.2", port: 5555 };
  assert.deepEqual(targetsOf({ clusterIP: "10.96.0.10", servicePort: 53, server }), [
    ["10.0.0.2:5555"],
    ["10.0.0.1:9153"],
  ]);
});

test("planOwnEndpoint() leaves a service of another address, and every one while the server does not run", () => {
  const theirs = [["10.0.0.1:4444"], ["10.0.0.1:9153"]];
  const server = { address: "10.0.0.2", port: 5555 };
  assert.deepEqual(targetsOf({ clusterIP: "10.96.0.11", servicePort: 53, server }), theirs);
  assert.deepEqual(targetsOf({ clusterIP: "10.96.0.10", servicePort: 53, server: undefined }), theirs);
  assert.deepEqual(targetsOf(undefined), theirs);
});
