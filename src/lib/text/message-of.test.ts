import assert from "node:assert/strict";
import { test } from "node:test";
import { messageOf } from "./message-of.ts";

test("messageOf() finds the message of any thrown value", () => {
  const refused = [new Error("refused by ::1"), new Error("refused by 127.0.0.1")];

  assert.equal(messageOf(new Error("the disk is full")), "the disk is full");
  assert.equal(messageOf("a text"), "a text");
  assert.equal(messageOf(undefined), "undefined");
  assert.equal(messageOf(new AggregateError(refused)), "refused by ::1; refused by 127.0.0.1");
  assert.equal(messageOf(new AggregateError(refused, "no way in")), "no way in");
});
