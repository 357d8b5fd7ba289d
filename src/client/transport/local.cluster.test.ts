import assert from "node:assert/strict";
import { test } from "node:test";
import { type Answer, type ApiRequest } from "#api/exchange.ts";
import { isConflict, isNotFound, StatusError } from "#api/status.ts";
import { type FaultyApi, openFaultyApi } from "#testing/faulty-api.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { Widget } from "#testing/widget.ts";
import { currentTrace, type Trace, traceparent } from "#trace/trace.ts";
import { type WatchEvent } from "../client.ts";
import { localClient } from "./local.ts";

const newApi = () => openFaultyApi(createVirtualClock());
const widget = (name: string, size = 1) => ({ metadata: { namespace: "default", name }, spec: { size } });
const trace = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331" };

test("a written object is returned without a copy", async () => {
  await using api = await newApi();
  const { client } = api;
  await client.list(Widget); // Makes the server cache this kind.

  const created = await client.create(Widget, widget("a"));

  assert.equal(created.kind, "Widget");
  assert.equal(await client.get(Widget, created), created);
  assert.equal((await client.list(Widget)).items[0], created);
});

test("the caller's object is neither kept nor changed", async () => {
  await using api = await newApi();
  const { client } = api;
  const input = widget("a");

  await client.create(Widget, input);
  input.spec.size = 99;

  assert.equal((await client.get(Widget, { namespace: "default", name: "a" })).spec.size, 1);
  assert.deepEqual(Object.keys(input), ["metadata", "spec"]);
});

test("errors are StatusErrors with their reason", async () => {
  await using api = await newApi();
  const { client } = api;
  const created = await client.create(Widget, widget("a"));
  await client.update(Widget, { ...created, spec: { size: 2 } });

  await assert.rejects(client.get(Widget, { namespace: "default", name: "none" }), isNotFound);
  await assert.rejects(client.update(Widget, { ...created, spec: { size: 3 } }), isConflict);
  await assert.rejects(client.create(Widget, { metadata: { name: "x" } }), /an empty namespace may not be set/);
});

test("an error of the server that is not a Status becomes InternalError", async () => {
  const broken = localClient(() => Promise.reject(new Error("boom")), { name: "x", groups: [] });

  await assert.rejects(broken.list(Widget), (error: StatusError) => error.reason === "InternalError");
});

test("delete() resolves with an object that still exists and with undefined for one that is gone", async () => {
  await using api = await newApi();
  const { client } = api;
  await client.create(Widget, widget("gone"));
  await client.create(Widget, { metadata: { namespace: "default", name: "held", finalizers: ["example.com/hold"] } });

  const gone = await client.delete(Widget, { namespace: "default", name: "gone" });
  const held = await client.delete(Widget, { namespace: "default", name: "held" });

  assert.equal(gone, undefined);
  assert.ok(held?.metadata.deletionTimestamp);
});

test("updateStatus(), patch() and apply() use their own endpoints", async () => {
  await using api = await newApi();
  const { client } = api;
  const created = await client.create(Widget, widget("a"));

  await client.updateStatus(Widget, { ...created, spec: { size: 50 }, status: { ready: 1 } });
  await client.patch(Widget, created, { type: "merge", body: { spec: { color: "red" } } });
  await client.apply(Widget, widget("b", 7), { fieldManager: "test", force: true });

  const { items } = await client.list(Widget);
  assert.deepEqual(
    items.map(({ spec, status }) => ({ spec, status })),
    [
      { spec: { size: 1, color: "red" }, status: { ready: 1 } },
      { spec: { size: 7 }, status: undefined },
    ],
  );
});

test("calls carry the user and the trace, and events carry the trace that caused them", async () => {
  await using api = await newApi();
  const seen: { readonly request: ApiRequest; readonly inTrace: Trace | undefined }[] = [];
  api.intercept = (request) => void seen.push({ request, inTrace: currentTrace.getStore() });

  await currentTrace.run(trace, () => api.client.create(Widget, widget("a")));

  assert.equal(seen[0]?.request.peer.user?.name, "admin");
  assert.equal(seen[0]?.inTrace, trace);
  const [event] = await take(api, 1);
  const written = api.traceOf(api.revision);
  assert(written);
  assert.equal(written.traceId, trace.traceId);
  assert.equal(event?.type === "ADDED" && event.trace, traceparent(written));
});

