import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMap } from "#api/core/config-map.ts";
import { neverAborted } from "#lib/async/tasks.ts";
import { type HistoryLimits } from "#store/history.ts";
import { startCluster, type TestCluster } from "#testing/start-cluster.ts";

const admin = { name: "tester", groups: ["system:masters"] };
const namespace = "default";
const path = `/api/v1/namespaces/${namespace}/configmaps`;

interface Event {
  readonly type: string;
  readonly object: {
    readonly kind: string;
    readonly code?: number;
    readonly reason?: string;
    readonly message?: string;
    readonly metadata: {
      readonly name?: string;
      readonly resourceVersion: string;
      readonly annotations?: Record<string, string>;
      readonly continue?: string;
      readonly remainingItemCount?: number;
    };
    readonly items?: readonly {
      readonly metadata: { readonly name: string };
      readonly data?: Record<string, string>;
    }[];
  };
}
type Body = Event["object"];

const start = (historyLimits?: HistoryLimits) =>
  startCluster({ controllers: false, ...(historyLimits ? { historyLimits } : {}) });

/** A GET as over a socket, but without one. */
async function get({ api }: TestCluster, query: string, accept?: string): Promise<Body> {
  const headers = accept ? { accept } : {};
  const request = { method: "GET", path, query, headers, body: undefined, signal: neverAborted };
  const { wire } = await api.server.serve({ ...request, peer: { address: "", user: admin } });
  assert(wire.type === "body", `the answer is a ${wire.type}`);
  return JSON.parse(Buffer.concat(wire.chunks).toString()) as Body;
}

async function watch(
  { api }: TestCluster,
  query: string,
): Promise<{ events: Event[]; isEnded: () => boolean; stop(): void }> {
  const request = { method: "GET", path, query: `watch=true&${query}`, headers: {}, body: undefined };
  const { wire } = await api.server.serve({ ...request, signal: neverAborted, peer: { address: "", user: admin } });
  assert(wire.type === "watch", wire.type === "body" ? Buffer.concat(wire.chunks).toString() : wire.type);
  const events: Event[] = [];
  let ended = false;
  const stop = wire.start({
    write(bytes) {
      const lines = Buffer.from(bytes).toString().trim().split("\n");
      events.push(...lines.map((line) => JSON.parse(line) as Event));
    },
    load: "idle",
    onIdle: (wake) => wake(),
    end: () => (ended = true),
  });
  return { events, isEnded: () => ended, stop };
}

const names = ({ items = [] }: Body): string => items.map(({ metadata }) => metadata.name).join(" ");
const shown = (events: readonly Event[]): string[] =>
  events.map(({ type, object }) => `${type} ${object.metadata.name ?? ""}`.trim());
const put = ({ client }: TestCluster, name: string, n = "0") =>
  client.create(ConfigMap, { metadata: { namespace, name }, data: { n } });
const change = ({ client }: TestCluster, name: string, n: string) =>
  client.update(ConfigMap, { metadata: { namespace, name }, data: { n } });
const remove = ({ client }: TestCluster, name: string) => client.delete(ConfigMap, { namespace, name });

test("pages show one snapshot, however much changes between them", async () => {
  await using cluster = await start();
  for (const name of ["a", "b", "c", "d", "e"]) await put(cluster, name);

  const first = await get(cluster, "limit=2");
  await remove(cluster, "c");
  await put(cluster, "bb");
  await change(cluster, "d", "1");
  const second = await get(cluster, `limit=2&continue=${first.metadata.continue}`);
  const third = await get(cluster, `limit=2&continue=${second.metadata.continue}`);

  assert.deepEqual([names(first), names(second), names(third)], ["a b", "c d", "e"]);
  assert.deepEqual(
    [first.metadata.remainingItemCount, second.metadata.remainingItemCount, third.metadata.remainingItemCount],
    [3, 1, undefined],
  );
  assert.equal(second.items?.[1]?.data?.n, "0");
  assert.equal(third.metadata.resourceVersion, first.metadata.resourceVersion);
  assert.equal(third.metadata.continue, undefined);
  assert.equal(names(await get(cluster, "")), "a b bb d e");
});

