import assert from "node:assert/strict";
import { test } from "node:test";
import { ask } from "#testing/peers/ask.ts";
import { startCluster } from "#testing/start-cluster.ts";
import { Components, componentEndpoints } from "./component-statuses.ts";
import { faultOf } from "./health.ts";

test("components are listed with their health, and every answer warns that they are deprecated", async () => {
  await using cluster = await startCluster({ controllers: false });
  const get = (path: string) => ask(cluster.api.server, `GET /api/v1/componentstatuses${path}`);

  const { json, warnings } = await get("");
  const one = await get("/etcd-0");
  const missing = await get("/nope");
  const selected = await get("?labelSelector=a%3Db");
  const written = await ask(cluster.api.server, "POST /api/v1/componentstatuses", { body: "{}" });

  const items = json.items as unknown as { metadata: object; conditions: object[] }[];
  assert.deepEqual(
    items.map(({ metadata }) => metadata),
    [{ name: "scheduler" }, { name: "controller-manager" }, { name: "etcd-0" }],
  );
  assert.deepEqual(one.json.conditions, [{ type: "Healthy", status: "True", message: "ok" }]);
  assert.deepEqual(warnings, ['299 - "v1 ComponentStatus is deprecated in v1.19+"']);
  assert.equal(String(missing.json.message), 'componentstatus "nope" not found');
  assert.deepEqual(selected.json.items, []);
  assert.equal(written.status, 405);
});

test("a component is healthy while it runs, and the store while it has no fault", async () => {
  let fault: string | undefined;
  const components = new Components(() => fault);
  const faults = () => Promise.all(Array.from(components.checks.values(), faultOf));
  const stopped = "does not run in this server";

  const ended = components.runs("scheduler");
  assert.deepEqual(await faults(), [undefined, stopped, undefined]);
  ended();
  fault = "no leader";
  assert.deepEqual(await faults(), [stopped, stopped, "no leader"]);
  assert.equal(componentEndpoints(components)[0], "componentstatuses");
});
