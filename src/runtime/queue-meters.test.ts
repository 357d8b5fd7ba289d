import assert from "node:assert/strict";
import { test } from "node:test";
import { Metrics } from "#lib/process/metrics.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { QueueMeters } from "./queue-meters.ts";
import { WorkQueue } from "./work-queue.ts";

test("a metered queue tells how much there is to do, and how long it takes", async () => {
  const clock = createVirtualClock();
  const metrics = new Metrics();
  const queue = new WorkQueue({ clock });
  queue.meter = new QueueMeters(metrics, clock).of("job");
  const shown = (name: string): string | undefined =>
    new RegExp(`^workqueue_${name}\\{name="job"[^}]*\\} (.+)$`, "m").exec(metrics.render())?.[1];

  for (const key of ["a", "b", "a"]) queue.add(key);
  await clock.advance(2000);
  const first = await queue.next();
  queue.add("a");
  queue.add("a");
  await clock.advance(3000);

  assert.equal(first?.key, "a");
  assert.equal(shown("depth"), "2");
  assert.equal(shown("adds_total"), "3");
  assert.equal(shown("queue_duration_seconds_sum"), "2");
  assert.equal(shown("unfinished_work_seconds"), "3");
  assert.equal(shown("longest_running_processor_seconds"), "3");

  queue.addFailed("a");
  queue.done("a");

  assert.equal(shown("retries_total"), "1");
  assert.equal(shown("work_duration_seconds_sum"), "3");
  assert.equal(shown("unfinished_work_seconds"), "0");
  assert.equal(shown("depth"), "2");
  assert.equal(shown("adds_total"), "3");
  queue.close();
  assert.equal(shown("depth"), "0");
});
