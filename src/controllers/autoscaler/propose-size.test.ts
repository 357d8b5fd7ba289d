import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "#api/core/pod.ts";
import { build } from "#testing/build.ts";
import { countedMetrics, groupPods, type PodMetric } from "./group-pods.ts";
import { requestsOf } from "./pod-request.ts";
import {
  averageUsage,
  proposeForPods,
  proposeForShare,
  proposeForValue,
  tolerancesOf,
  utilizationUsage,
} from "./propose-size.ts";

const nowMs = Date.parse("2026-01-01T12:00:00Z");
const ago = (seconds: number): string => new Date(nowMs - seconds * 1000).toISOString();

interface PodFacts {
  readonly phase?: "Pending" | "Running" | "Failed";
  readonly ready?: boolean;
  readonly startedAgo?: number;
  readonly changedAgo?: number;
  readonly ends?: boolean;
  /** Thousandths of a core; undefined if there is no metric. */
  readonly millis?: number;
}

function podOf(
  name: string,
  { phase = "Running", ready = true, startedAgo = 3600, changedAgo = 3500, ends }: PodFacts,
): Pod {
  const status = ready ? "True" : "False";
  return build(Pod, {
    metadata: { namespace: "default", name, ...(ends ? { deletionTimestamp: ago(1) } : {}) },
    spec: { containers: [{ name: "main", image: "web:1", resources: { requests: { cpu: "100m" } } }] },
    status: {
      phase,
      startTime: ago(startedAgo),
      conditions: [{ type: "Ready", status, lastTransitionTime: ago(changedAgo) }],
    },
  });
}

/** What pods with these facts ask for, if they should use half of their request of 100m. */
function proposed(facts: readonly PodFacts[], { current = facts.length, target = 50, resource = "cpu" } = {}): number {
  const pods = facts.map((one, index) => podOf(`web-${index}`, one));
  const metrics = new Map<string, PodMetric>();
  for (const [index, { millis }] of facts.entries()) {
    if (millis !== undefined) metrics.set(`web-${index}`, { value: BigInt(millis), atMs: nowMs, windowMs: 15_000 });
  }
  const groups = groupPods(pods, metrics, { resource, nowMs });
  const requests = requestsOf(pods, "cpu", "");
  const assumed = BigInt(Math.max(100, target));
  const { replicas } = proposeForPods({
    current,
    groups,
    counted: countedMetrics(metrics, groups),
    tolerances: tolerancesOf(),
    usageOf: utilizationUsage(target, requests),
    assumedValue: (pod) => ((requests.get(pod) ?? 0n) * assumed) / 100n,
  });
  return replicas;
}
const times = (count: number, facts: PodFacts): PodFacts[] => Array.from({ length: count }, () => facts);

const cases: { name: string; pods: readonly PodFacts[]; options?: Parameters<typeof proposed>[1]; replicas: number }[] =
  [
    { name: "adds pods, rounded up", pods: times(3, { millis: 70 }), replicas: 5 },
    { name: "removes pods, rounded up", pods: times(5, { millis: 22 }), replicas: 3 },
    { name: "leaves the size if the ratio is within the tolerance", pods: times(3, { millis: 55 }), replicas: 3 },
    { name: "changes the size just beyond the tolerance", pods: times(3, { millis: 56 }), replicas: 4 },
    {
      name: "counts unready pods as idle when it adds pods",
      pods: [{ millis: 100 }, { millis: 100 }, { millis: 90, ready: false, startedAgo: 60, changedAgo: 60 }],
      replicas: 4,
    },
    {
      name: "counts pending pods as idle when it adds pods",
      pods: [{ millis: 100 }, { phase: "Pending" }, { phase: "Pending" }],
      replicas: 3,
    },
    {
      name: "does not turn around because of idle pods",
      pods: [{ millis: 60 }, ...times(3, { phase: "Pending" as const })],
      replicas: 4,
    },
    {
      name: "ignores unready pods when it removes pods",
      pods: [{ millis: 20 }, { millis: 20 }, { phase: "Pending" }],
      replicas: 1,
    },
    {
      name: "counts missing pods as fully busy when it removes pods",
      pods: [{ millis: 10 }, { millis: 10 }, { millis: 10 }, {}],
      replicas: 3,
    },
    {
      name: "counts missing pods as idle when it adds pods",
      pods: [{ millis: 100 }, { millis: 100 }, {}],
      replicas: 4,
    },
    { name: "does not add pods because of missing ones", pods: [{ millis: 40 }, { millis: 40 }, {}], replicas: 3 },
    {
      name: "assumes the target for missing pods if it is above the request",
      pods: [{ millis: 100 }, { millis: 100 }, {}],
      options: { target: 300 },
      replicas: 2,
    },
    {
      name: "ignores pods that are ending or have failed",
      pods: [{ millis: 100 }, { millis: 5, ends: true }, { millis: 5, phase: "Failed" }],
      replicas: 2,
    },
    {
      name: "waits for a whole window after a young pod became ready",
      pods: [{ millis: 60 }, { millis: 500, startedAgo: 60, changedAgo: 10 }],
      replicas: 2,
    },
    {
      name: "takes a young pod that is ready for a window",
      pods: [{ millis: 60 }, { millis: 500, startedAgo: 60, changedAgo: 20 }],
      replicas: 12,
    },
    {
      name: "ignores an old pod that was never ready",
      pods: [{ millis: 20 }, { millis: 500, ready: false, startedAgo: 600, changedAgo: 599 }],
      replicas: 1,
    },
    {
      name: "takes an old pod that is no longer ready",
      pods: [{ millis: 20 }, { millis: 180, ready: false, startedAgo: 600, changedAgo: 30 }],
      replicas: 4,
    },
    {
      name: "takes unready pods for everything but CPU",
      pods: [{ millis: 100 }, { millis: 100, ready: false, startedAgo: 60, changedAgo: 60 }],
      options: { resource: "memory" },
      replicas: 4,
    },
  ];
