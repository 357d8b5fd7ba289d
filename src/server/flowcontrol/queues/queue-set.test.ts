import assert from "node:assert/strict";
import { test } from "node:test";
import { blankRequestInfo } from "#server/request/request-info.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { Pace } from "./pace.ts";
import { QueueSet, type Response, type Started } from "./queue-set.ts";
import { type Asking, Tally, Ticket } from "./ticket.ts";

const queueing = (queueLength = 50): Response => ({ type: "Queue", queues: 16, handSize: 1, queueLength });

/** A level whose time the test moves; turns of the loop end when the test says so. */
function setUp({
  limit = 2,
  response = queueing(),
  partMs = 1000,
  wholeMs = partMs,
}: {
  limit?: number;
  response?: Response;
  partMs?: number;
  wholeMs?: number;
} = {}) {
  const clock = createVirtualClock();
  const ends: (() => void)[] = [];
  const pace = new Pace(() => clock.now(), {
    afterTurn: (callback) => void ends.push(callback),
    afterPromises: (callback) => callback(),
  });
  const set = new QueueSet(clock, pace);
  set.response = response;
  set.configure(limit, { partMs, wholeMs });
  const tally = new Tally("level", "schema");
  const started: string[] = [];
  const start = (name: string, hand: number, more: Partial<Asking> & { seats?: number } = {}): Started => {
    const work = { seats: more.seats ?? 1, finalSeats: 0, finalMs: 0 };
    const user = { name, groups: [] };
    const asking = {
      tally,
      distinguisher: "",
      hand: [hand],
      work,
      user,
      info: blankRequestInfo,
      isPatient: false,
      ...more,
    };
    const ticket = set.start(asking);
    if (ticket instanceof Ticket) {
      if (ticket.hasStarted) started.push(name);
      else ticket.go = () => started.push(name);
    }
    return ticket;
  };
  const ticketOf = (ticket: Started): Ticket => {
    assert(ticket instanceof Ticket, `rejected: ${String(ticket)}`);
    return ticket;
  };
  const endTurn = () => {
    for (const end of ends.splice(0)) end();
  };
  return { clock, set, tally, started, start, ticketOf, endTurn };
}

test("a request waits until there are seats", () => {
  const { set, start, started, ticketOf } = setUp();
  const first = ticketOf(start("a", 1));
  start("b", 1);
  start("c", 1);

  assert.deepEqual(started, ["a", "b"]);
  set.finish(first);
  set.finish(first);
  assert.deepEqual(started, ["a", "b", "c"]);
  assert.deepEqual([set.seatsInUse, set.waiting, set.executing], [2, 0, 2]);
});

test("a flow with many requests does not delay a flow with few", () => {
  const { clock, set, start, started, ticketOf } = setUp({ limit: 1 });
  const first = ticketOf(start("many", 1));
  const waiting = Array.from({ length: 20 }, (_, n) => ticketOf(start(`many ${n}`, 1)));
  const few = ticketOf(start("few", 2));

  void clock.advance(5);
  set.finish(first);

  assert.equal(started[1], "few", "the first flow has had its turn");
  set.finish(few);
  assert.equal(started[2], "many 0");
  for (const ticket of waiting) set.finish(ticket);
  assert.equal(set.isIdle, true);
  assert.equal(set.queues.size, 0);
});

test("flows with different work get the same seats over time", async () => {
  const { clock, set, start } = setUp({ limit: 1 });
  const served = { short: 0, long: 0 };
  const running = new Map<Ticket, number>();
  const run = (name: "short" | "long", hand: number, ms: number) => {
    const ticket = start(name, hand) as Ticket;
    const begin = () => running.set(ticket, clock.now() + ms);
    if (ticket.hasStarted) begin();
    else ticket.go = begin;
    return ticket;
  };
  const names = new Map<Ticket, "short" | "long">();
  for (let n = 0; n < 40; n++) {
    names.set(run("long", 1, 9), "long");
    for (let m = 0; m < 9; m++) if (n < 5) names.set(run("short", 2, 1), "short");
  }

  for (let ms = 0; ms < 90; ms++) {
    await clock.advance(1);
    for (const [ticket, end] of running) {
      if (end > clock.now()) continue;
      running.delete(ticket);
      served[names.get(ticket) ?? "long"] += names.get(ticket) === "long" ? 9 : 1;
      set.finish(ticket);
    }
  }

  assert(served.short >= 36 && served.long >= 36, `short ${served.short} ms, long ${served.long} ms`);
});

test("a full queue refuses requests, except those of components in this process", () => {
  const { start, tally, set } = setUp({ limit: 1, response: queueing(2) });
  start("a", 1);
  start("b", 1);
  start("c", 1);

  assert.equal(start("d", 1), "queue-full");
  assert(start("other queue", 2) instanceof Ticket);
  assert(start("own", 1, { isPatient: true }) instanceof Ticket);
  assert.equal(tally.rejected["queue-full"], 1);
  assert.equal(set.waiting, 4);
});

