import assert from "node:assert/strict";
import { test } from "node:test";
import { Node } from "#api/core/node.ts";
import { build } from "#testing/build.ts";
import { planHints, zoneSharesOf } from "./zone-hints.ts";

const node = (zone: string, cpu: string, { ready = "True" as "True" | "False", labels = {} } = {}): Node =>
  build(Node, {
    metadata: {
      name: `${zone}-${cpu}`,
      labels: { ...(zone ? { "topology.kubernetes.io/zone": zone } : {}), ...labels },
    },
    status: { allocatable: cpu ? { cpu } : {}, conditions: [{ type: "Ready", status: ready }] },
  });

const shares = [
  {
    name: "divides by CPU",
    nodes: [node("a", "3"), node("b", "500m"), node("b", "500m")],
    share: { a: 0.75, b: 0.25 },
  },
  {
    name: "ignores control planes and nodes that are not ready",
    nodes: [
      node("a", "1"),
      node("b", "1"),
      node("a", "8", { ready: "False" }),
      node("b", "8", { labels: { "node-role.kubernetes.io/control-plane": "" } }),
    ],
    share: { a: 0.5, b: 0.5 },
  },
  {
    name: "knows nothing if a node has no zone",
    nodes: [node("a", "1"), node("b", "1"), node("", "1")],
    share: undefined,
  },
  { name: "knows nothing if a node has no CPU", nodes: [node("a", "1"), node("b", "")], share: undefined },
  { name: "needs two zones", nodes: [node("a", "1")], share: undefined },
];
for (const { name, nodes, share } of shares) {
  test(`zoneSharesOf() ${name}`, () => {
    const found = zoneSharesOf(nodes);
    assert.deepEqual(found && Object.fromEntries(found), share);
  });
}

/** "aab" are three endpoints: two in zone a, one in zone b. */
const plan = (zones: string, share: Record<string, number> | undefined, hints: string[] = []) => {
  const endpoints = [...zones].map((zone, index) => ({
    key: String(index),
    endpoint: { addresses: [`10.0.0.${index}`], conditions: { ready: true }, ...(zone === "-" ? {} : { zone }) },
    hint: hints[index],
  }));
  const made = planHints(endpoints, share && new Map(Object.entries(share)));
  return "zones" in made ? [...made.zones.values()].join("") : made.problem;
};
const half = { a: 0.5, b: 0.5 };
const cases = [
  { name: "keeps endpoints in their zones", zones: "abab", share: half, made: "abab" },
  { name: "lends endpoints to a zone with too few", zones: "aaab", share: half, made: "baab" },
  { name: "tolerates what is near enough", zones: "aaaabbb", share: half, made: "aaaabbb" },
  {
    name: "leaves lent endpoints where they are",
    zones: "aaab",
    share: half,
    hints: ["a", "a", "b", "b"],
    made: "aabb",
  },
  {
    name: "needs an endpoint for each zone",
    zones: "a",
    share: half,
    made: "Insufficient number of endpoints (1 endpoints, 2 zones)",
  },
  {
    name: "needs to know the zones",
    zones: "ab",
    share: undefined,
    made: "Insufficient Node information: allocatable CPU or zone not specified on one or more nodes",
  },
  {
    name: "needs the zone of each endpoint",
    zones: "a-",
    share: half,
    made: "One or more endpoints do not have a zone specified",
  },
  {
    name: "refuses to overload a zone",
    zones: "aab",
    share: half,
    made: "Unable to allocate minimum required endpoints to each zone without exceeding overload threshold (3 endpoints, 2 zones)",
  },
];
for (const { name, zones, share, hints, made } of cases) {
  test(`planHints() ${name}`, () => assert.equal(plan(zones, share, hints), made));
}
