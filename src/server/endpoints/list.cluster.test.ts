import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMap } from "#api/core/config-map.ts";
import { Event } from "#api/core/event.ts";
import { Namespace } from "#api/core/namespace.ts";
import { eventsV1 } from "#api/events/event.ts";
import { ask, type Said } from "#testing/peers/ask.ts";
import { startCluster, type TestCluster } from "#testing/start-cluster.ts";

async function clusterWith(...keys: string[]): Promise<TestCluster> {
  const cluster = await startCluster({ controllers: false });
  await cluster.client.create(Namespace, { metadata: { name: "other" } });
  for (const key of keys) await create(cluster, key);
  return cluster;
}

/** `default/a1`: labelled with its first letter. */
async function create({ client }: TestCluster, key: string): Promise<string> {
  const [namespace = "", name = ""] = key.split("/");
  const metadata = { namespace, name, labels: { first: name.slice(0, 1) } };
  return (await client.create(ConfigMap, { metadata })).metadata.resourceVersion;
}

const list = ({ api }: TestCluster, query = "", namespace = "default"): Promise<Said> =>
  ask(api.server, `GET /api/v1/${namespace ? `namespaces/${namespace}/` : ""}configmaps${query && `?${query}`}`);
const names = ({ items }: Said): string => items.map(({ metadata }) => metadata?.name).join(" ");
const tokenOf = ({ json }: Said): string => String(json.metadata?.continue ?? "");

/** All chunks of a list. */
async function chunks(cluster: TestCluster, query: string, namespace?: string): Promise<string[]> {
  const found: string[] = [];
  let said = await list(cluster, query, namespace);
  found.push(names(said));
  while (tokenOf(said)) {
    said = await list(cluster, `${query}&continue=${tokenOf(said)}`, namespace);
    found.push(names(said));
  }
  return found;
}

const five = ["default/a1", "default/a2", "default/b1", "default/b2", "other/a3"];

test("the chunks of a list add up, with and without selectors and namespaces", async () => {
  await using cluster = await clusterWith(...five);

  assert.deepEqual(await chunks(cluster, "limit=3"), ["a1 a2 b1", "b2"]);
  assert.deepEqual(await chunks(cluster, "limit=2"), ["a1 a2", "b1 b2"]);
  assert.deepEqual(await chunks(cluster, "limit=2", ""), ["a1 a2", "b1 b2", "a3"]);
  assert.deepEqual(await chunks(cluster, "limit=2&labelSelector=first%3Da", ""), ["a1 a2", "a3"]);
  assert.deepEqual(await chunks(cluster, "limit=1&labelSelector=first%3Db"), ["b1", "b2"]);
  assert.deepEqual(await chunks(cluster, "limit=9&fieldSelector=metadata.name%3Db1", ""), ["b1"]);
});

test("the chunks of all namespaces add up where one namespace's name is the beginning of another's", async () => {
  await using cluster = await clusterWith("other/a1", "other/a2");
  await cluster.client.create(Namespace, { metadata: { name: "other-one" } });
  await create(cluster, "other-one/b1");

  assert.deepEqual(await chunks(cluster, "limit=1", ""), ["b1", "a1", "a2"]);
  assert.deepEqual(await chunks(cluster, "limit=1&labelSelector=first", ""), ["b1", "a1", "a2"]);
});

test("chunks say how many remain, unless a selector makes that unknown", async () => {
  await using cluster = await clusterWith(...five);

  const first = await list(cluster, "limit=1");
  const second = await list(cluster, `limit=1&continue=${tokenOf(first)}`);
  const selected = await list(cluster, "limit=1&labelSelector=first%3Da");

  assert.equal(first.json.metadata?.remainingItemCount, 3);
  assert.equal(second.json.metadata?.remainingItemCount, 2);
  assert.equal(selected.json.metadata?.remainingItemCount, undefined);
  assert.ok(tokenOf(selected));
});

test("later chunks show the state of the first", async () => {
  await using cluster = await clusterWith(...five);

  const first = await list(cluster, "limit=2");
  await cluster.client.delete(ConfigMap, { namespace: "default", name: "b1" });
  await create(cluster, "default/b3");
  const second = await list(cluster, `limit=9&continue=${tokenOf(first)}`);

  assert.equal(names(second), "b1 b2");
  assert.equal(second.json.metadata?.resourceVersion, first.json.metadata?.resourceVersion);
});

