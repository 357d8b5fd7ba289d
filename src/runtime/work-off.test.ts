import assert from "node:assert/strict";
import { test } from "node:test";
import { staleObject } from "#api/status.ts";
import { type Log, silentLog } from "#lib/process/log.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { Widget } from "#testing/widget.ts";
import { workOff } from "./work-off.ts";
import { WorkQueue } from "./work-queue.ts";

/** Processes a queue; `endings` says how the first runs of each key end. */
function start(endings: Record<string, (() => unknown)[]>) {
  const clock = createVirtualClock();
  const queue = new WorkQueue<string>({ clock });
  const lines: string[] = [];
  const note = (level: string) => (message: string) => void lines.push(`${level} ${message}`);
  const log: Log = { ...silentLog, debug: note("debug"), warn: note("warn"), with: () => log };
  const runs: string[] = [];
  const run = async ({ key, cause }: { key: string; cause?: string | undefined }) => {
    runs.push(cause ? `${key} for ${cause}` : key);
    const ending = endings[key]?.shift()?.();
    return ending === "later" ? { afterMs: 5_000, cause: "itself" } : undefined;
  };
  const stop = new AbortController();
  const ended = workOff(queue, { name: "test", log, run }, stop.signal);
  return { clock, queue, lines, runs, ended };
}
const fail = (error: Error) => () => {
  throw error;
};

test("workOff() retries failed work, and warns unless it was a conflict", async () => {
  const { clock, queue, lines, runs, ended } = start({
    a: [fail(new Error("no"))],
    b: [fail(staleObject(Widget, "b"))],
  });
  queue.add("a");
  queue.add("b");

  await clock.advance(10_000);
  queue.close();
  await ended;

  assert.deepEqual(runs.toSorted(), ["a", "a", "b", "b"]);
  assert.deepEqual(lines, ["warn reconcile failed", "debug reconcile lost a race"]);
});

test("workOff() runs again when the work asks for it, with the cause that it names", async () => {
  const { clock, queue, runs, ended } = start({ a: [() => "later"] });
  queue.add("a", "a change");

  await clock.advance(4_000);
  const early = [...runs];
  await clock.advance(2_000);
  queue.close();
  await ended;

  assert.deepEqual(early, ["a for a change"]);
  assert.deepEqual(runs, ["a for a change", "a for itself"]);
});
