import assert from "node:assert/strict";
import { test } from "node:test";
import { ServiceCIDR } from "#api/networking/service-cidr.ts";
import { silentLog } from "#lib/process/log.ts";
import { openFaultyApi } from "#testing/faulty-api.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { ensureDefaultServiceCidr } from "./default-service-cidr.ts";

test("the range of service addresses is published once, and is ready", async () => {
  const clock = createVirtualClock();
  await using api = await openFaultyApi(clock);

  await ensureDefaultServiceCidr(api.client, ["10.96.0.0/16"], { clock, log: silentLog });
  await ensureDefaultServiceCidr(api.client, ["10.97.0.0/16"], { clock, log: silentLog });

  const { spec, status } = await api.client.get(ServiceCIDR, { name: "kubernetes" });
  assert.deepEqual(spec.cidrs, ["10.96.0.0/16"]);
  assert.deepEqual(
    status.conditions?.map(({ type, status }) => [type, status]),
    [["Ready", "True"]],
  );
});

test("the default range of service addresses gets a second family", async () => {
  const clock = createVirtualClock();
  await using api = await openFaultyApi(clock);
  const cidrs = ["10.96.0.0/16", "fd00:96::/112"];

  await ensureDefaultServiceCidr(api.client, cidrs.slice(0, 1), { clock, log: silentLog });
  await ensureDefaultServiceCidr(api.client, cidrs, { clock, log: silentLog });

  assert.deepEqual((await api.client.get(ServiceCIDR, { name: "kubernetes" })).spec.cidrs, cidrs);
});
