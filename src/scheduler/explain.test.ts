import assert from "node:assert/strict";
import { test } from "node:test";
import { explainRefusal, explainRejections } from "./explain.ts";
import { reject } from "./framework.ts";

const rejections = (...reasons: string[][]) => new Map(reasons.map((each, at) => [`n${at}`, reject(...each)]));
const cordoned = "node(s) were unschedulable";

const cases = [
  { name: "no nodes", text: explainRejections(new Map(), 0), expected: "no nodes available to schedule pods" },
  {
    name: "one reason",
    text: explainRejections(rejections(["Insufficient cpu"]), 1),
    expected: "0/1 nodes are available: 1 Insufficient cpu.",
  },
  {
    name: "how many nodes have each reason, sorted as text",
    text: explainRejections(
      rejections(["Insufficient memory", "Insufficient cpu"], [cordoned], [cordoned], ["Insufficient cpu"]),
      4,
    ),
    expected: "0/4 nodes are available: 1 Insufficient memory, 2 Insufficient cpu, 2 node(s) were unschedulable.",
  },
  {
    name: "counts as text, 10 before 2",
    text: explainRejections(
      rejections(...Array.from({ length: 10 }, () => [cordoned]), ["Too many pods"], ["Too many pods"]),
      12,
    ),
    expected: "0/12 nodes are available: 10 node(s) were unschedulable, 2 Too many pods.",
  },
  {
    name: "nodes that were left out",
    text: explainRejections(rejections([cordoned]), 3, { count: 2, plugins: ["NodeAffinity"] }),
    expected:
      "0/3 nodes are available: 1 node(s) were unschedulable, 2 node(s) didn't satisfy plugin(s) [NodeAffinity].",
  },
  {
    name: "a pod that was refused before any node",
    text: explainRefusal("pod affinity terms conflict", 3),
    expected: "0/3 nodes are available: pod affinity terms conflict.",
  },
];
for (const { name, text, expected } of cases) {
  test(`rejections are explained: ${name}`, () => assert.equal(text, expected));
}
