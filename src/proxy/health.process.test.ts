import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLog } from "#lib/process/log.ts";
import { freePort } from "#testing/peers/free-ports.ts";
import { HealthPorts } from "./health.ts";
import { type ServicePlan } from "./service-map.ts";

const plan = (port: number, localEndpoints: number): ServicePlan => ({
  ...{ namespace: "default", name: "web", ports: [], health: { port, localEndpoints } },
  ...{ rank: "", size: 0, faults: [] },
});

test("a health port reports whether this node has endpoints, while the service wants it", async () => {
  await using health = new HealthPorts("127.0.0.1", silentLog);
  const port = await freePort();
  const ask = () => fetch(`http://127.0.0.1:${port}/`, { headers: { connection: "close" } });

  health.update([plan(port, 2)]);
  const good = await ask();
  assert.equal(good.status, 200);
  assert.deepEqual(await good.json(), {
    service: { namespace: "default", name: "web" },
    localEndpoints: 2,
    serviceProxyHealthy: true,
  });

  health.update([plan(port, 0)]);
  assert.equal((await ask()).status, 503);

  health.update([]);
  await assert.rejects(ask());
});
