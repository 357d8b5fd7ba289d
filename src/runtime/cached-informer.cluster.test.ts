import assert from "node:assert/strict";
import { test } from "node:test";
import { Namespace } from "#api/core/namespace.ts";
import { badRequest, internalError } from "#api/status.ts";
import { silentLog } from "#lib/process/log.ts";
import { openFaultyApi } from "#testing/faulty-api.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { Part, Widget } from "#testing/widget.ts";
import { currentTrace, traceparent } from "#trace/trace.ts";
import { startInformers } from "./cached-informer.ts";
import { type Informer } from "./informer.ts";

const widget = (name: string, color = "red", namespace = "default") => ({
  metadata: { namespace, name },
  spec: { color },
});

async function setup() {
  const clock = createVirtualClock();
  const api = await openFaultyApi(clock);
  const informers = startInformers(api.client, { clock, log: silentLog, random: () => 0 });
  return { clock, api, client: api.client, informers };
}

const names = (informer: Informer<Widget>) =>
  informer
    .list()
    .map(({ metadata }) => metadata.name)
    .sort();

/** Records every change as `put a`, `put a again` or `delete a`. */
function notes(informer: Informer<Widget>): string[] {
  const seen: string[] = [];
  informer.subscribe((change) => {
    const again = change.type === "put" && change.previous ? " again" : "";
    seen.push(`${change.type} ${change.object.metadata.name}${again}`);
  });
  return seen;
}

test("an informer has the existing objects, then follows every change in order", async () => {
  const { api, client, clock, informers } = await setup();
  await using _ = informers;
  const a = await client.create(Widget, widget("a"));
  const informer = informers.of(Widget);
  await informer.synced();
  const seen = notes(informer);

  const b = await client.create(Widget, widget("b"));
  await client.update(Widget, { ...a, spec: { color: "blue" } });
  await client.delete(Widget, b);
  await clock.settle();

  assert.deepEqual(seen, ["put a", "put b", "put a again", "delete b"]);
  assert.deepEqual(names(informer), ["a"]);
  assert.equal(informer.revision, api.revision);
});

test("an informer looks up by namespace, owner, controller, the resource's indexes and added ones", async () => {
  const { client, informers, clock } = await setup();
  await using _ = informers;
  await client.create(Namespace, { metadata: { name: "other" } });
  const owner = { apiVersion: "v1", kind: "X", name: "x", uid: "u1" };
  const reference = { ...owner, uid: "u2", controller: true };
  await client.create(Widget, widget("a", "red"));
  await client.create(Widget, { ...widget("b", "blue", "other") });
  const metadata = { namespace: "default", name: "c", ownerReferences: [owner, reference] };
  await client.create(Widget, { metadata, spec: {} });
  const informer = informers.of(Widget);
  await informer.synced();
  informer.addIndex("first letter", ({ metadata }) => [metadata.name?.slice(0, 1) ?? ""]);

  await client.patch(Widget, { namespace: "default", name: "a" }, { type: "merge", body: { spec: { color: "blue" } } });
  await clock.settle();

  const found = (index: string, key: string) => informer.by(index, key).map(({ metadata }) => metadata.name);
  assert.deepEqual(found("color", "blue").sort(), ["a", "b"]);
  assert.deepEqual(found("color", "red"), []);
  assert.deepEqual(found("owner", "u1"), ["c"]);
  assert.deepEqual(found("controller", "u1"), []);
  assert.deepEqual(found("controller", "u2"), ["c"]);
  assert.deepEqual(found("first letter", "a"), ["a"]);
  assert.equal(informer.list("other").length, 1);
  assert.throws(() => informer.by("none", "x"), /has no index "none"/);
  assert.throws(() => informer.addIndex("color", () => []), /already/);
});

test("an interrupted watch resumes where it was", async () => {
  const { api, client, clock, informers } = await setup();
  await using _ = informers;
  const informer = informers.of(Widget);
  await informer.synced();
  const seen = notes(informer);
  await client.create(Widget, widget("a"));
  await clock.settle();

  api.cutWatches();
  await client.create(Widget, widget("b"));
  await clock.advance(1000);

  assert.deepEqual(seen, ["put a", "put b"]);
});

test("after 410 the informer starts over and reports what it missed", async () => {
  const { api, client, clock, informers } = await setup();
  await using _ = informers;
  const [a, b, c] = await Promise.all(["a", "b", "c"].map((name) => client.create(Widget, widget(name))));
  assert(a && b && c);
  const informer = informers.of(Widget);
  await informer.synced();
  const seen = notes(informer);
  seen.length = 0;

  api.cutWatches();
  await client.delete(Widget, a);
  await client.delete(Widget, b);
  await client.create(Widget, widget("b"));
  await client.create(Widget, widget("d"));
  await api.compact();
  await clock.advance(1000);

  assert.deepEqual(seen, ["delete a", "delete b", "put b", "put d"]);
  assert.deepEqual(names(informer), ["b", "c", "d"]);
});

