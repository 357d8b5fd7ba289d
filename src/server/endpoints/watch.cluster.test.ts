import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMap } from "#api/core/config-map.ts";
import { nextTurn } from "#lib/async/turns.ts";
import { ask, type Followed, follow } from "#testing/peers/ask.ts";
import { startCluster, type TestCluster } from "#testing/start-cluster.ts";

const path = "/api/v1/namespaces/default/configmaps";
const ofName = (name: string) => ({ namespace: "default", name });

const create = async ({ client }: TestCluster, name: string): Promise<string> =>
  (await client.create(ConfigMap, { metadata: ofName(name) })).metadata.resourceVersion ?? "";
const watch = ({ api }: TestCluster, query = "", accept?: string): Promise<Followed> =>
  follow(api.server, `GET ${path}?watch=true${query && `&${query}`}`, accept ? { headers: { accept } } : {});
const seen = ({ events }: Followed): string =>
  events.map(({ type, object }) => (type === "BOOKMARK" ? type : `${type} ${object.metadata?.name}`)).join(", ");

const starts: readonly { query: string; claim: string; seen: string }[] = [
  { query: "", claim: "starts with what is there", seen: "ADDED a, ADDED b, ADDED c" },
  { query: "resourceVersion=0", claim: "starts with what is there", seen: "ADDED a, ADDED b, ADDED c" },
  { query: "resourceVersion=FIRST", claim: "starts after that", seen: "ADDED b, ADDED c" },
  { query: "resourceVersion=FIRST&sendInitialEvents=false", claim: "starts after that", seen: "ADDED b, ADDED c" },
  { query: "sendInitialEvents=false", claim: "starts now", seen: "ADDED c" },
  { query: "resourceVersion=0&sendInitialEvents=false", claim: "starts now", seen: "ADDED c" },
  { query: "sendInitialEvents=true", claim: "starts with what is there", seen: "ADDED a, ADDED b, ADDED c" },
  {
    query: "sendInitialEvents=true&allowWatchBookmarks=true&resourceVersion=FIRST",
    claim: "marks the end of the initial state",
    seen: "ADDED a, ADDED b, BOOKMARK, ADDED c",
  },
  { query: "fieldSelector=metadata.name%3Dc", claim: "sends only matching objects", seen: "ADDED c" },
];
for (const { query, claim, seen: expected } of starts) {
  test(`a watch with ${query || "nothing"} ${claim}`, async () => {
    await using cluster = await startCluster({ controllers: false });
    const first = await create(cluster, "a");
    await create(cluster, "b");
    const match = query.includes("sendInitialEvents") ? "&resourceVersionMatch=NotOlderThan" : "";

    const followed = await watch(cluster, query.replace("FIRST", first) + match);
    await create(cluster, "c");
    // A watch that starts in the past may still be on its way to the present.
    while (!seen(followed).includes("ADDED c")) await nextTurn();

    assert.equal(seen(followed), expected);
  });
}

test("the bookmark after the initial state has its revision and the annotation", async () => {
  await using cluster = await startCluster({ controllers: false });
  await create(cluster, "a");

  const query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
  const { object } = (await watch(cluster, query)).events[1] ?? {};

  assert.deepEqual(object, {
    kind: "ConfigMap",
    apiVersion: "v1",
    metadata: {
      resourceVersion: String(cluster.store.revision),
      annotations: { "k8s.io/initial-events-end": "true" },
    },
  });
});

test("a watch from a revision that is gone ends with the error in the stream", async () => {
  await using cluster = await startCluster({ controllers: false });
  await create(cluster, "a");
  await cluster.store.compact(cluster.store.revision);

  const followed = await watch(cluster, "resourceVersion=1");

  assert.deepEqual(
    followed.events.map(({ type, object }) => [type, object.code, object.reason]),
    [["ERROR", 410, "Expired"]],
  );
  assert.equal(followed.isOver, true);
});

test("a watch from a future revision sends only later changes", async () => {
  await using cluster = await startCluster({ controllers: false });
  const followed = await watch(cluster, `resourceVersion=${cluster.store.revision + 1}`);

  await create(cluster, "a");
  await create(cluster, "b");

  assert.equal(seen(followed), "ADDED b");
});

