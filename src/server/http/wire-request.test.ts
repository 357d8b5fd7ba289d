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

function begin() {
  const clock = createVirtualClock(0);
  const callers = new Callers(defaultLimits);
  const connections = new ServerConnections({ callers, clock, log: silentLog });
  const connection = connections.accept(new Socket());
  assert(connection);
  connections.openStream(connection);
  const request = new WireRequest("GET", "/watch", {}, { connection, connections, callers, clock });
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
