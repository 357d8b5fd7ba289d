import assert from "node:assert/strict";
import { test } from "node:test";
import { type Stranger, Strangers } from "./strangers.ts";

function filled(...connections: Stranger[]): Strangers<Stranger> {
  const strangers = new Strangers<Stranger>({ all: 4, perAddress: 3 });
  for (const connection of connections) strangers.add(connection);
  return strangers;
}
const secured = (address: string): Stranger => ({ address, hasSpoken: true, isSecured: true });
const silent = (address: string): Stranger => ({ address, hasSpoken: false, isSecured: false });

test("surplus() is undefined while there is room", () => {
  const strangers = filled(silent("a"), silent("a"), silent("b"));

  assert.equal(strangers.surplus("a"), undefined);
});

test("surplus() is the oldest connection of an address at its limit, preferably one without TLS", () => {
  const old = silent("a");
  const strangers = filled(secured("a"), old, silent("a"));

  assert.equal(strangers.surplus("a"), old);
  assert.equal(strangers.surplus("b"), undefined);
});

test("surplus() prefers a connection that has sent nothing to one in its handshake", () => {
  const speaking = { address: "a", hasSpoken: true, isSecured: false };
  const old = silent("a");

  assert.equal(filled(speaking, secured("a"), old).surplus("a"), old);
  assert.equal(filled(secured("a"), speaking, secured("a")).surplus("a"), speaking);
});

test("surplus() allows an address more as long as its oldest connection is not late", () => {
  const strangers = filled(silent("a"), silent("a"), silent("a"));

  assert.equal(
    strangers.surplus("a", () => false),
    undefined,
  );
});

test("surplus() is a connection of the greediest address when there are too many in all", () => {
  const first = secured("b");
  const strangers = filled(secured("a"), first, secured("b"), secured("c"));

  assert.equal(strangers.surplus("d"), first);
  strangers.delete(first);
  assert.equal(strangers.surplus("d"), undefined);
});
