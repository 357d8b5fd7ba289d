import assert from "node:assert/strict";
import { test } from "node:test";
import { unifiedDiff } from "./unified-diff.ts";

const lines = (...all: (string | number)[]): string => all.join("\n");

test("unifiedDiff() shows the changed lines and three around them", () => {
  const difference = unifiedDiff(lines(1, 2, 3, 4, 5, 6, 7, 8, 9), lines(1, 2, 3, 4, "five", 6, 7, 8, 9));

  assert.equal(difference, "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
  assert.equal(unifiedDiff("a", "a"), "");
});

test("unifiedDiff() shows the beginning of a long difference", () => {
  const difference = unifiedDiff(lines(...Array(1000).fill("a")), lines(...Array(2000).fill("b")));

  assert.equal(difference.split("\n").length, 404);
  assert.match(difference, /^-\.\.\. 800 more lines$/m);
  assert.match(difference, /^\+\.\.\. 1800 more lines$/m);
});
