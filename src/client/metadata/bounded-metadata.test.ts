import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMap } from "#api/core/config-map.ts";
import { type ApiObject, type Resource } from "#api/resource.ts";
import { isExpired } from "#api/status.ts";
import { silentLog } from "#lib/process/log.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { type Client, type WatchEvent } from "../client.ts";
import { boundedMetadata } from "./bounded-metadata.ts";
import { ServerRoom, ServerRooms } from "./server-room.ts";

const resource: Resource = {
  ...(ConfigMap as unknown as Resource),
  ...{ group: "y.io", isRemote: true, remoteServer: "a/theirs:443" },
};
const object = (name: string, more: object = {}): ApiObject => ({
  metadata: { name, namespace: "a", uid: name, ...more },
});
const end: WatchEvent<ApiObject> = { type: "BOOKMARK", resourceVersion: "1", initialEventsEnd: true };
const put = (raw: unknown): WatchEvent<ApiObject> => ({ type: "ADDED", object: raw as ApiObject });

function setUp(answers: { events?: WatchEvent<ApiObject>[]; list?: unknown }, limits = { objects: 2, bytes: 1 << 20 }) {
  const lines: unknown[] = [];
  const log = { ...silentLog, warn: lines.push.bind(lines), error: lines.push.bind(lines) };
  const clock = createVirtualClock();
  async function* watch() {
    yield* answers.events ?? [];
  }
  const client = { watch, list: async () => answers.list } as unknown as Client;
  const rooms = new ServerRooms(clock);
  const bounded = boundedMetadata(client, resource, { clock, log, limits, rooms });
  return { ...bounded, lines, clock, room: rooms.of(resource) };
}

const { signal } = new AbortController();
async function watched(client: Client): Promise<{ names: (string | undefined)[]; error?: unknown }> {
  const names: (string | undefined)[] = [];
  try {
    for await (const event of client.watch(resource, { signal, sendInitialEvents: true })) {
      names.push(event.type === "BOOKMARK" ? "end" : event.object.metadata.name);
    }
  } catch (error) {
    return { names, error };
  }
  return { names };
}

test("malformed objects are dropped, and the log says it once a minute", async () => {
  const events = [
    put(null),
    put({ metadata: { name: 7 } }),
    put(object("x", { ownerReferences: "abc" })),
    put(object("y")),
  ];
  const { client, lines, room } = setUp({ events: [...events, end] });

  assert.deepEqual(await watched(client), { names: ["y", "end"] });

  assert.equal(lines.filter((line) => typeof line === "string").length, 1);
  assert.equal(room.objects, 1);
});

test("a kind that is too large is dropped for ten minutes", async () => {
  const answers = { events: [put(object("x")), put(object("y")), put(object("z")), end] };
  const { client, lines, room, clock } = setUp(answers);

  const first = await watched(client);
  const second = watched(client);
  await clock.advance(600_000);
  answers.events = [put(object("x")), end];
  const third = await watched(client);

  assert(isExpired(first.error));
  assert.match(String(lines[0]), /has too many objects/);
  assert.deepEqual((await second).names, ["end"]);
  assert.deepEqual(third.names, ["x", "end"]);
  assert.equal(room.objects, 1);
});

test("what is kept is counted by bytes, and no longer after its deletion", async () => {
  const finalizers = ["x".repeat(1000)];
  const gone = (name: string): WatchEvent<ApiObject> => ({ type: "DELETED", object: object(name) });
  const { client, room } = setUp(
    { events: [put(object("x", { finalizers })), gone("x"), end] },
    { objects: 9, bytes: 9999 },
  );
  const large = setUp({ events: [put(object("x", { finalizers })), end] }, { objects: 9, bytes: 1000 });

  await watched(client);

  assert.deepEqual([room.objects, room.bytes], [0, 0]);
  assert(isExpired((await watched(large.client)).error));
});

const lists: { name: string; list: unknown }[] = [
  { name: "no items", list: { items: {}, metadata: {} } },
  { name: "no metadata", list: { items: [] } },
  { name: "an empty page that goes on", list: { items: [], metadata: { continue: "x" } } },
  { name: "a page of malformed objects that goes on", list: { items: [null], metadata: { continue: "x" } } },
  { name: "an object twice", list: { items: [object("x"), object("x")], metadata: {} } },
  { name: "a number as token", list: { items: [object("x")], metadata: { continue: 7 } } },
];
for (const { name, list } of lists) {
  test(`a list with ${name} is refused`, async () => {
    await assert.rejects(setUp({ list }).client.list(resource), /sent a malformed ConfigMap/);
  });
}

test("a malformed item of a list is dropped", async () => {
  const { items } = await setUp({ list: { items: [null, object("x")], metadata: {} } }).client.list(resource);

  assert.deepEqual(items, [object("x")]);
});

test("four kinds of a server are read at once, and a slow one does not hold up the others for long", async () => {
  const clock = createVirtualClock();
  const room = new ServerRoom(clock);
  let entered = 0;
  const enter = () =>
    room.enter(signal).then((leave) => {
      entered++;
      return leave;
    });
  const [first] = await Promise.all([enter(), enter(), enter(), enter()]);
  const later = [enter(), enter(), enter()];
  await clock.advance(1000);
  const before = entered;

  first();
  first();
  await clock.advance(1000);
  const between = entered;
  await clock.advance(30_000);
  await Promise.all(later);

  assert.deepEqual([before, between, entered], [4, 5, 7]);
});

test("a kind that is no longer wanted gives its turn to the next one", async () => {
  const room = new ServerRoom(createVirtualClock());
  const [first] = await Promise.all(Array.from({ length: 4 }, () => room.enter(signal)));
  const stop = new AbortController();
  const unwanted = room.enter(stop.signal);
  const next = room.enter(signal);

  first?.();
  stop.abort(new Error("stopped"));

  await Promise.allSettled([unwanted]);
  const leave = await Promise.race([unwanted, next].map((turn) => turn.catch(() => next)));
  leave();
  assert.equal(typeof (await next), "function");
});
