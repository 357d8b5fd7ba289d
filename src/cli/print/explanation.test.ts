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

test("renderExplanation() lets no log line or message steer the terminal", () => {
  const hostile = "\u001b[2J\u001b]0;title\u0007 \r\u009b31m \u202eback";
  const text = renderExplanation({
    hop: undefined,
    state: "Failed",
    headline: hostile,
    evidence: [`a\tb\n${hostile}`],
    advice: [],
  });

  assert.doesNotMatch(text, /(?![\n\t])\p{Cc}|\u202e/u);
  assert.match(text, /a\tb\n +\?\[2J\?\]0;title\? \?\?31m \?back/);
});
