import assert from "node:assert/strict";
import { test } from "node:test";
import { makeNode, makePod, snapshotOf } from "#testing/scheduling.ts";
import { checkBinding, parseFilter, parsePreemption, parseScores } from "./answers.ts";

const asked = ["a", "b", "c"];
const byExtender = { reasons: ["node(s) were rejected by an extender"], isFinal: false };

const filters: readonly (readonly [answer: unknown, fits: string[], failed: object])[] = [
  [{ NodeNames: ["c", "a"] }, ["a", "c"], { b: byExtender }],
  [
    { nodenames: ["a"], FAILEDNODES: { b: "full" } },
    ["a"],
    { b: { reasons: ["full"], isFinal: false }, c: byExtender },
  ],
  [
    { Nodes: { items: [{ metadata: { name: "b" } }, {}, { metadata: { name: 4 } }] } },
    ["b"],
    { a: byExtender, c: byExtender },
  ],
  [
    { NodeNames: ["a", "b", "c"], FailedNodes: { a: "x", z: "y" }, FailedAndUnresolvableNodes: { a: "never" } },
    ["b", "c"],
    { a: { reasons: ["never"], isFinal: true } },
  ],
  [{}, [], { a: byExtender, b: byExtender, c: byExtender }],
  [{ NodeNames: ["a", "b", "c"], FailedNodes: { a: 7 } }, ["a", "b", "c"], {}],
];
for (const [answer, fits, failed] of filters) {
  test(`parseFilter() understands ${JSON.stringify(answer)}`, () => {
    const filtered = parseFilter(answer, asked);

    assert.deepEqual([filtered.fits, Object.fromEntries(filtered.failed)], [fits, failed]);
  });
}

const refused: readonly (readonly [answer: unknown, message: string])[] = [
  [{ Error: "no" }, "no"],
  [{ NodeNames: ["elsewhere"] }, 'claims a filtered node "elsewhere" which is not found in the input node list'],
  [[], "an object was expected"],
  ["all", "an object was expected"],
  [{ FailedNodes: ["a"] }, "an object was expected"],
];
for (const [answer, message] of refused) {
  test(`parseFilter() refuses ${JSON.stringify(answer)}`, () => {
    assert.throws(() => parseFilter(answer, asked), { message });
  });
}

test("parseFilter() shortens what an extender says", () => {
  const { failed } = parseFilter({ FailedNodes: { a: "x".repeat(1e6) } }, asked);

  assert.equal(failed.get("a")?.reasons[0]?.length, 256);
});

test("parseScores() keeps scores within bounds and to the nodes that were asked about", () => {
  const answer = [
    { Host: "a", Score: 3 },
    { host: "b", score: 1e300 },
    { Host: "c", Score: -5 },
    { Host: "d", Score: 1 },
    { Host: "a", Score: "9" },
  ];

  assert.deepEqual(Object.fromEntries(parseScores(answer, new Set(asked), 2)), { a: 60, b: 200, c: 0 });
  assert.throws(() => parseScores({ a: 1 }, new Set(asked), 2), { message: "the scores are not a list" });
});

test("parsePreemption() lets an extender choose only less important pods on the node", () => {
  const pods = [makePod("low", { nodeName: "a", priority: 1 }), makePod("high", { nodeName: "a", priority: 9 })];
  const snapshot = snapshotOf([makeNode("a")], pods);
  const [low, high] = pods.map(({ metadata }) => metadata.uid);
  const parse = (node: string, ...uids: (string | undefined)[]) => {
    const said = { NodeNameToMetaVictims: { [node]: { Pods: uids.map((UID) => ({ UID })), NumPDBViolations: 1 } } };
    return parsePreemption(said, makePod("new", { priority: 5 }), (name) => snapshot.get(name));
  };

  const [candidate] = parse("a", low);
  assert.deepEqual(
    [candidate?.node, candidate?.broken, candidate?.victims.map(({ pod }) => pod.metadata.name)],
    ["a", 1, ["low"]],
  );
  assert.throws(() => parse("a", high), { message: /is not less important$/ });
  assert.throws(() => parse("a", "unknown"), { message: /is not found on that node$/ });
  assert.throws(() => parse("a"), { message: /is not found on that node$/ });
  assert.throws(() => parse("b", low), { message: 'names a node "b" that does not exist' });
});

test("checkBinding() fails if the extender says so", () => {
  checkBinding({});
  assert.throws(() => checkBinding({ Error: "gone" }), { message: "gone" });
});