test("an expired continue token gets 410 with a token that continues from there", async () => {
  await using cluster = await start();
  for (const name of ["a", "b", "c", "d"]) await put(cluster, name);
  const first = await get(cluster, "limit=2");
  await put(cluster, "bb");
  await put(cluster, "cc");

  await cluster.store.compact(cluster.store.revision);
  const expired = await get(cluster, `limit=2&continue=${first.metadata.continue}`);
  const rest = await get(cluster, `limit=2&continue=${expired.metadata.continue}`);
  const last = await get(cluster, `limit=2&continue=${rest.metadata.continue}`);

  assert.deepEqual([expired.kind, expired.code, expired.reason], ["Status", 410, "Expired"]);
  assert.match(
    expired.message ?? "",
    /^The provided continue parameter is too old to display a consistent list result\./,
  );
  assert.deepEqual([names(rest), names(last)], ["bb c", "cc d"]);
});

test("old history is dropped automatically", async () => {
  await using cluster = await start({ maxEvents: 1000, maxBytes: 1 << 20, maxAgeMs: 60_000 });
  await put(cluster, "a");
  await put(cluster, "b");
  const { metadata } = await get(cluster, "limit=1");
  await put(cluster, "c");

  await cluster.clock.advance(300_000);

  const expired = await get(cluster, `continue=${metadata.continue}`);
  assert.deepEqual([expired.code, expired.reason], [410, "Expired"]);
});

test("continue tokens that are not ours are refused", async () => {
  await using cluster = await start();
  const token = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");

  for (const bad of [
    "x",
    "%00",
    token(1),
    token({}),
    token({ v: "meta.k8s.io/v1" }),
    token({ v: "v9", rv: 1, start: "a" }),
    token({ v: "meta.k8s.io/v1", rv: 5, start: "../../secrets" }),
  ]) {
    const { kind, code } = await get(cluster, `continue=${bad}`);
    assert.deepEqual([kind, code], ["Status", 400], bad);
  }
});

test("resourceVersion and resourceVersionMatch", async () => {
  await using cluster = await start();
  const { metadata } = await put(cluster, "a");
  const at = metadata.resourceVersion;
  await put(cluster, "b");
  const now = String(cluster.store.revision);

  assert.equal(names(await get(cluster, `resourceVersion=${at}&resourceVersionMatch=Exact`)), "a");
  assert.equal((await get(cluster, `resourceVersion=${at}&resourceVersionMatch=Exact`)).metadata.resourceVersion, at);
  assert.equal(names(await get(cluster, `resourceVersion=${at}&resourceVersionMatch=NotOlderThan`)), "a b");
  assert.equal(names(await get(cluster, `resourceVersion=${at}`)), "a b");
  assert.equal(names(await get(cluster, "resourceVersion=0")), "a b");
  assert.equal(names(await get(cluster, `resourceVersion=${now}`)), "a b");
  const asking = get(cluster, "resourceVersion=99999");
  await cluster.clock.advance(10_000);
  const future = await asking;
  assert.deepEqual(
    [future.code, future.reason, future.message],
    [504, "Timeout", `Timeout: Too large resource version: 99999, current: ${now}`],
  );
  await cluster.store.compact(cluster.store.revision);
  const old = await get(cluster, `resourceVersion=${at}&resourceVersionMatch=Exact`);
  assert.deepEqual([old.code, old.reason], [410, "Expired"]);
  const faults: [string, RegExp][] = [
    ["resourceVersionMatch=Exact", /resourceVersionMatch is forbidden unless resourceVersion is provided/],
    [
      "resourceVersion=0&resourceVersionMatch=Exact",
      /resourceVersionMatch "exact" is forbidden for resourceVersion "0"/,
    ],
    ["resourceVersion=5&resourceVersionMatch=Newest", /supported values: "Exact", "NotOlderThan"/],
    ["resourceVersion=abc", /resource ?version/i],
    ["limit=abc", /^strconv.ParseInt: parsing "abc": invalid syntax$/],
  ];
  for (const [query, message] of faults) {
    const { code, message: said } = await get(cluster, query);
    assert([400, 422].includes(code ?? 0), `${query}: ${code}`);
    assert.match(said ?? "", message);
  }
});

test("a watch from a revision sees every change after it, once, in order", async () => {
  await using cluster = await start();
  await put(cluster, "a");
  const { metadata } = await get(cluster, "");
  await put(cluster, "b");
  await change(cluster, "a", "1");

  const late = await watch(cluster, `resourceVersion=${metadata.resourceVersion}`);
  await remove(cluster, "b");
  await change(cluster, "a", "1");
  await change(cluster, "a", "2");

  assert.deepEqual(shown(late.events), ["ADDED b", "MODIFIED a", "DELETED b", "MODIFIED a"]);
  const revisions = late.events.map(({ object }) => Number(object.metadata.resourceVersion));
  assert.deepEqual(
    revisions,
    revisions.toSorted((x, y) => x - y),
  );
  late.stop();
  await put(cluster, "c");
  assert.equal(late.events.length, 4);
});

