import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "#lib/data/random.ts";
import { largestAt } from "../judge.ts";
import { Largest } from "./largest.ts";

test("the largest score is the same as after a look at all of them, whichever have changed", () => {
  const random = seededRandom(7);
  const below = (limit: number): number => Math.floor(random() * limit);
  for (let round = 0; round < 20; round++) {
    let scores = Float64Array.from({ length: 1 + below(1000) }, () => below(5) - 1);
    const largest = new Largest();
    for (let step = 0; step < 50; step++) {
      const given = random();
      assert.equal(
        largest.pick(scores, () => given),
        largestAt(scores, () => given),
      );
      for (let change = below(4); change > 0; change--) {
        const slot = below(scores.length);
        scores[slot] = below(5) - 1;
        largest.touch(slot);
      }
      if (below(10) === 0) {
        scores = Float64Array.from({ length: scores.length + below(200) }, () => below(5) - 1);
        largest.touchAll();
      }
    }
  }
});

test("no scores have no largest one", () => {
  assert.equal(
    new Largest().pick(new Float64Array(0), () => 0),
    -1,
  );
});
