import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "#lib/data/random.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { hopNumber } from "./hop.ts";
import { TraceIds } from "./ids.ts";
import { TraceRecorder } from "./recorder.ts";
import { RevisionTraces } from "./revision-traces.ts";
import { currentTrace, parseTraceparent, traceparent } from "./trace.ts";

const pod = { resource: "pods", namespace: "default", name: "web" };
const setup = (capacity = 100) => {
  const clock = createVirtualClock(0);
  return { clock, recorder: new TraceRecorder({ clock, random: seededRandom(1), capacity }) };
};

test("nested spans form one tree", async () => {
  const { clock, recorder } = setup();

  const outer = recorder.startSpan({ hop: "persist", component: "apiserver", object: pod });
  await currentTrace.run(outer.trace, async () => {
    const inner = recorder.startSpan({ hop: "control", component: "replicaset" });
    await clock.advance(5);
    inner.end({ object: pod, revision: 7, facts: { created: 3 } });
  });
  outer.end();

  const [inner, root] = recorder.byTrace(outer.trace.traceId);
  assert.equal(inner?.parentId, root?.spanId);
  assert.equal(root?.parentId, "");
  assert.deepEqual([inner?.durationMs, inner?.revision, inner?.facts], [5, 7, { created: 3 }]);
  assert.deepEqual(recorder.tracesOf(pod), [outer.trace.traceId]);
  assert.equal(parseTraceparent(traceparent(outer.trace))?.spanId, outer.trace.spanId);
});

test("the recorder keeps the newest hops and drops the oldest everywhere", () => {
  const { recorder } = setup(2);
  const traces = ["a", "b", "c"].map((name) => {
    const span = recorder.startSpan({ hop: "schedule", component: "scheduler", object: { ...pod, name } });
    span.end();
    return span.trace.traceId;
  });

  assert.deepEqual(recorder.byTrace(traces[0] ?? ""), []);
  assert.deepEqual(recorder.byObject({ ...pod, name: "a" }), []);
  assert.equal(recorder.byTrace(traces[2] ?? "").length, 1);
  assert.equal([...recorder.all()].length, 2);
});

test("a large recorder drops the oldest hops across its pages", () => {
  const { recorder } = setup(2500);
  const traces = Array.from({ length: 4000 }, (_, at) => {
    const span = recorder.startSpan({ hop: "schedule", component: "scheduler", object: { ...pod, name: `pod-${at}` } });
    span.end({ revision: at });
    return span.trace.traceId;
  });

  const kept = [...recorder.all()];
  assert.deepEqual(
    kept.map(({ traceId }) => traceId),
    traces.slice(1500),
  );
  assert.deepEqual(
    kept.map(({ revision }) => revision),
    traces.map((_, at) => at).slice(1500),
  );
  assert.equal(recorder.byTrace(traces[3999] ?? "")[0]?.object?.name, "pod-3999");
});

test("the steps of a request are separate, consecutive hops", () => {
  const { recorder } = setup();
  const { traceId, spanId } = recorder.ids.next(undefined);
  const request = { traceId, spanId, parentId: "", hop: "client", component: "apiserver", object: pod } as const;

  recorder.record(
    { ...request, revision: 9, startMs: 100, durationMs: 8, facts: { verb: "create" } },
    { hops: ["authenticate", "persist"], endsMs: [102, 107] },
  );

  const [root, first, second] = recorder.byTrace(traceId);
  assert.deepEqual(root?.facts, { verb: "create" });
  assert.deepEqual([first?.parentId, first?.hop, first?.startMs, first?.durationMs], [spanId, "authenticate", 100, 2]);
  assert.deepEqual([second?.hop, second?.startMs, second?.durationMs, second?.revision], ["persist", 102, 5, 9]);
  assert.equal(new Set([spanId, first?.spanId, second?.spanId]).size, 3);
});

test("a recorder without capacity keeps nothing", () => {
  const { recorder } = setup(0);
  recorder.startSpan({ hop: "schedule", component: "scheduler", object: pod }).end();

  assert.equal(recorder.isOn, false);
  assert.deepEqual(recorder.byObject(pod), []);
});

test("the twelve hops have their numbers", () => {
  assert.deepEqual([hopNumber("client"), hopNumber("persist"), hopNumber("serve")], [1, 7, 12]);
});

test("RevisionTraces remembers only the newest revisions", () => {
  const ids = new TraceIds(seededRandom(7));
  const traces = Array.from({ length: 12 }, () => ids.next(undefined));
  const ring = new RevisionTraces(8);

  traces.forEach((trace, at) => {
    if (at !== 6) ring.remember(at + 1, trace);
  });

  assert.deepEqual(ring.of(12), traces[11]);
  assert.deepEqual(ring.of(6), traces[5]);
  assert.equal(ring.of(7), undefined);
  assert.equal(ring.of(4), undefined);
  assert.equal(ring.of(0), undefined);
});

test("RevisionTraces finds old revisions across its pages, wherever the store begins", () => {
  const ids = new TraceIds(seededRandom(7));
  const traces = Array.from({ length: 12_000 }, () => ids.next(undefined));
  const ring = new RevisionTraces(10_000);
  const first = 7_654_321;

  traces.forEach((trace, at) => void ring.remember(first + at, trace));

  assert.equal(ring.of(first + 1999), undefined);
  for (const at of [2000, 4095, 4096, 9999, 11_999]) assert.deepEqual(ring.of(first + at), traces[at]);
  assert.equal(ring.of(first - 1), undefined);
});
