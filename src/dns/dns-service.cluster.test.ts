import assert from "node:assert/strict";
import { test } from "node:test";
import { Service } from "#api/core/service.ts";
import { EndpointSlice } from "#api/discovery/endpoint-slice.ts";
import { openFaultyApi } from "#testing/faulty-api.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { ensureDnsService } from "./dns-service.ts";

test("DNS is a service with an endpoint on every node that serves it", async () => {
  await using api = await openFaultyApi(createVirtualClock());
  const place = { clusterIP: "10.96.0.10", address: "192.0.2.1", port: 40053, nodeName: "node-1" };

  await ensureDnsService(api.client, place);
  await ensureDnsService(api.client, { ...place, address: "192.0.2.2", nodeName: "node-2" });
  await ensureDnsService(api.client, { ...place, port: 40054 });

  const service = await api.client.get(Service, { namespace: "kube-system", name: "kube-dns" });
  assert.equal(service.spec.clusterIP, "10.96.0.10");
  assert.deepEqual(
    service.spec.ports?.map(({ protocol, port }) => `${protocol} ${port}`),
    ["UDP 53", "TCP 53"],
  );
  const { items } = await api.client.list(EndpointSlice, { namespace: "kube-system" });
  assert.deepEqual(
    items.map(({ endpoints, ports }) => `${endpoints[0]?.addresses[0]} ${ports?.[0]?.port}`),
    ["192.0.2.1 40054", "192.0.2.2 40053"],
  );
});
