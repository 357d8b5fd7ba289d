import assert from "node:assert/strict";
import { test } from "node:test";
import { Event } from "#api/core/event.ts";
import { serviceUnavailable } from "#api/status.ts";
import { openFaultyApi } from "#testing/faulty-api.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { Widget } from "#testing/widget.ts";
import { currentTrace } from "#trace/trace.ts";
import { type Client } from "./client.ts";
import { createEventRecorder, referenceTo } from "./events.ts";

async function setup() {
  const clock = createVirtualClock();
  const api = await openFaultyApi(clock);
  const recorder = createEventRecorder(api.client, { component: "widget-controller", host: "node-1", clock });
  const events = async () => (await api.client.list(Event)).items;
  return { api, clock, recorder, events };
}

const about = (name: string) => ({
  kind: "Widget",
  apiVersion: "example.com/v1",
  metadata: { namespace: "default", name, uid: `uid-${name}`, resourceVersion: "7" },
});

test("an event says what happened to which object, when, and who reported it", async () => {
  const { recorder, events } = await setup();

  recorder.event(referenceTo(Widget, about("a"), "spec.color"), "Warning", "Faded", "the color is gone");
  await recorder.flush();

  const [event] = await events();
  assert.deepEqual(event?.involvedObject, {
    kind: "Widget",
    apiVersion: "example.com/v1",
    namespace: "default",
    name: "a",
    uid: "uid-a",
    resourceVersion: "7",
    fieldPath: "spec.color",
  });
  assert.equal(event?.type, "Warning");
  assert.equal(event?.reason, "Faded");
  assert.equal(event?.message, "the color is gone");
  assert.deepEqual(event?.source, { component: "widget-controller", host: "node-1" });
  assert.equal(event?.count, 1);
  assert.equal(event?.firstTimestamp, "2026-01-01T08:00:00Z");
  assert.match(event?.metadata.name, /^a\.[0-9a-f]{16}$/);
});

test("a repeated event increments its count", async () => {
  const { clock, recorder, events } = await setup();

  for (let round = 0; round < 3; round++) {
    recorder.event(about("a"), "Normal", "Turned", "turned left");
    await clock.advance(1000);
  }
  await recorder.flush();

  const found = await events();
  assert.equal(found.length, 1);
  assert.deepEqual([found[0]?.count, found[0]?.lastTimestamp], [3, "2026-01-01T08:00:02Z"]);
});

test("recorders that write about objects of one name at one moment leave each other's events alone", async () => {
  const { api, clock, recorder, events } = await setup();
  const other = createEventRecorder(api.client, { component: "gadget-controller", clock });
  const gadget = { ...about("a"), kind: "Gadget" };

  for (let round = 0; round < 2; round++) {
    recorder.event(about("a"), "Normal", "Turned", "turned left");
    other.event(gadget, "Warning", "Stuck", "cannot turn");
    await Promise.all([recorder.flush(), other.flush()]);
  }

  const found = (await events()).map(({ involvedObject, message, count }) => [involvedObject.kind, message, count]);
  assert.deepEqual(found.sort(), [
    ["Gadget", "cannot turn", 2],
    ["Widget", "turned left", 2],
  ]);
});

test("an event that has expired meanwhile is written again", async () => {
  const { api, recorder, events } = await setup();
  recorder.event(about("a"), "Normal", "Turned", "turned left");
  await recorder.flush();
  const [first] = await events();
  assert(first);
  await api.client.delete(Event, first);

  recorder.event(about("a"), "Normal", "Turned", "turned left");
  await recorder.flush();

  assert.deepEqual(
    (await events()).map(({ count }) => count),
    [1],
  );
});

test("many events that differ only in their message are combined", async () => {
  const { recorder, events } = await setup();

  for (let round = 1; round <= 15; round++) recorder.event(about("a"), "Normal", "Turned", `turned ${round} times`);
  await recorder.flush();

  const found = await events();
  const joined = found.find(({ message }) => message?.startsWith("(combined from similar events): "));
  assert.equal(found.length, 10);
  assert.deepEqual([joined?.count, joined?.message], [6, "(combined from similar events): turned 15 times"]);
});

test("an object with too many events is throttled, others are not", async () => {
  const { clock, recorder, events } = await setup();

  for (let round = 1; round <= 100; round++) recorder.event(about("noisy"), "Normal", `Reason${round}`, "x");
  recorder.event(about("quiet"), "Normal", "Turned", "x");
  await recorder.flush();
  const early = (await events()).length;
  await clock.advance(300_000);
  recorder.event(about("noisy"), "Normal", "Later", "x");
  await recorder.flush();

  assert.equal(early, 26);
  assert.equal((await events()).length, 27);
});

test("failed writes are retried without an error for the caller", async () => {
  const { api, clock, recorder, events } = await setup();
  let failures = 2;
  api.intercept = () => {
    if (failures-- > 0) throw serviceUnavailable("down");
  };

  recorder.event(about("a"), "Normal", "Turned", "x");
  await clock.advance(30_000);
  await recorder.flush();

  assert.equal((await events()).length, 1);
});

test("an event belongs to the trace in which it was reported", async () => {
  const { api, recorder } = await setup();
  const before = api.revision;
  const trace = { traceId: "a".repeat(32), spanId: "b".repeat(16) };

  currentTrace.run(trace, () => recorder.event(about("a"), "Normal", "Turned", "x"));
  recorder.event(about("b"), "Normal", "Turned", "x");
  await recorder.flush();

  assert.equal(api.traceOf(before + 1)?.traceId, trace.traceId);
  assert.notEqual(api.traceOf(before + 2)?.traceId, trace.traceId);
});

test("a longer queue is written more concurrently, and the events of each object in order", async () => {
  const { api, clock } = await setup();
  let together = 0;
  let most = 0;
  const counting: Client = {
    ...api.client,
    async create(resource, object, options) {
      most = Math.max(most, ++together);
      await clock.sleep(1);
      together--;
      return await api.client.create(resource, object, options);
    },
  };
  const recorder = createEventRecorder(counting, { component: "widget-controller", clock });

  for (let n = 0; n < 1000; n++) {
    for (const reason of ["First", "Second"]) recorder.event(about(`w${n}`), "Normal", reason, "turned");
  }
  const done = recorder.flush().then(() => true);
  await clock.runUntil(() => Promise.race([done, false]), 60_000);

  const { items } = await api.client.list(Event);
  assert.equal(items.length, 2000);
  assert.equal(most, 11);
  const reasonsOf = (name: string) =>
    items
      .filter(({ involvedObject }) => involvedObject.name === name)
      .toSorted((a, b) => Number(a.metadata.resourceVersion) - Number(b.metadata.resourceVersion))
      .map(({ reason }) => reason);
  for (const name of ["w0", "w500", "w999"]) assert.deepEqual(reasonsOf(name), ["First", "Second"]);
});

test("events wait for more urgent work, but not for long", async () => {
  const clock = createVirtualClock();
  const api = await openFaultyApi(clock);
  let isBusy = true;
  await using recorder = createEventRecorder(api.client, { component: "c", clock, isBusy: () => isBusy });
  const count = async () => (await api.client.list(Event)).items.length;

  recorder.event(about("a"), "Normal", "Turned", "turned left");
  await clock.advance(4000);
  assert.equal(await count(), 0);
  await clock.advance(2000);
  assert.equal(await count(), 1);

  recorder.event(about("b"), "Normal", "Turned", "turned left");
  await clock.advance(100);
  assert.equal(await count(), 1);
  isBusy = false;
  await clock.advance(100);
  assert.equal(await count(), 2);
});
