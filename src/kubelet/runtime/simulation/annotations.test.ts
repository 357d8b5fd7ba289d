import assert from "node:assert/strict";
import { test } from "node:test";
import { annotatedBehaviour, simulatedPrefix } from "./annotations.ts";

const logs = `${simulatedPrefix}logs`;

test("annotations that do not change are read once", () => {
  const annotations = { [logs]: "a\nb\n" };

  assert.deepEqual(annotatedBehaviour(annotations).logs, [{ text: "a" }, { text: "b" }]);
  assert.equal(annotatedBehaviour(annotations), annotatedBehaviour(annotations));
});

test("a log of very many lines is refused", () => {
  assert.equal(annotatedBehaviour({ [logs]: "x\n".repeat(10_000) }).logs?.length, 10_000);
  assert.throws(() => annotatedBehaviour({ [logs]: "x\n".repeat(10_001) }), /more than 10000 lines/);
});
