import assert from "node:assert/strict";
import { test } from "node:test";
import { InFlight } from "./in-flight.ts";

const prepared = (key: string, value: Uint8Array | undefined) => ({ key, value, expected: 0, lease: undefined });
const change = (key: string, text: string) => ({ key, value: Buffer.from(text), revision: 7, created: 7 });

test("a change gets the bytes of the write that made it, until that is answered", () => {
  const inFlight = new InFlight();
  const [first, second] = [Buffer.from("1"), Buffer.from("2")];
  const endFirst = inFlight.add([prepared("/a", first), prepared("/gone", undefined)]);
  const endSecond = inFlight.add([prepared("/a", second)]);

  assert.equal(inFlight.recognize(change("/a", "1")).value, first);
  assert.equal(inFlight.recognize(change("/a", "2")).value, second);
  const others = change("/a", "3");
  assert.equal(inFlight.recognize(others), others);
  const elsewhere = change("/b", "1");
  assert.equal(inFlight.recognize(elsewhere), elsewhere);

  assert.equal(inFlight.size, 2);
  endFirst();
  assert.notEqual(inFlight.recognize(change("/a", "1")).value, first);
  assert.equal(inFlight.recognize(change("/a", "2")).value, second);
  endSecond();
  assert.equal(inFlight.size, 0);
});