test("a level without queues refuses what has no seats", () => {
  const { start, set } = setUp({ limit: 2, response: { type: "Reject" } });

  assert(start("a", 1) instanceof Ticket);
  assert.equal(start("wide", 1, { seats: 2 }), "concurrency-limit");
  assert(start("b", 1) instanceof Ticket);
  assert.equal(start("c", 1), "concurrency-limit");
  assert.equal(set.rejected, 2);
});

test("an exempt level refuses nothing and counts everything", () => {
  const { start, set } = setUp({ limit: 0, response: { type: "Exempt" } });
  for (let n = 0; n < 100; n++) assert(start(String(n), 1, { seats: 10 }) instanceof Ticket);

  assert.equal(set.seatsInUse, 1000);
});

test("a wide request waits for its seats, and one wider than the level runs alone", () => {
  const { set, start, started, ticketOf } = setUp({ limit: 4 });
  const first = ticketOf(start("first", 1, { seats: 3 }));
  const wide = ticketOf(start("wide", 2, { seats: 2 }));
  const wider = ticketOf(start("wider", 3, { seats: 9 }));

  assert.deepEqual(started, ["first"]);
  set.finish(first);
  assert.deepEqual(started, ["first", "wide"]);
  set.finish(wide);
  assert.deepEqual(started, ["first", "wide", "wider"]);
  assert.equal(set.seatsInUse, 9);
  set.finish(wider);
  assert.equal(set.seatsInUse, 0);
});

test("the seats for the events of a write are given back after them", async () => {
  const { clock, set, start, started, ticketOf } = setUp({ limit: 3 });
  const write = ticketOf(start("write", 1, { work: { seats: 1, finalSeats: 3, finalMs: 20 } }));
  start("next", 2);

  set.finish(write);
  assert.deepEqual([started, set.executing, set.seatsInUse], [["write"], 0, 3]);
  await clock.advance(19);
  assert.deepEqual(started, ["write"]);
  await clock.advance(1);
  assert.deepEqual([started, set.seatsInUse], [["write", "next"], 1]);
});

test("final seats beyond the level take fewer seats for longer", async () => {
  const { clock, set, start, ticketOf } = setUp({ limit: 2 });
  const write = ticketOf(start("write", 1, { work: { seats: 1, finalSeats: 6, finalMs: 10 } }));

  set.finish(write);
  assert.equal(set.seatsInUse, 2);
  await clock.advance(29);
  assert.equal(set.seatsInUse, 2);
  await clock.advance(1);
  assert.equal(set.seatsInUse, 0);
});

test("a request that gave up waiting is forgotten", () => {
  const { set, start, started, ticketOf, tally } = setUp({ limit: 1 });
  const first = ticketOf(start("first", 1));
  const left = ticketOf(start("left", 2));
  start("last", 3);

  set.cancel(left);
  set.cancel(first);
  set.finish(first);

  assert.deepEqual(started, ["first", "last"]);
  assert.deepEqual([set.cancelled, tally.rejected["time-out"], set.waiting, tally.seatsWaiting], [1, 1, 0, 0]);
});

test("requests that never pause get only a part of a turn of the event loop", async () => {
  const { clock, set, start, started, ticketOf, endTurn } = setUp({ limit: 100, partMs: 3 });
  const runAll = async (names: string[]) => {
    for (const name of names) {
      const ticket = ticketOf(start(name, 1));
      await clock.advance(2);
      if (ticket.hasStarted) set.finish(ticket);
    }
  };

  await runAll(["a", "b", "c", "d"]);
  assert.deepEqual(started, ["a", "b"], "the seats are free, but the time of this turn is used up");
  endTurn();
  assert.deepEqual(started, ["a", "b", "c", "d"]);
});

test("requests of components alone get the whole turn, until a client waits too", async () => {
  const { clock, set, start, started, ticketOf, endTurn } = setUp({ limit: 100, partMs: 3, wholeMs: 7 });
  const run = async (name: string, isPatient: boolean) => {
    const ticket = ticketOf(start(name, 1, { isPatient }));
    await clock.advance(2);
    if (ticket.hasStarted) set.finish(ticket);
  };

  for (const name of ["a", "b", "c", "d", "e"]) await run(name, true);
  assert.deepEqual(started, ["a", "b", "c", "d"], "8 ms are more than the whole");
  endTurn();
  assert.deepEqual(started.splice(0), ["a", "b", "c", "d", "e"]);

  endTurn();
  for (const name of ["f", "g"]) await run(name, true);
  await run("client", false);
  assert.deepEqual(started, ["f", "g"], "4 ms are more than the part");
  await run("h", true);
  assert.deepEqual(started, ["f", "g"], "the client is first");
});

test("a level that has used nothing of a turn is not delayed by others", async () => {
  const busy = setUp({ limit: 1, partMs: 1 });
  const ticket = busy.ticketOf(busy.start("busy", 1));
  await busy.clock.advance(50);
  busy.set.finish(ticket);
  assert.equal((busy.start("next", 1) as Ticket).hasStarted, false);

  const other = setUp({ limit: 1, partMs: 1 });
  assert.equal((other.start("lease", 1) as Ticket).hasStarted, true);
});
