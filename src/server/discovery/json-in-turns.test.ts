import assert from "node:assert/strict";
import { test } from "node:test";
import { nextTurn } from "#lib/async/turns.ts";
import { jsonInTurns } from "./json-in-turns.ts";

const documents: readonly Record<string, unknown>[] = [
  {},
  { a: 1, b: "x", c: null, d: undefined, e: [], f: {} },
  { paths: { "/a": { get: { x: [1, { y: 2 }] } } }, 'quoted"': { deep: { deeper: { deepest: true } } } },
];
for (const document of documents) {
  test(`jsonInTurns() writes ${JSON.stringify(document)} as JSON.stringify does`, async () => {
    const bytes = await jsonInTurns(document);

    assert.equal(Buffer.from(bytes).toString(), JSON.stringify(document));
  });
}

test("jsonInTurns() lets others run while it writes a long document", async () => {
  const long = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`k${at}`, "x".repeat(100_000)]));
  let turns = 0;
  let isDone = false;

  const writing = jsonInTurns({ definitions: long }).finally(() => (isDone = true));
  for (; !isDone; turns++) await nextTurn();

  assert.equal((await writing).length, JSON.stringify({ definitions: long }).length);
  assert(turns > 5, `${turns} turns`);
});
