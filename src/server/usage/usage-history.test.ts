import assert from "node:assert/strict";
import { test } from "node:test";
import { type NodeReport, type UsagePoint } from "./resource-metrics.ts";
import { NodeHistory, podUsageOf, type UsagePair, usageOf } from "./usage-history.ts";

const second = 1000;
const point = (atSeconds: number, cpuSeconds: number, startedSeconds = 0): UsagePoint => ({
  atMs: atSeconds * second,
  startedMs: startedSeconds * second,
  cpuNanoSeconds: cpuSeconds * 1e9,
  memoryBytes: 4096,
});

/** What is known of one container after these measurements. */
function afterAll(points: readonly UsagePoint[]) {
  const history = new NodeHistory();
  for (const one of points) {
    const report: NodeReport = { node: undefined, pods: new Map([["shop/web", new Map([["app", one]])]]) };
    history.take(report);
  }
  return podUsageOf(history.pod("shop/web"));
}

const cases = [
  { name: "needs two measurements", points: [point(100, 5)], expected: undefined },
  {
    name: "gives the rate between the last two",
    points: [point(100, 5), point(110, 7), point(120, 12)],
    expected: [10, 5e8],
  },
  {
    name: "keeps the rate if the node has not measured again",
    points: [point(100, 5), point(110, 7), point(110, 7)],
    expected: [10, 2e8],
  },
  {
    name: "gives no rate after a restart",
    points: [point(100, 5), point(110, 7), point(120, 1, 119)],
    expected: undefined,
  },
  { name: "counts a young container from its start", points: [point(112, 6, 100)], expected: [12, 5e8] },
  { name: "waits for a container that is very young", points: [point(109, 6, 100)], expected: undefined },
  { name: "gives no rate if the counter has fallen", points: [point(100, 5), point(110, 4)], expected: undefined },
  {
    name: "gives no rate if time runs backwards",
    points: [point(100, 5), point(110, 7), point(90, 9)],
    expected: undefined,
  },
] as const;
for (const { name, points, expected } of cases) {
  test(`NodeHistory.take() ${name}`, () => {
    const usage = afterAll(points)?.containers.get("app");
    assert.deepEqual(usage && [usage.windowMs / second, usage.cpuNanoCores], expected);
  });
}

test("podUsageOf() needs every container and has the time of the oldest", () => {
  const pairs = new Map<string, UsagePair>([
    ["a", { last: point(20, 2), previous: point(10, 1) }],
    ["b", { last: point(25, 2), previous: point(10, 1) }],
  ]);
  const usage = podUsageOf(pairs);
  assert.deepEqual([usage?.atMs, usage?.windowMs], [20_000, 10_000]);
  assert.equal(podUsageOf(new Map([...pairs, ["c", { last: point(20, 2) }]])), undefined);
});

test("NodeHistory forgets what the node no longer reports", () => {
  const history = new NodeHistory();
  const pods = new Map([["shop/web", new Map([["app", point(1, 1)]])]]);
  history.take({ node: point(1, 1), pods });
  history.take({ node: point(2, 1), pods: new Map() });

  assert.equal(history.pod("shop/web"), undefined);
  assert(history.node && usageOf(history.node));
});

test("NodeHistory keeps no object of a report, and makes none for a container that it knows", () => {
  const history = new NodeHistory();
  const objects = new Set<unknown>();
  const reported: UsagePoint[] = [];
  for (let at = 100; at < 200; at += 10) {
    const app = point(at, at / 2);
    reported.push(app);
    history.take({ node: undefined, pods: new Map([["shop/web", new Map([["app", app]])]]) });
    const containers = history.pod("shop/web");
    const pair = containers?.get("app");
    for (const object of [containers, pair, pair?.last, pair?.previous ?? pair?.last]) objects.add(object);
  }

  // Those of the pod and the container, and two measurements.
  assert.equal(objects.size, 4);
  assert(!reported.some((one) => objects.has(one)));
});
