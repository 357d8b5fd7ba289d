import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLog } from "#lib/process/log.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { type AuditMode } from "./backend.ts";
import { BatchedBackend, type BatchOptions } from "./batches.ts";
import { type AuditEvent } from "./event.ts";

const event = (rest: string, short = rest, stage: AuditEvent["stage"] = "RequestReceived"): AuditEvent => ({
  stage,
  rest,
  legacy: () => rest,
  withoutBodies: () => event(short),
});

function setUp(mode: AuditMode, more: Partial<BatchOptions> = {}) {
  const clock = createVirtualClock();
  const batches: string[][] = [];
  const lost = new Map<string, number>();
  let gate: Promise<void> | undefined;
  const state = { isBroken: false, isClosed: false };
  const backend = new BatchedBackend(
    { mode, bufferSize: 10, maxBatchSize: 4, maxBatchWaitMs: 0, ...more },
    {
      name: "test",
      clock,
      log: silentLog,
      lost: (plugin, events) => void lost.set(plugin, (lost.get(plugin) ?? 0) + events),
      writer: {
        async write(events) {
          await gate;
          if (state.isBroken) throw new Error("no space left on device");
          batches.push(events.map(({ rest }) => rest));
        },
        async [Symbol.asyncDispose]() {
          state.isClosed = true;
        },
      },
    },
  );
  const hold = () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    gate = promise;
    return resolve;
  };
  return { backend, batches, lost, clock, state, hold };
}

test("in batch mode a request never waits, and what does not fit is dropped and counted", async () => {
  const { backend, batches, lost, hold } = setUp("batch");
  const release = hold();

  const results = Array.from({ length: 25 }, (_, n) => backend.process(event(String(n))));
  release();
  await backend[Symbol.asyncDispose]();

  assert(results.every((result) => result === true));
  assert.equal(batches.flat().length, 10);
  assert.deepEqual(batches[0], ["0", "1", "2", "3"]);
  assert.equal(lost.get("buffered"), 15);
});

test("few but huge events do not take more memory than the buffer may have", async () => {
  const { backend, lost, hold } = setUp("batch");
  const release = hold();
  const huge = "x".repeat(8 << 20);

  for (let n = 0; n < 10; n++) void backend.process(event(huge));
  release();
  await backend[Symbol.asyncDispose]();

  assert.equal(lost.get("buffered"), 2);
});

test("events wait for others, but not for long", async () => {
  const { backend, batches, clock } = setUp("batch", { maxBatchWaitMs: 30_000 });

  void backend.process(event("a"));
  await clock.advance(29_000);
  assert.deepEqual(batches, []);
  void backend.process(event("b"));
  await clock.advance(1000);
  assert.deepEqual(batches, [["a", "b"]]);
  for (const name of ["c", "d", "e", "f"]) void backend.process(event(name));
  await clock.settle();

  assert.deepEqual(batches[1], ["c", "d", "e", "f"]);
});

test("in blocking mode a request waits for its event, and goes on if it is lost", async () => {
  const { backend, lost, state, hold, clock } = setUp("blocking");
  const release = hold();
  let isDone = false;
  const processed = Promise.resolve(backend.process(event("a"))).finally(() => (isDone = true));

  await clock.settle();
  assert.equal(isDone, false);
  release();
  assert.equal(await processed, true);
  state.isBroken = true;
  assert.equal(await backend.process(event("b")), true);

  assert.equal(lost.get("test"), 1);
});

test("in blocking-strict mode a request learns that its event is lost", async () => {
  const { backend, state } = setUp("blocking-strict");
  state.isBroken = true;

  assert.equal(await backend.process(event("a")), false);
  state.isBroken = false;
  assert.equal(await backend.process(event("b")), true);
});

test("a request does not wait for a writer that hangs for longer than ten seconds", async () => {
  const { backend, batches, clock, hold } = setUp("blocking");
  const strict = setUp("blocking-strict");
  const release = hold();
  strict.hold();
  const first = backend.process(event("a"));
  const refused = strict.backend.process(event("a"));
  await clock.settle();
  const second = backend.process(event("b"));

  await Promise.all([clock.advance(10_000), strict.clock.advance(10_000)]);
  assert.deepEqual(await Promise.all([first, second]), [true, true]);
  assert.deepEqual([backend.process(event("c")), await refused], [true, false]);
  assert.equal(strict.backend.process(event("b")), false);
  release();
  await clock.settle();

  assert.deepEqual(batches.flat(), ["a", "b", "c"]);
});