for (const fault of [badRequest("unknown option"), internalError(new Error("the store is too old"))])
  test(`a server that answers initial events with ${fault.code} is listed instead`, async () => {
    const { api, client, clock, informers } = await setup();
    await using _ = informers;
    api.intercept = ({ query }) => {
      if (query.includes("sendInitialEvents")) throw fault;
    };
    await client.create(Widget, widget("a"));
    const informer = informers.of(Widget);

    await clock.advance(1000);
    await client.create(Widget, widget("b"));
    await clock.settle();

    assert.deepEqual(names(informer), ["a", "b"]);
  });

test("an informer keeps retrying while the server fails", async () => {
  const { api, client, clock, informers } = await setup();
  await using _ = informers;
  await client.create(Widget, widget("a"));
  let failures = 3;
  api.intercept = () => {
    if (failures-- > 0) throw new Error("down");
  };
  const informer = informers.of(Widget);

  await clock.advance(10_000);

  assert.deepEqual(names(informer), ["a"]);
});

test("caughtUpTo() resolves when the revision was seen, even in a bookmark", async () => {
  const { api, client, clock, informers } = await setup();
  await using _ = informers;
  const informer = informers.of(Widget);
  await informer.synced();
  const done: string[] = [];

  const { revision } = api;
  void informer.caughtUpTo(revision + 1).then(() => done.push("write"));
  void informer.caughtUpTo(revision + 2).then(() => done.push("bookmark"));
  await client.create(Widget, widget("a"));
  await clock.settle();
  const afterWrite = [...done];
  await client.create(Part, { metadata: { namespace: "default", name: "elsewhere" } });
  await clock.advance(60_000); // Bookmarks are sent every minute.

  assert.deepEqual(afterWrite, ["write"]);
  assert.deepEqual(done, ["write", "bookmark"]);
  const stop = AbortSignal.abort(new Error("enough"));
  await assert.rejects(informer.caughtUpTo(revision + 99, stop), /enough/);
});

test("a scoped informer has its own cache, with the objects in its scope", async () => {
  const { client, clock, informers } = await setup();
  await using _ = informers;
  const blue = informers.of(Widget, { fieldSelector: "spec.color=blue" });
  const all = informers.of(Widget);
  await informers.synced();
  const seen = notes(blue);

  const a = await client.create(Widget, widget("a", "red"));
  await client.create(Widget, widget("b", "blue"));
  const changed = await client.update(Widget, { ...a, spec: { color: "blue" } });
  await client.update(Widget, { ...changed, spec: { color: "green" } });
  await clock.settle();

  assert.deepEqual(seen, ["put b", "put a", "delete a"]);
  assert.deepEqual(names(blue), ["b"]);
  assert.deepEqual(names(all), ["a", "b"]);
  assert.equal(informers.of(Widget, { fieldSelector: "spec.color=blue" }), blue);
});

test("a change carries the trace that made it", async () => {
  const { api, client, clock, informers } = await setup();
  await using _ = informers;
  const trace = { traceId: "a".repeat(32), spanId: "b".repeat(16) };
  const informer = informers.of(Widget);
  await informer.synced();
  const traces: (string | undefined)[] = [];
  informer.subscribe((change) => traces.push(change.trace));

  await currentTrace.run(trace, () => client.create(Widget, widget("a")));
  await clock.settle();

  const written = api.traceOf(api.revision);
  assert(written);
  assert.equal(written.traceId, trace.traceId);
  assert.deepEqual(traces, [traceparent(written)]);
});

test("an object on which an index function fails is not in that index", async () => {
  const { client, informers } = await setup();
  await using _ = informers;
  await client.create(Widget, { metadata: { namespace: "default", name: "bare" } });
  const informer = informers.of(Widget);

  await informer.synced();

  assert.deepEqual(names(informer), ["bare"]);
  assert.deepEqual(informer.by("color", ""), []);
});

test("the other subscribers get the change when one fails", async () => {
  const { client, clock, informers } = await setup();
  await using _ = informers;
  const informer = informers.of(Widget);
  await informer.synced();
  informer.subscribe(() => {
    throw new Error("bug");
  });
  const seen = notes(informer);

  await client.create(Widget, widget("a"));
  await clock.settle();

  assert.deepEqual(seen, ["put a"]);
});
