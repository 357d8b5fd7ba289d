import assert from "node:assert/strict";
import { test } from "node:test";
import { Metrics } from "#lib/process/metrics.ts";
import { blankRequestInfo } from "#server/request/request-info.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { FlowControl } from "./flow-control.ts";
import { FlowMetrics } from "./flow-metrics.ts";
import { Pace } from "./queues/pace.ts";
import { QueueSet } from "./queues/queue-set.ts";
import { Tally, Ticket } from "./queues/ticket.ts";
import { KindTimes, RatioTimes } from "./usage-times.ts";

test("a ratio counts for as long as it lasts, in nanoseconds", () => {
  const times = new RatioTimes([0, 0.5, 1]);
  times.pass(2, 0, 10);
  times.pass(3, 5, 10);
  times.pass(1, 6, 10);
  times.pass(4, 20, 10);
  assert.deepEqual([...times.counts.buckets], [2e6, 3e6, 1e6]);
  assert.equal(times.counts.count, 10e6);
  assert.equal(times.counts.sum, 0.5 * 3e6 + 0.6 * 1e6 + 2 * 4e6);
});

test("a level knows how long its seats were in use, and how long requests waited", async () => {
  const clock = createVirtualClock();
  const pace = new Pace(() => clock.now(), { afterTurn: () => {}, afterPromises: (callback) => callback() });
  const set = new QueueSet(clock, pace);
  set.kinds = new KindTimes(clock.now());
  set.response = { type: "Queue", queues: 1, handSize: 1, queueLength: 10 };
  set.times.limit = 1;
  set.times.capacity = 10;
  set.configure(1, { partMs: 1000, wholeMs: 1000 });
  const start = (verb: "list" | "create"): Ticket => {
    const work = { seats: 1, finalSeats: 0, finalMs: 0 };
    const info = { ...blankRequestInfo, verb };
    const user = { name: "jane", groups: [] };
    const tally = new Tally("level", "schema");
    const ticket = set.start({ tally, distinguisher: "", hand: [0], work, user, info, isPatient: false });
    assert(ticket instanceof Ticket);
    return ticket;
  };
  await clock.advance(5);
  const list = start("list");
  const create = start("create");
  await clock.advance(10);
  list.finish();
  await clock.advance(20);
  create.finish();
  await clock.advance(5);
  set.catchUp();

  const { times, kinds } = set;
  assert.equal(times.seats.counts.count, 40e6);
  assert.equal(times.seats.counts.sum, 30e6, "one of one seat for 30 ms");
  assert.equal(times.executing.counts.sum, 30e6);
  assert.equal(times.waiting.counts.sum, 1e6, "one of ten places for 10 ms");
  assert.equal(times.demand.counts.sum, 40e6, "two seats for 10 ms, one for 20 ms");
  assert.equal(kinds.times.executing.readOnly.counts.sum, 10e6);
  assert.equal(kinds.times.executing.mutating.counts.sum, 20e6);
  assert.equal(kinds.times.waiting.mutating.counts.sum, 10e6);
  assert.equal(kinds.times.waiting.readOnly.counts.sum, 0);
});

/** Those of v1.36 that are neither hidden nor about an implementation with epochs. */
const upstream = `current_executing_requests current_executing_seats current_inqueue_requests current_inqueue_seats
  current_limit_seats current_r demand_seats demand_seats_average demand_seats_high_watermark demand_seats_smoothed
  demand_seats_stdev dispatch_r dispatched_requests_total latest_s lower_limit_seats next_discounted_s_bounds next_s_bounds
  nominal_limit_seats priority_level_request_utilization priority_level_seat_utilization read_vs_write_current_requests
  rejected_requests_total request_dispatch_no_accommodation_total request_execution_seconds
  request_queue_length_after_enqueue request_wait_duration_seconds seat_fair_frac target_seats upper_limit_seats
  watch_count_samples work_estimated_seats`.split(/\s+/);

test("the metrics have upstream's names, and the histograms of a level its labels", () => {
  const metrics = new Metrics();
  const flows = new FlowMetrics(metrics);
  const clock = createVirtualClock();
  const estimate = { find: () => undefined, sizeOf: () => ({ objects: 0, bytes: 0 }), watchersOf: () => 0 };
  const loopback = { name: "loopback", groups: [] };
  flows.show(new FlowControl({ clock, seats: 600, estimate, loopback, metrics: flows, maxWaitMs: 1000 }));
  const text = metrics.render();
  const names = [...text.matchAll(/^# TYPE apiserver_flowcontrol_(\S+)/gm)].map(([, name]) => name);
  assert.deepEqual(names.toSorted(), upstream);
  for (const line of [
    'priority_level_seat_utilization_bucket{phase="executing",priority_level="catch-all",le="0.99"} ',
    'priority_level_request_utilization_count{phase="waiting",priority_level="exempt"} ',
    'demand_seats_bucket{priority_level="catch-all",le="1.2"} ',
    'read_vs_write_current_requests_sum{phase="executing",request_kind="mutating"} ',
  ])
    assert.ok(text.includes(`apiserver_flowcontrol_${line}`), line);
});
