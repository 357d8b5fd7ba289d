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

test("who gives room back wakes only those who wait for it, and the oldest of them first", async () => {
  const limits = { ...defaultLimits, unsentBytes: 100, unsentBytesPerUser: 50, unsentBytesAlways: 1 };
  const callers = new Callers(limits);
  const users = Array.from({ length: 20 }, (_, i) => userOf(callers, `user-${i}`));
  const [jane = assert.fail(), joe = assert.fail()] = users;
  const connection = {};
  let looks = 0;
  const order: string[] = [];
  const wait = (caller: Caller, name: string, isFree = () => callers.hasRoom(caller)) => {
    const look = () => {
      looks++;
      return isFree();
    };
    const reasons = [caller, connection, "answers"] as const;
    void callers.wait({ reasons, isFree: look }, never).then(() => order.push(name));
  };
  const looksOf = async (change: () => void): Promise<number> => {
    looks = 0;
    change();
    await new Promise(setImmediate);
    return looks;
  };
  callers.addUnsent(jane, 60);
  callers.addUnsent(joe, 60);
  for (const user of users) wait(user, "other", () => false);
  wait(jane, "jane 1");
  wait(jane, "jane 2");

  assert.equal(await looksOf(() => callers.removeUnsent(joe, 1)), 1);
  assert.equal(await looksOf(() => callers.endAnswering(joe)), 1);
  assert.equal(await looksOf(() => callers.freed({})), 0);
  assert.equal(await looksOf(() => callers.freed(connection)), 22);
  assert.equal(await looksOf(() => callers.removeUnsent(joe, 30)), 22, "there is room for all again");
  assert.deepEqual(order, []);
  await looksOf(() => callers.removeUnsent(jane, 20));
  assert.deepEqual(order, ["jane 1", "jane 2"]);
});

test("bodies, responses and events count as held until callers have sent or read them", () => {
  const callers = new Callers(defaultLimits);
  const jane = userOf(callers, "jane");

  callers.addBody(jane, 1);
  callers.addUnsent(jane, 20);
  callers.changeUnread(jane, 300);
  const held = callers.heldBytes;
  callers.removeBody(jane, 1);
  callers.removeUnsent(jane, 20);
  callers.changeUnread(jane, -300);

  assert.deepEqual([held, callers.heldBytes], [321, 0]);
});
