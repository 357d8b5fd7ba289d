import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMap } from "#api/core/config-map.ts";
import { Event } from "#api/core/event.ts";
import { type ApiObject, type Resource } from "#api/resource.ts";
import { silentLog } from "#lib/process/log.ts";
import { openMemoryStore } from "#store/memory.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { Objects } from "./objects.ts";

for (const { options, minutes } of [
  { options: {}, minutes: 60 },
  { options: { eventTtlSeconds: 300 }, minutes: 5 },
]) {
  test(`events expire after ${minutes} minutes, and other kinds never`, async () => {
    const clock = createVirtualClock();
    const store = openMemoryStore({ clock });
    await using objects = new Objects({ store, clock, log: silentLog, ...options });
    const kinds = [Event, ConfigMap] as unknown as Resource[];
    const counts = async () => await Promise.all(kinds.map(async (kind) => (await objects.cache(kind)).list().length));
    for (const kind of kinds)
      await objects.create(kind, { metadata: { name: "a", namespace: "default" } } as ApiObject);

    await clock.advance(minutes * 60_000 - 10_000);
    assert.deepEqual(await counts(), [1, 1]);
    await clock.advance(20_000);
    assert.deepEqual(await counts(), [0, 1]);
  });
}
