import assert from "node:assert/strict";
import { Socket } from "node:net";
import { test } from "node:test";
import { type UserInfo } from "#api/exchange.ts";
import { silentLog } from "#lib/process/log.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { Callers } from "./callers.ts";
import { ServerConnections } from "./connections.ts";
import { defaultLimits } from "./limits.ts";
import { WireRequest } from "./wire-request.ts";

const jane: UserInfo = { name: "jane", groups: [] };

/** A server with one connection of jane's. */
function open() {
  const clock = createVirtualClock(0);
  const callers = new Callers(defaultLimits);
  const connections = new ServerConnections({ callers, clock, log: silentLog });
  const connection = connections.accept(new Socket());
  const request = async (): Promise<WireRequest> => {
    connections.openStream(connection);
    const begun = new WireRequest("GET", "/list", { joined: {} }, { connection, connections, callers, clock });
    await begun.admit(jane, { passesOn: false });
    return begun;
  };
  return { callers, request };
}

test("of many requests that wait for room, one is woken, and the next after it", async (t) => {
  const { callers, request } = open();
  const unread = await request();
  unread.answered(40 << 20);
  const waits = t.mock.method(callers, "wait");
  const made: number[] = [];
  const waiting = await Promise.all(Array.from({ length: 20 }, request));
  for (const [n, each] of waiting.entries()) void each.room()?.then(() => made.push(n));

  unread.gone();
  await new Promise(setImmediate);
  assert.deepEqual(made, [0]);
  waiting[0]?.answered(100);
  await new Promise(setImmediate);

  assert.deepEqual(made, [0, 1]);
  assert.equal(waits.mock.callCount(), 20);
});

test("a request that hangs up as it is woken leaves its place to the next", async () => {
  const { request } = open();
  const unread = await request();
  unread.answered(40 << 20);
  const [first, second] = [await request(), await request()];
  const refused = assert.rejects(async () => await first.room(), /the client hung up/);
  const woken = second.room();

  unread.gone();
  first.gone();

  await refused;
  await woken;
});

function begin() {
  const clock = createVirtualClock(0);
  const callers = new Callers(defaultLimits);
  const connections = new ServerConnections({ callers, clock, log: silentLog });
  const connection = connections.accept(new Socket());
  assert(connection);
  connections.openStream(connection);
  const request = new WireRequest("GET", "/watch", { joined: {} }, { connection, connections, callers, clock });
  return { request, caller: callers.of(jane, "") };
}

test("a client that hangs up before authentication does not count as having a request", () => {
  const { request, caller } = begin();

  request.gone();

  assert.throws(() => request.admit(jane, { passesOn: false }), /the client hung up/);
  assert.equal(caller.requests, 0);
});

test("a client that hangs up before its watch begins does not count as having a watch", async () => {
  const { request, caller } = begin();
  await request.admit(jane, { passesOn: false });

  request.gone();

  assert.throws(() => request.countWatch(), /the client hung up/);
  assert.deepEqual([caller.requests, caller.watches], [0, 0]);
});

test("unread bytes of a watch are released when its client hangs up", async () => {
  const { request, caller } = begin();
  await request.admit(jane, { passesOn: false });
  request.setUnread(1000);
  request.setUnread(300);
  assert.equal(caller.unreadBytes, 300);

  request.gone();
  request.setUnread(500);

  assert.equal(caller.unreadBytes, 0);
});
