import assert from "node:assert/strict";
import { test } from "node:test";
import { renderExplanation } from "./explanation.ts";

test("renderExplanation() gives the answer first", () => {
  const text = renderExplanation({
    hop: "run",
    state: "CrashLoopBackOff",
    headline: "Pod web keeps failing because container c exits with code 1.",
    evidence: ["ended 5s ago", "its last log lines:\n  no database"],
    advice: ["Read its last log lines."],
  });

  assert.equal(
    text,
    `\
Pod web keeps failing because container c exits with code 1.

  where     CrashLoopBackOff, at hop 11 of 12 (run)
  evidence  ended 5s ago
            its last log lines:
              no database
  advice    Read its last log lines.
`,
  );
});
