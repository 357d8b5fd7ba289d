import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMap } from "#api/core/config-map.ts";
import { staleObject } from "#api/status.ts";
import { openFaultyApi } from "#testing/faulty-api.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { ensureObject } from "./ensure-object.ts";

const wanted = (value: string) => ({
  ...{ namespace: "default", name: "one" },
  object: { metadata: { namespace: "default", name: "one" }, data: { value } },
  update: (current: ConfigMap) => ({ ...current, data: { value } }),
});

test("ensureObject() creates and changes an object, and does not write one that is right", async () => {
  await using api = await openFaultyApi(createVirtualClock());

  await ensureObject(api.client, ConfigMap, wanted("a"));
  assert.deepEqual((await ensureObject(api.client, ConfigMap, wanted("b"))).data, { value: "b" });
  const { revision } = api;
  await ensureObject(api.client, ConfigMap, wanted("b"));

  assert.equal(api.revision, revision);
});

test("ensureObject() retries after a conflict", async () => {
  await using api = await openFaultyApi(createVirtualClock());
  await ensureObject(api.client, ConfigMap, wanted("a"));
  let refusals = 2;
  api.intercept = ({ method }) => {
    if (method === "PUT" && refusals-- > 0) throw staleObject(ConfigMap, "one");
  };

  assert.deepEqual((await ensureObject(api.client, ConfigMap, wanted("b"))).data, { value: "b" });
});