for (const { name, pods, options, replicas } of cases) {
  test(`proposeForPods() ${name}`, () => assert.equal(proposed(pods, options), replicas));
}

const values = [
  { name: "multiplies the ready pods", current: 3, value: 20n, target: 10n, ready: 3, replicas: 6 },
  { name: "leaves the size within the tolerance", current: 3, value: 109n, target: 100n, ready: 3, replicas: 3 },
  { name: "counts ready pods only", current: 3, value: 20n, target: 10n, ready: 2, replicas: 4 },
  { name: "starts from nothing", current: 0, value: 25n, target: 10n, ready: 0, replicas: 3 },
  { name: "has a largest size", current: 3, value: 2n ** 62n, target: 1n, ready: 9, replicas: 2 ** 31 - 1 },
];
for (const { name, ready, replicas, ...question } of values) {
  test(`proposeForValue() ${name}`, () => {
    assert.equal(
      proposeForValue({ ...question, tolerances: tolerancesOf() }, () => ready),
      replicas,
    );
  });
}

const shares = [
  { name: "gives each pod its share", current: 2, value: 50n, target: 10n, expected: [5, 25n] },
  { name: "rounds up", current: 4, value: 51n, target: 10n, expected: [6, 13n] },
  { name: "leaves the size within the tolerance", current: 5, value: 54n, target: 10n, expected: [5, 11n] },
  { name: "starts from nothing", current: 0, value: 25n, target: 10n, expected: [3, 25n] },
];
for (const { name, expected, ...question } of shares) {
  test(`proposeForShare() ${name}`, () => {
    const { replicas, average } = proposeForShare({ ...question, tolerances: tolerancesOf() });
    assert.deepEqual([replicas, average], expected);
  });
}

test("tolerancesOf() reads each direction", () => {
  assert.deepEqual(tolerancesOf(), { down: 0.1, up: 0.1 });
  assert.deepEqual(tolerancesOf({ scaleUp: { tolerance: "0" }, scaleDown: { tolerance: "50m" } }), {
    down: 0.05,
    up: 0,
  });
});

test("averageUsage() compares the average with the target", () => {
  const metrics = new Map([10n, 20n].map((value, index) => [`web-${index}`, { value, atMs: 0, windowMs: 0 }]));
  assert.deepEqual(averageUsage(10n)(metrics), { ratio: 1.5, average: 15n });
});

test("utilizationUsage() needs a request", () => {
  const metrics = new Map([["web", { value: 1n, atMs: 0, windowMs: 0 }]]);
  assert.throws(() => utilizationUsage(50, new Map())(metrics), /no metrics returned matched known pods/);
});

const container = (name: string, cpu?: string) => ({
  name,
  image: "web:1",
  resources: { requests: cpu ? { cpu } : {} },
});
const podWith = (spec: object) =>
  build(Pod, { metadata: { namespace: "default", name: "web" }, spec: spec as Pod["spec"] });

test("requestsOf() adds the containers that run together, and takes the pod's own request first", () => {
  const sidecar = { ...container("proxy", "20m"), restartPolicy: "Always" as const };
  const two = podWith({ containers: [container("main", "100m")], initContainers: [container("init", "1"), sidecar] });
  assert.deepEqual(requestsOf([two], "cpu", ""), new Map([["web", 120n]]));
  assert.deepEqual(requestsOf([two], "cpu", "proxy"), new Map([["web", 20n]]));
  const whole = podWith({ containers: [container("main")], resources: { requests: { cpu: "300m" } } });
  assert.deepEqual(requestsOf([whole], "cpu", ""), new Map([["web", 300n]]));
});

test("requestsOf() names what is missing", () => {
  const pod = podWith({ containers: [container("main"), container("other", "1")] });
  assert.throws(() => requestsOf([pod], "cpu", ""), /missing request for cpu in container main of Pod web/);
  assert.throws(() => requestsOf([pod], "cpu", "none"), /container none not found in Pod web/);
  const whole = podWith({ containers: [container("main")], resources: { requests: { cpu: "300m" } } });
  assert.throws(() => requestsOf([whole], "memory", ""), /missing pod-level request for memory in Pod web/);
});