test("watch() yields the initial objects, a bookmark, then changes, and ends with its signal", async () => {
  await using api = await newApi();
  await api.client.create(Widget, widget("a"));
  const stop = new AbortController();
  const events: string[] = [];

  for await (const event of api.client.watch(Widget, { signal: stop.signal, sendInitialEvents: true })) {
    events.push(
      event.type === "BOOKMARK" ? `end:${event.initialEventsEnd}` : `${event.type}:${event.object.metadata.name}`,
    );
    if (event.type === "BOOKMARK") await api.client.create(Widget, widget("b"));
    if (events.length === 3) stop.abort();
  }

  assert.deepEqual(events, ["ADDED:a", "end:true", "ADDED:b"]);
});

test("a watcher that falls too far behind is ended after its pending events", async () => {
  const events: string[] = [];
  const answer: Answer = {
    type: "watch",
    resource: Widget,
    start(sink) {
      queueMicrotask(() => {
        for (let revision = 1; revision <= 5; revision++) sink.bookmark(revision, false);
      });
      return () => events.push("stopped");
    },
  };
  const client = localClient(async () => answer, { name: "x", groups: [] }, { watchBuffer: 3 });

  for await (const event of client.watch(Widget, { signal: new AbortController().signal })) {
    if (event.type === "BOOKMARK") events.push(event.resourceVersion);
  }

  assert.deepEqual(events, ["1", "2", "3", "stopped"]);
});

test("a watch that the server refuses or ends with an error throws it", async () => {
  await using api = await newApi();
  await api.client.create(Widget, widget("a"));
  await api.client.create(Widget, widget("b"));
  await api.compact();
  const signal = new AbortController().signal;

  const iterate = async () => {
    for await (const _ of api.client.watch(Widget, { signal, resourceVersion: "1" }));
  };

  await assert.rejects(iterate, (error: StatusError) => error.code === 410);
});

test("raw() returns the bytes that HTTP would have carried", async () => {
  await using api = await newApi();
  const { client } = api;
  await client.create(Widget, widget("a"));

  const list = await client.raw("GET", "/apis/example.com/v1/namespaces/default/widgets");
  const missing = await client.raw("GET", "/apis/example.com/v1/namespaces/default/widgets/none");

  assert.equal(list.status, 200);
  assert.equal((JSON.parse(Buffer.from(list.body).toString()) as { kind: string }).kind, "WidgetList");
  assert.equal(missing.status, 404);
  assert.match(Buffer.from(missing.body).toString(), /"kind":"Status"/);
});

test("stream() has a list as a value, and makes its bytes only when they are read", async () => {
  await using api = await newApi();
  const { client } = api;
  let encoded = 0;
  const toJSON = () => ++encoded;
  const object = { ...(await client.create(Widget, widget("a"))), toJSON };
  const list = { resourceVersion: "7", continue: "", remainingItemCount: undefined };
  const answer = { type: "list", resource: Widget, items: [{ object }], list } as unknown as Answer;
  const local = localClient(async () => answer, { name: "someone", groups: [] });

  const { value, body } = await local.stream("GET", "/apis/example.com/v1/widgets");

  const { kind, items } = value as { kind: string; items: { spec: unknown }[] };
  assert.deepEqual([kind, items.length, items[0]?.spec, encoded], ["WidgetList", 1, { size: 1 }, 0]);
  const [bytes = new Uint8Array()] = await Array.fromAsync(body);
  assert.deepEqual([(JSON.parse(Buffer.from(bytes).toString()) as { items: unknown[] }).items, encoded], [[1], 1]);
});

async function take(api: FaultyApi, count: number): Promise<WatchEvent<Widget>[]> {
  const stop = new AbortController();
  const events: WatchEvent<Widget>[] = [];
  for await (const event of api.client.watch(Widget, { signal: stop.signal, sendInitialEvents: true })) {
    events.push(event);
    if (events.length === count) stop.abort();
  }
  return events;
}
