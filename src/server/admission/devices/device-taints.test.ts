import assert from "node:assert/strict";
import { test } from "node:test";
import { ResourceSlice } from "#api/devices/resource-slice.ts";
import { type InputOf } from "#api/resource.ts";
import { timestamp } from "#lib/async/clock.ts";
import { requestFor, setUp } from "#server/admission/admission.suite.ts";

test("a taint of a device gets the time at which it was added", async () => {
  const { admit, clock } = setUp();
  const timeAdded = "2020-01-01T00:00:00Z";
  const taints = [
    { key: "a", effect: "None" as const },
    { key: "b", effect: "None" as const, timeAdded },
  ];
  const slice: InputOf<ResourceSlice> = { metadata: { name: "s" }, spec: { devices: [{ name: "x", taints }] } };

  await admit(requestFor(ResourceSlice, slice));

  assert.deepEqual(
    slice.spec?.devices?.[0]?.taints?.map((taint) => taint.timeAdded),
    [timestamp(clock.now()), timeAdded],
  );
});
