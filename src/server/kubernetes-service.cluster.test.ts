import assert from "node:assert/strict";
import { test } from "node:test";
import { Endpoints } from "#api/core/service/endpoints.ts";
import { Service } from "#api/core/service.ts";
import { EndpointSlice } from "#api/discovery/endpoint-slice.ts";
import { openFaultyApi } from "#testing/faulty-api.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { ensureKubernetesService } from "./kubernetes-service.ts";

test("the service kubernetes leads to the API server's current address", async () => {
  await using api = await openFaultyApi(createVirtualClock());
  const place = { clusterIP: "10.96.0.1", address: "192.0.2.1", port: 6443 };

  await ensureKubernetesService(api.client, place);
  await ensureKubernetesService(api.client, { ...place, port: 7443 });

  const ref = { namespace: "default", name: "kubernetes" };
  const service = await api.client.get(Service, ref);
  const slice = await api.client.get(EndpointSlice, ref);
  assert.equal(service.spec.clusterIP, "10.96.0.1");
  assert.deepEqual(service.spec.ports, [{ name: "https", port: 443, protocol: "TCP", targetPort: 7443 }]);
  assert.equal(slice.metadata.labels?.["kubernetes.io/service-name"], "kubernetes");
  assert.deepEqual(slice.endpoints[0]?.addresses, ["192.0.2.1"]);
  assert.equal(slice.ports?.[0]?.port, 7443);
  const { subsets } = await api.client.get(Endpoints, ref);
  assert.deepEqual(subsets, [
    { addresses: [{ ip: "192.0.2.1" }], ports: [{ name: "https", port: 7443, protocol: "TCP" }] },
  ]);
});