test("a watch list sends the state, then a bookmark that marks its end, then changes", async () => {
  await using cluster = await start();
  await put(cluster, "a");
  await put(cluster, "b");
  const query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";

  const { events } = await watch(cluster, query);
  const none = await watch(cluster, `${query}&fieldSelector=metadata.name%3Dnobody`);
  await remove(cluster, "a");

  assert.deepEqual(shown(events), ["ADDED a", "ADDED b", "BOOKMARK", "DELETED a"]);
  assert.deepEqual(events[2]?.object.metadata.annotations, { "k8s.io/initial-events-end": "true" });
  assert.equal(events[2]?.object.kind, "ConfigMap");
  assert.deepEqual(shown(none.events), ["BOOKMARK"]);
  const wrong = await get(cluster, "watch=true&sendInitialEvents=true");
  assert.equal(wrong.code, 422);
  assert.match(wrong.message ?? "", /sendInitialEvents requires setting resourceVersionMatch to NotOlderThan/);
});

test("bookmarks tell a quiet watch how far it has come", async () => {
  await using cluster = await start();
  const quiet = await watch(cluster, "allowWatchBookmarks=true&fieldSelector=metadata.name%3Dnobody");
  const silent = await watch(cluster, "fieldSelector=metadata.name%3Dnobody");
  await put(cluster, "a");
  await put(cluster, "b");

  await cluster.clock.advance(120_000);

  const last = quiet.events.at(-1);
  assert.equal(last?.type, "BOOKMARK");
  assert(Number(last.object.metadata.resourceVersion) >= cluster.store.revision - 1);
  assert.deepEqual(silent.events, []);
});

test("a selector sends ADDED and DELETED for objects that start and stop matching", async () => {
  await using cluster = await start();
  await put(cluster, "a");
  const { events } = await watch(cluster, "labelSelector=color%3Dblue");
  const label = (color: string | null) =>
    cluster.client.patch(
      ConfigMap,
      { namespace, name: "a" },
      { type: "merge", body: { metadata: { labels: { color } } } },
    );

  await label("blue");
  await change(cluster, "a", "1").catch(() => {});
  await label("blue");
  await label("red");
  await label("blue");
  await remove(cluster, "a");

  assert.deepEqual(shown(events), ["ADDED a", "DELETED a", "ADDED a", "DELETED a", "ADDED a", "DELETED a"]);
});

test("a watch from before the history gets 410 as its only event", async () => {
  await using cluster = await start();
  await put(cluster, "a");
  // More bytes than the history for watches keeps, in few large steps.
  for (let i = 0; i < 40; i++) await change(cluster, "a", String(i).padEnd(1_000_000, "x"));
  await cluster.store.compact(cluster.store.revision - 2);

  const old = await watch(cluster, "resourceVersion=5");
  const recent = await watch(cluster, `resourceVersion=${cluster.store.revision - 2}`);
  await cluster.clock.settle();

  assert.deepEqual(shown(old.events), ["ERROR"]);
  assert.deepEqual([old.events[0]?.object.code, old.events[0]?.object.reason], [410, "Expired"]);
  assert.match(old.events[0]?.object.message ?? "", /^too old resource version: 5 \(\d+\)$/);
  assert(old.isEnded());
  assert.deepEqual(shown(recent.events), ["MODIFIED a", "MODIFIED a"]);
});

test("a watch ends after its timeout", async () => {
  await using cluster = await start();
  const short = await watch(cluster, "timeoutSeconds=5");

  await cluster.clock.advance(4_000);
  const before = short.isEnded();
  await cluster.clock.advance(2_000);

  assert.deepEqual([before, short.isEnded()], [false, true]);
});

test("tables and partial metadata come from the same list", async () => {
  await using cluster = await start();
  await put(cluster, "a");
  const table = (await get(cluster, "", "application/json;as=Table;v=v1;g=meta.k8s.io")) as unknown as {
    kind: string;
    columnDefinitions: { name: string }[];
    rows: { cells: unknown[]; object: { kind: string } }[];
  };
  const partial = await get(cluster, "", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io");

  assert.deepEqual(
    table.columnDefinitions.map(({ name }) => name),
    ["Name", "Data", "Age"],
  );
  assert.deepEqual(table.rows[0]?.cells.slice(0, 2), ["a", 1]);
  assert.equal(table.rows[0]?.object.kind, "PartialObjectMetadata");
  assert.equal(partial.kind, "PartialObjectMetadataList");
  assert.equal(partial.items?.[0]?.data, undefined);
});