test("a token whose state is gone is refused with one that continues from there", async () => {
  await using cluster = await clusterWith(...five);
  const first = await list(cluster, "limit=2");
  await cluster.client.delete(ConfigMap, { namespace: "default", name: "b1" });
  await cluster.store.compact(cluster.store.revision);

  const refused = await list(cluster, `limit=9&continue=${tokenOf(first)}`);
  const rest = await list(cluster, `limit=9&continue=${tokenOf(refused)}`);

  assert.equal(refused.status, 410);
  assert.equal(refused.json.reason, "Expired");
  assert.equal(names(rest), "b2");
});

test("a token belongs to its namespace", async () => {
  await using cluster = await clusterWith(...five);
  const first = await list(cluster, "limit=2");

  assert.equal((await list(cluster, `continue=${tokenOf(first)}`, "other")).status, 400);
  assert.equal((await list(cluster, "continue=nonsense")).status, 400);
});

test("resourceVersion 0 returns the current cache in one chunk", async () => {
  await using cluster = await clusterWith(...five);

  assert.equal(names(await list(cluster, "resourceVersion=0&limit=1")), "a1 a2 b1 b2");
});

test("Exact returns that state, and otherwise a later one is allowed", async () => {
  await using cluster = await clusterWith("default/a1");
  const revision = await create(cluster, "default/a2");
  await create(cluster, "default/a3");

  const at = `resourceVersion=${revision}`;
  const exact = await list(cluster, `${at}&resourceVersionMatch=Exact`);

  assert.equal(names(exact), "a1 a2");
  assert.equal(exact.json.metadata?.resourceVersion, revision);
  assert.equal(names(await list(cluster, `${at}&resourceVersionMatch=NotOlderThan`)), "a1 a2 a3");
  assert.equal(names(await list(cluster, at)), "a1 a2 a3");
  assert.deepEqual(await chunks(cluster, "limit=1&resourceVersion="), ["a1", "a2", "a3"]);
  assert.equal(names(await list(cluster, `${at}&limit=9`)), "a1 a2");
  await cluster.store.compact(cluster.store.revision);
  assert.equal((await list(cluster, `${at}&resourceVersionMatch=Exact`)).status, 410);
});

test("a list waits for a future resourceVersion, but not for long", async () => {
  await using cluster = await clusterWith("default/a1");
  const next = cluster.store.revision + 1;

  const soon = list(cluster, `resourceVersion=${next}`);
  const object = ask(cluster.api.server, `GET /api/v1/namespaces/default/configmaps/a1?resourceVersion=${next}`);
  await create(cluster, "default/a2");
  const never = list(cluster, "resourceVersion=99999");
  await cluster.clock.advance(3000);

  assert.equal(names(await soon), "a1 a2");
  assert.equal((await object).status, 200);
  const { status, json, headers } = await never;
  assert.equal(status, 504);
  assert.equal(json.reason, "Timeout");
  assert.equal(json.message, `Timeout: Too large resource version: 99999, current: ${next}`);
  assert.deepEqual(json.details?.causes, [
    { reason: "ResourceVersionTooLarge", message: "Too large resource version" },
  ]);
  assert.equal(headers["retry-after"], "1");
});

const faults: Readonly<Record<string, number>> = {
  "resourceVersion=x": 400,
  "resourceVersion=-1": 400,
  "resourceVersionMatch=Exact": 422,
  "resourceVersionMatch=Exact&resourceVersion=0": 422,
  "resourceVersionMatch=Roughly&resourceVersion=1": 422,
  "resourceVersionMatch=Exact&resourceVersion=1&continue=x": 422,
  "sendInitialEvents=true": 422,
  "resourceVersion=1&continue=x": 400,
  "limit=many": 400,
  "timeoutSeconds=soon": 400,
  "labelSelector=a%3D%3D%3Db": 400,
  "fieldSelector=spec.color%3Dred": 400,
};
for (const [query, status] of Object.entries(faults)) {
  test(`a list with ${query} is refused with ${status}`, async () => {
    await using cluster = await startCluster({ controllers: false });

    assert.equal((await list(cluster, query)).status, status);
  });
}

