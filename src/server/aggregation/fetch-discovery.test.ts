import assert from "node:assert/strict";
import { test } from "node:test";
import { parsed } from "./fetch-discovery.ts";

const answer = (text: string) => ({ status: 200, headers: {}, body: Buffer.from(text) });

test("parsed() refuses documents that take long to parse, and those that are no JSON", () => {
  assert.deepEqual(parsed(answer('{"paths":{}}')), { paths: {} });
  assert.throws(() => parsed(answer(`[${"{},".repeat(100_000)}{}]`)), /the answer has more than 100000 values/);
  assert.throws(() => parsed(answer("<html>")), /the answer is not JSON/);
});