test("in blocking-strict mode the event of a refused request is not written later, and the end of another one is", async () => {
  const { backend, batches, clock, lost, hold } = setUp("blocking-strict");
  const release = hold();
  const end = (rest: string) => event(rest, rest, "ResponseComplete");
  const first = backend.process(event("a"));
  await clock.settle();
  const waiting = [backend.process(event("b")), backend.process(end("c"))];

  await clock.advance(10_000);
  const late = [backend.process(event("d")), backend.process(end("e"))];
  assert.deepEqual(await Promise.all([first, ...waiting, ...late]), [false, false, false, false, false]);
  assert.equal(lost.get("test"), 2);
  release();
  await clock.settle();

  assert.deepEqual(batches.flat(), ["a", "c", "e"]);
});

test("the end of the server waits for a writer that hangs, but not for ever", async () => {
  const { backend, clock, lost, state, hold } = setUp("batch");
  hold();
  for (let n = 0; n < 6; n++) void backend.process(event(String(n)));

  const closed = backend[Symbol.asyncDispose]();
  await clock.advance(5000);
  await closed;

  assert.equal(state.isClosed, true);
  assert.equal(lost.get("test"), 2);
});

test("an event that is too long loses its bodies, and is lost if that does not help", async () => {
  const truncate = { maxEventBytes: 10, maxBatchBytes: 100 };
  const { backend, batches, lost } = setUp("batch", { truncate });
  const strict = setUp("blocking-strict", { truncate });

  for (const each of [
    event("0123456789"),
    event("0123456789a", "short"),
    event("ééééé!", "é"),
    event("0123456789ab"),
  ]) {
    assert.equal(backend.process(each), true);
  }
  await backend[Symbol.asyncDispose]();

  assert.deepEqual(batches, [["0123456789", "short", "é"]]);
  assert.deepEqual([...lost], [["truncate", 1]]);
  assert.equal(strict.backend.process(event("0123456789ab")), false);
});

test("a batch has at most as many bytes as it may have, but always an event", async () => {
  const { backend, batches } = setUp("batch", { truncate: { maxEventBytes: 10, maxBatchBytes: 6 } });

  for (const text of ["abc", "def", "g", "0123456789", "h"]) void backend.process(event(text));
  await backend[Symbol.asyncDispose]();

  assert.deepEqual(batches, [["abc", "def"], ["g"], ["0123456789"], ["h"]]);
});

test("batches are throttled in mode batch, but not at the end of the server", async () => {
  const throttle = { perSecond: 1, burst: 2 };
  const { backend, batches, clock } = setUp("batch", { throttle, maxBatchSize: 1 });
  const blocking = setUp("blocking", { throttle, maxBatchSize: 1 });

  for (let n = 0; n < 6; n++) void backend.process(event(String(n)));
  for (let n = 0; n < 6; n++) void blocking.backend.process(event(String(n)));
  await Promise.all([clock.settle(), blocking.clock.settle()]);
  assert.deepEqual([batches.length, blocking.batches.length], [2, 6]);
  await clock.advance(1000);
  assert.equal(batches.length, 3);
  await backend[Symbol.asyncDispose]();

  assert.equal(batches.length, 6);
});

test("a request waits for its own event, however many slow writes come before it", async () => {
  const { backend, clock, hold } = setUp("blocking", { maxBatchSize: 1 });
  let release = hold();
  const waited = ["a", "b", "c"].map((text) => {
    const state = { isOver: false };
    void Promise.resolve(backend.process(event(text))).then(() => {
      state.isOver = true;
    });
    return state;
  });
  await clock.advance(9000);
  const next = hold();
  release();
  await clock.advance(0);
  release = next;
  await clock.advance(1000);

  assert.deepEqual(
    waited.map(({ isOver }) => isOver),
    [true, true, true],
  );
  release();
  await backend[Symbol.asyncDispose]();
});

test("nobody waits for an event after the end of the server", async () => {
  const { backend, clock, hold } = setUp("blocking", { maxBatchSize: 1 });
  hold();
  const answers = ["a", "b"].map((text) => backend.process(event(text)));

  const closed = backend[Symbol.asyncDispose]();
  await clock.advance(5000);
  await closed;

  assert.deepEqual(await Promise.all(answers), [true, true]);
});