test("chunks of a kind that is stored in another version are in the requested version", async () => {
  await using cluster = await startCluster({ controllers: false });
  const metadata = { namespace: "default" };
  const event = {
    reason: "Tested",
    type: "Normal",
    action: "Test",
    note: "a note",
    reportingController: "example.com/test",
    reportingInstance: "test-0",
    eventTime: "2026-01-01T08:00:00.000000Z",
    regarding: { kind: "ConfigMap", namespace: "default", name: "a" },
  };
  for (const name of ["e1", "e2"]) await cluster.client.create(eventsV1, { metadata: { name, ...metadata }, ...event });

  const path = "/apis/events.k8s.io/v1/namespaces/default/events?limit=1";
  const first = await ask(cluster.api.server, `GET ${path}`);
  const second = await ask(cluster.api.server, `GET ${path}&continue=${tokenOf(first)}`);

  assert.deepEqual(
    [first, second].map(({ json, items }) => [json.apiVersion, items[0]?.note]),
    [
      ["events.k8s.io/v1", "a note"],
      ["events.k8s.io/v1", "a note"],
    ],
  );
});

test("a field that is too long to look up is not indexed, but its object is still listed", async () => {
  await using cluster = await startCluster({ controllers: false });
  const { server } = cluster.api;
  const events = "/api/v1/namespaces/default/events";
  const about = (name: string, subject: string) => ({
    metadata: { name },
    involvedObject: { kind: "Pod", namespace: "default", name: subject },
    reason: "R",
  });
  const long = "x".repeat(9000);
  for (const body of [about("a", "web"), about("b", long)]) {
    assert.equal((await ask(server, `POST ${events}`, { body })).status, 201);
  }

  const byField = await ask(server, `GET ${events}?fieldSelector=involvedObject.name%3Dweb`);
  const tooLong = await ask(server, `GET ${events}?fieldSelector=involvedObject.name%3D${long}`);
  const all = await ask(server, `GET ${events}`);

  assert.equal(byField.items.length, 1);
  assert.equal(tooLong.status, 400);
  assert.equal(all.items.length, 2);
});

test("lists of the past are read one at a time, however many are asked for", async () => {
  await using cluster = await clusterWith(...five);
  const { store } = cluster;
  const read = store.list.bind(store);
  let [reading, most] = [0, 0];
  store.list = async (...args) => {
    most = Math.max(most, ++reading);
    await new Promise(setImmediate);
    reading--;
    return await read(...args);
  };
  const revision = store.revision;
  const asked = (headers: Record<string, string>) =>
    ask(cluster.api.server, `GET /api/v1/configmaps?resourceVersion=${revision}&resourceVersionMatch=Exact`, {
      headers,
    });

  const all = await Promise.all([{}, tableOnly, protobufOnly, {}].map(asked));

  assert.deepEqual(
    all.map(({ status }) => status),
    [200, 200, 200, 200],
  );
  assert.equal(most, 1);
});
const tableOnly = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" };
const protobufOnly = { accept: "application/vnd.kubernetes.protobuf" };

/** How many turns of the event loop something takes. */
async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  const count = () => {
    turns++;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  await work();
  clearImmediate(next);
  return turns;
}

test("other work goes on while a selector is applied to many large objects of the past", async () => {
  await using cluster = await clusterWith();
  const data = { text: "x".repeat(200_000) };
  for (const name of ["a", "b", "c", "d", "e", "f"]) {
    await cluster.client.create(ConfigMap, { metadata: { namespace: "default", name }, data });
  }
  const past = `resourceVersion=${cluster.store.revision}&resourceVersionMatch=Exact`;

  const whole = await turnsDuring(() => list(cluster, past));
  const selected = await turnsDuring(() => list(cluster, `${past}&labelSelector=none`));

  assert.equal(selected - whole, 2);
});

test("other work goes on while a selector is applied to many events, which are parsed for it", async () => {
  await using cluster = await clusterWith();
  const involvedObject = { kind: "Pod", name: "web", namespace: "default" };
  for (let n = 0; n < 600; n++) {
    const metadata = { name: `web.${n}`, namespace: "default" };
    await cluster.client.create(Event, { metadata, involvedObject, type: "Normal", message: "x".repeat(1000) });
  }
  const events = (query: string): Promise<Said> =>
    ask(cluster.api.server, `GET /api/v1/namespaces/default/events?${query}`);
  const some = await turnsDuring(() => events("fieldSelector=involvedObject.name%3Dnone"));
  const all = await turnsDuring(() => events("labelSelector=none"));

  assert.ok(all - some >= 3, `${all} turns instead of ${some}`);
  assert.equal((await events("fieldSelector=type%3DNormal")).items.length, 600);
});
