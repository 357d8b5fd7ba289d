import assert from "node:assert/strict";
import { test } from "node:test";
import { type Caller, Callers } from "./callers.ts";
import { defaultLimits } from "./limits.ts";

const userOf = (callers: Callers, name: string): Caller => callers.of({ name, groups: [] }, "10.0.0.1");
const never = new AbortController().signal;

test("the service accounts of a namespace share their limits, and others have their own", () => {
  const callers = new Callers(defaultLimits);
  const account = userOf(callers, "system:serviceaccount:a:one");

  assert.equal(userOf(callers, "system:serviceaccount:a:two"), account);
  assert.notEqual(userOf(callers, "system:serviceaccount:ab:one"), account);
  assert.notEqual(userOf(callers, "system:serviceaccount:a"), account);
  assert.notEqual(userOf(callers, "jane"), userOf(callers, "joe"));
});

test("a user with few watches gets one, however many the others have", () => {
  const callers = new Callers({ ...defaultLimits, watches: 3, watchesPerUser: 5, watchesAlways: 2 });
  const [jane, joe] = [userOf(callers, "jane"), userOf(callers, "joe")];
  for (let i = 0; i < 3; i++) callers.beginWatch(jane);

  assert.throws(() => callers.beginWatch(jane), /too many watches/);
  callers.beginWatch(joe);
  callers.beginWatch(joe);
  assert.throws(() => callers.beginWatch(joe), /too many watches/);
});

test("users with many waiting large bodies do not keep others from a place", async () => {
  const callers = new Callers({ ...defaultLimits, largeBodies: 4, largeBodiesPerUser: 2 });
  const greedy = [userOf(callers, "jane"), userOf(callers, "joe")];
  const order: string[] = [];
  const take = (caller: Caller, name: string) =>
    void callers.takeLargePlace(caller, never).then(() => {
      order.push(name);
    });
  for (const [i, caller] of [...greedy, ...greedy, ...greedy, ...greedy].entries()) take(caller, `greedy ${i}`);

  take(userOf(callers, "ann"), "ann");
  for (let round = 0; round < 4; round++) {
    const caller = greedy[round % 2] ?? assert.fail();
    take(caller, "greedy, later");
    callers.giveLargePlace(caller);
    await new Promise(setImmediate);
  }

  assert.equal(order.indexOf("ann"), 4);
});

test("a caller that leaves while waiting takes no place", async () => {
  const callers = new Callers({ ...defaultLimits, largeBodies: 1 });
  const [jane, joe] = [userOf(callers, "jane"), userOf(callers, "joe")];
  const leaving = new AbortController();
  await callers.takeLargePlace(jane, never);
  const left = callers.takeLargePlace(joe, leaving.signal);
  const waiting = callers.takeLargePlace(joe, never);

  leaving.abort(new Error("left"));
  callers.giveLargePlace(jane);

  await assert.rejects(left, /left/);
  await waiting;
  assert.equal(joe.largeBodies, 1);
});
