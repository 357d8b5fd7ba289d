import assert from "node:assert/strict";
import { test } from "node:test";
import { atOnce, inTurns, type Steps } from "./turns.ts";

test("steps run at once, or with a pause after each", async () => {
  const seen: string[] = [];
  function* count(): Steps<number> {
    seen.push("one");
    yield;
    seen.push("two");
    yield;
    return 2;
  }

  assert.equal(atOnce(count()), 2);
  assert.equal(await inTurns(count(), async () => void seen.push("pause")), 2);

  assert.deepEqual(seen, ["one", "two", "one", "pause", "two", "pause"]);
});
