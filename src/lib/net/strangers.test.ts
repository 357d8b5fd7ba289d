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

test("surplus() is none while there is room", () => {
  const strangers = filled(silent("a"), silent("a"), silent("b"));

  assert.equal(strangers.surplus("a"), undefined);
});

test("surplus() is the oldest of an address that has its share, first one without TLS", () => {
  const old = silent("a");
  const strangers = filled(secured("a"), old, silent("a"));

  assert.equal(strangers.surplus("a"), old);
  assert.equal(strangers.surplus("b"), undefined);
});

test("surplus() takes one that has sent nothing before one that is in its handshake", () => {
  const speaking = { address: "a", hasSpoken: true, isSecured: false };
  const old = silent("a");

  assert.equal(filled(speaking, secured("a"), old).surplus("a"), old);
  assert.equal(filled(secured("a"), speaking, secured("a")).surplus("a"), speaking);
});

test("surplus() lets an address have more for as long as its oldest connection is not late", () => {
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
