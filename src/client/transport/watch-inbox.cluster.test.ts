import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMap } from "#api/core/config-map.ts";
import { startCluster } from "#testing/start-cluster.ts";
import { WatchInbox } from "./watch-inbox.ts";

const namespace = "default";

/** Starts a watch, and returns the consumer's side of it after the first event. */
async function openWatch(cluster: Awaited<ReturnType<typeof startCluster>>, signal: AbortSignal) {
  const watch = cluster.client.watch(ConfigMap, { namespace, signal, sendInitialEvents: true });
  const events = watch[Symbol.asyncIterator]();
  await events.next();
  return events;
}

test("a local consumer that pauses uses little memory, and then misses nothing", async () => {
  await using cluster = await startCluster({ controllers: false });
  const stop = new AbortController();
  const events = await openWatch(cluster, stop.signal);
  const isLagging = () => cluster.api.objects.caches.some(({ laggingWatchers }) => laggingWatchers > 0);

  let written = 0;
  for (; !isLagging(); written++) {
    assert(written < 5000, "the inbox is never full");
    await cluster.client.create(ConfigMap, { metadata: { namespace, name: `c-${written}` } });
  }
  const held = written;
  for (; written < held + 1500; written++) {
    await cluster.client.create(ConfigMap, { metadata: { namespace, name: `c-${written}` } });
  }
  assert(isLagging(), "a full inbox accepted more events");

  const names: string[] = [];
  while (names.length < written) {
    const { value, done } = await events.next();
    assert(!done && value);
    if (value.type !== "BOOKMARK") names.push(value.object.metadata.name);
  }

  const wanted = Array.from({ length: written }, (_, n) => `c-${n}`);
  assert.deepEqual(
    names.filter((name) => name.startsWith("c-")),
    wanted.slice(0, names.length),
  );
  stop.abort();
  await events.return?.();
});

test("a few large objects fill an inbox", async () => {
  await using cluster = await startCluster({ controllers: false });
  const stop = new AbortController();
  const events = await openWatch(cluster, stop.signal);
  const data = { text: "x".repeat(500_000) };

  let written = 0;
  for (; !cluster.api.objects.caches.some(({ laggingWatchers }) => laggingWatchers > 0); written++) {
    assert(written < 100, "the inbox is never full");
    await cluster.client.create(ConfigMap, { metadata: { namespace, name: `c-${written}` }, data });
  }

  assert(written <= 10, `${written} objects of half a megabyte`);
  stop.abort();
  await events.return?.();
});

test("WatchInbox measures an event without encoding it", () => {
  const inbox = new WatchInbox({});
  const make = (): Uint8Array => assert.fail("the event was encoded");
  const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } };

  const loads = Array.from({ length: 4 }, (_, n) => {
    inbox.event("ADDED", { object, revision: n + 1, storedBytes: 1 << 20, json: make, protobuf: make });
    return inbox.load;
  });

  assert.deepEqual(loads, ["idle", "busy", "busy", "full"]);
});