test("a watch does not wait long for a future initial state", async () => {
  await using cluster = await startCluster({ controllers: false });
  const query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=99999";

  const said = ask(cluster.api.server, `GET ${path}?watch=true&${query}`);
  await cluster.clock.advance(3000);

  assert.equal((await said).status, 504);
});

test("a watch ends after timeoutSeconds, with a last bookmark if requested", async () => {
  await using cluster = await startCluster({ controllers: false });
  const plain = await watch(cluster, "timeoutSeconds=5");
  const marked = await watch(cluster, "timeoutSeconds=5&allowWatchBookmarks=true");
  const endless = await watch(cluster, "timeoutSeconds=0");
  const long = await watch(cluster, "timeoutSeconds=99999999");

  await cluster.clock.advance(5000);
  await create(cluster, "a");

  assert.deepEqual([plain.isOver, marked.isOver, endless.isOver, long.isOver], [true, true, false, false]);
  assert.deepEqual([plain, marked, endless, long].map(seen), ["", "BOOKMARK", "ADDED a", "ADDED a"]);
});

test("a watch without timeoutSeconds ends after 30 to 60 minutes", async () => {
  await using cluster = await startCluster({ controllers: false });
  const plain = await watch(cluster);
  const long = await watch(cluster, "timeoutSeconds=7200");

  await cluster.clock.advance(30 * 60_000 - 1);
  const early = plain.isOver;
  await cluster.clock.advance(30 * 60_000 + 1);

  assert.deepEqual([early, plain.isOver, long.isOver], [false, true, false]);
});

test("bookmarks are sent only on request", async () => {
  await using cluster = await startCluster({ controllers: false });
  const plain = await watch(cluster);
  const marked = await watch(cluster, "allowWatchBookmarks=true");

  await cluster.clock.advance(60_000);

  assert.equal(seen(plain), "");
  assert.equal(seen(marked), "BOOKMARK");
  assert.equal(marked.events[0]?.object.metadata?.resourceVersion, String(cluster.store.revision));
});

const faults: Readonly<Record<string, number>> = {
  "sendInitialEvents=true": 422,
  "sendInitialEvents=true&resourceVersionMatch=Exact": 422,
  "resourceVersionMatch=NotOlderThan": 422,
  "timeoutSeconds=soon": 400,
  "continue=x": 422,
  "resourceVersion=x": 400,
};
for (const [query, status] of Object.entries(faults)) {
  test(`a watch with ${query} is refused with ${status}`, async () => {
    await using cluster = await startCluster({ controllers: false });

    assert.equal((await ask(cluster.api.server, `GET ${path}?watch=true&${query}`)).status, status);
  });
}

const partial = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const table = "application/json;as=Table;g=meta.k8s.io;v=v1";

test("a watch of metadata sends only metadata, also in bookmarks", async () => {
  await using cluster = await startCluster({ controllers: false });
  const query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
  const followed = await watch(cluster, query, partial);

  await cluster.client.create(ConfigMap, { metadata: ofName("a"), data: { secret: "x" } });

  const [bookmark, added] = followed.events;
  assert.equal(bookmark?.object.kind, "PartialObjectMetadata");
  assert.equal(bookmark?.object.apiVersion, "meta.k8s.io/v1");
  assert.equal(added?.object.kind, "PartialObjectMetadata");
  assert.deepEqual(Object.keys(added?.object ?? {}), ["kind", "apiVersion", "metadata"]);
});

test("a watch of tables has a row for each event and none for bookmarks", async () => {
  await using cluster = await startCluster({ controllers: false });
  const followed = await watch(cluster, "allowWatchBookmarks=true&includeObject=None", table);

  const revision = await create(cluster, "a");
  await cluster.clock.advance(60_000);

  const [added, bookmark] = followed.events;
  assert.equal(added?.object.kind, "Table");
  assert.deepEqual(added?.object.rows, [{ cells: ["a", 0, "0s"] }]);
  assert.equal(added?.object.metadata?.resourceVersion, revision);
  assert.equal(bookmark?.object.kind, "Table");
  assert.deepEqual(bookmark?.object.rows, []);
  assert.equal(bookmark?.object.metadata?.resourceVersion, revision);
});
