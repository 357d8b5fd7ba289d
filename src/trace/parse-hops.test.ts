import assert from "node:assert/strict";
import { test } from "node:test";
import { parseNodeHops } from "./parse-hops.ts";

const traceId = "a".repeat(32);
const hop = {
  ...{ traceId, spanId: "b".repeat(16), parentId: "c".repeat(16), hop: "run", component: "kubelet b", revision: 7 },
  ...{ object: { resource: "pods", namespace: "shop", name: "web" }, startMs: 1000.5, durationMs: 2 },
  facts: { step: "pull", pulled: true, deep: { a: 1 } },
};
const parse = (answer: unknown) => parseNodeHops(answer, { node: "b", traceId });

test("parseNodeHops() reads what a node did, without values that are not plain", () => {
  assert.deepEqual(parse([hop]), [{ ...hop, revision: 0, facts: { step: "pull", pulled: true } }]);
});

test("parseNodeHops() names the node that answered, whatever it says", () => {
  assert.deepEqual(
    parse([{ ...hop, component: "apiserver" }]).map(({ component }) => component),
    ["kubelet b"],
  );
});

for (const [what, answer] of [
  ["no list", { items: [] }],
  ["another trace", [{ ...hop, traceId: "d".repeat(32) }]],
  ["a hop of the server", [{ ...hop, hop: "persist" }]],
  ["another kind of object", [{ ...hop, object: { ...hop.object, resource: "secrets" } }]],
  ["a name that is too long", [{ ...hop, object: { ...hop.object, name: "x".repeat(300) } }]],
  ["an id that is none", [{ ...hop, spanId: "../../x" }]],
  ["a time that is none", [{ ...hop, startMs: Number.NaN }]],
  ["no hop at all", [null, 1, "x", []]],
] as const) {
  test(`parseNodeHops() leaves out ${what}`, () => assert.deepEqual(parse(answer), []));
}

test("parseNodeHops() reads at most 500 hops", () => {
  assert.equal(parse(Array.from({ length: 5_000 }, () => hop)).length, 500);
});
