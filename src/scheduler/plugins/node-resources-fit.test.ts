import assert from "node:assert/strict";
import { test } from "node:test";
import { DeviceClass } from "#api/devices/device-class.ts";
import { build } from "#testing/build.ts";
import { asking, infoOf, judge, makeNode, makePod, roomy, scoresOf, snapshotOf } from "#testing/scheduling.ts";
import { nodeResourcesFit } from "./node-resources-fit.ts";

type Amounts = Record<string, string>;
const pod = (requests: Amounts) => makePod("p", { containers: [asking(requests)] });
const placed = (name: string, requests: Amounts) => makePod(name, { nodeName: "a", containers: [asking(requests)] });
const node = (allocatable: Amounts = roomy) => makeNode("a", { status: { allocatable } });

const cases: { name: string; wants: Amounts; used: Amounts; has?: Amounts; reasons: string[]; isFinal?: boolean }[] = [
  {
    name: "accepts what fits exactly",
    wants: { cpu: "2", memory: "4Gi" },
    used: { cpu: "2", memory: "4Gi" },
    reasons: [],
  },
  { name: "misses CPU", wants: { cpu: "2001m" }, used: { cpu: "2" }, reasons: ["Insufficient cpu"] },
  { name: "misses memory", wants: { memory: "5Gi" }, used: { memory: "4Gi" }, reasons: ["Insufficient memory"] },
  {
    name: "misses storage",
    wants: { "ephemeral-storage": "6Gi" },
    used: { "ephemeral-storage": "5Gi" },
    reasons: ["Insufficient ephemeral-storage"],
  },
  {
    name: "reports all reasons",
    wants: { cpu: "3", memory: "5Gi" },
    used: { cpu: "2", memory: "4Gi" },
    reasons: ["Insufficient cpu", "Insufficient memory"],
  },
  {
    name: "is final if the request exceeds the node",
    wants: { cpu: "5" },
    used: {},
    reasons: ["Insufficient cpu"],
    isFinal: true,
  },
  {
    name: "is final for storage too",
    wants: { "ephemeral-storage": "11Gi" },
    used: {},
    reasons: ["Insufficient ephemeral-storage"],
    isFinal: true,
  },
  {
    name: "misses devices",
    wants: { "example.com/gpu": "1" },
    used: {},
    reasons: ["Insufficient example.com/gpu"],
    isFinal: true,
  },
  {
    name: "refuses devices that other pods use",
    wants: { "example.com/gpu": "1" },
    used: { "example.com/gpu": "2" },
    has: { ...roomy, "example.com/gpu": "2" },
    reasons: ["Insufficient example.com/gpu"],
  },
  { name: "limits the number of pods", wants: {}, used: {}, has: { ...roomy, pods: "1" }, reasons: ["Too many pods"] },
  {
    name: "accepts a pod without requests on an overcommitted node",
    wants: {},
    used: { cpu: "4" },
    has: { ...roomy, cpu: "1" },
    reasons: [],
  },
];
for (const { name, wants, used, has, reasons, isFinal = false } of cases) {
  test(`NodeResourcesFit ${name}`, () => {
    const snapshot = snapshotOf([node(has)], [placed("there", used)]);

    const verdict = judge(nodeResourcesFit(), pod(wants), snapshot, "a");

    assert.deepEqual(verdict, reasons.length > 0 ? { reasons, isFinal } : undefined);
  });
}

const scores: { name: string; wants: Amounts; used?: Amounts; has?: Amounts; score: number }[] = [
  { name: "the mean share that is left", wants: { cpu: "1", memory: "4Gi" }, score: 62 },
  { name: "less where others are", wants: { cpu: "1", memory: "2Gi" }, used: { cpu: "1", memory: "2Gi" }, score: 50 },
  { name: "pods without requests by default amounts", wants: { cpu: "1", memory: "2Gi" }, used: {}, score: 72 },
  { name: "CPU alone where a node has no memory", wants: { cpu: "1" }, has: { cpu: "4", pods: "9" }, score: 75 },
  { name: "0 where more is in use than there is", wants: { cpu: "8", memory: "16Gi" }, score: 0 },
  { name: "0 where a node has neither", wants: {}, has: { pods: "9" }, score: 0 },
];
for (const { name, wants, used, has, score } of scores) {
  test(`NodeResourcesFit scores ${name}`, () => {
    const snapshot = snapshotOf([node(has)], used ? [placed("there", used)] : []);

    assert.deepEqual(scoresOf(nodeResourcesFit(), pod(wants), snapshot), [score]);
  });
}

test("NodeResourcesFit waits for a node with more of what is asked for, and enough", () => {
  const wants = pod({ cpu: "3" });
  const helps = (now: Amounts, before: Amounts | undefined, used: Amounts = {}) => {
    const snapshot = snapshotOf([node(now)], [placed("there", used)]);
    const previous = before && node(before);
    const change = { kind: "Node", change: previous ? "updated" : "created", object: node(now), previous } as const;
    return nodeResourcesFit().retryOn?.node?.(wants, { ...change, info: infoOf(snapshot, "a") });
  };

  assert.equal(helps(roomy, undefined), true);
  assert.equal(helps({ ...roomy, cpu: "2" }, undefined), false);
  assert.equal(helps(roomy, { ...roomy, cpu: "2" }), true);
  assert.equal(helps(roomy, { ...roomy, cpu: "2" }, { cpu: "2" }), false);
  assert.equal(helps(roomy, { ...roomy, memory: "1Gi" }), false);
  assert.equal(helps(roomy, { ...roomy, pods: "1" }), true);
});

test("NodeResourcesFit waits for a pod that leaves enough", () => {
  const helps = (used: Amounts) => {
    const snapshot = snapshotOf([node()], [placed("there", used)]);
    const info = infoOf(snapshot, "a");
    const object = placed("left", {});
    const change = { kind: "Pod", change: "deleted", object, info, freesRoom: true } as const;
    return nodeResourcesFit().retryOn?.pod?.(pod({ cpu: "3" }), change);
  };

  assert.equal(helps({ cpu: "1" }), true);
  assert.equal(helps({ cpu: "2" }), false);
});

const gpu = "example.com/gpu";
const gpuClass = (extendedResourceName = gpu, name = "gpus"): DeviceClass =>
  build(DeviceClass, { metadata: { name }, spec: extendedResourceName ? { extendedResourceName } : {} });
const classes = { classFor: (resource: string) => (resource === gpu ? gpuClass() : undefined) };

const fromClasses: { name: string; has: Amounts; used?: Amounts; reasons: string[] }[] = [
  { name: "where no device plugin offers it", has: roomy, reasons: [] },
  { name: "where the device plugin is gone", has: { ...roomy, [gpu]: "0" }, used: { [gpu]: "1" }, reasons: [] },
  {
    name: "but not where a device plugin offers too few",
    has: { ...roomy, [gpu]: "1" },
    reasons: [`Insufficient ${gpu}`],
  },
];
for (const { name, has, used = {}, reasons } of fromClasses) {
  test(`NodeResourcesFit leaves a resource of a device class to others, ${name}`, () => {
    const snapshot = snapshotOf([node(has)], [placed("q", used)]);

    const verdict = judge(nodeResourcesFit({}, classes), pod({ [gpu]: "2" }), snapshot, "a");

    assert.deepEqual(verdict?.reasons ?? [], reasons);
  });
}

test("NodeResourcesFit looks at all nodes again when the classes of a pod's resources change", () => {
  const snapshot = snapshotOf([node()]);
  const basis = (plugin = nodeResourcesFit()) => plugin.basis?.(pod({ [gpu]: "1" }), snapshot);

  assert.equal(basis(), nodeResourcesFit().basis?.(pod({}), snapshot));
  assert.notEqual(basis(nodeResourcesFit({}, classes)), basis());
});

const classChanges: { name: string; now: DeviceClass; before?: DeviceClass; wants: string; wakes: boolean }[] = [
  { name: "a new class", now: gpuClass(), wants: gpu, wakes: true },
  { name: "a new class by its name", now: gpuClass(""), wants: "deviceclass.resource.kubernetes.io/gpus", wakes: true },
  { name: "a new class for something else", now: gpuClass("example.com/nic"), wants: gpu, wakes: false },
  { name: "a class that offers it now", now: gpuClass(), before: gpuClass(""), wants: gpu, wakes: true },
  { name: "a class that offers it still", now: gpuClass(), before: gpuClass(), wants: gpu, wakes: false },
];
for (const { name, now, before, wants, wakes } of classChanges) {
  test(`NodeResourcesFit ${wakes ? "is" : "is not"} woken by ${name}`, () => {
    const [hint] = nodeResourcesFit().retryOn?.objects ?? [];

    const woken = hint?.mayHelp(pod({ [wants]: "1" }), {
      type: "put",
      object: now,
      previous: before,
      trace: undefined,
    } as Parameters<typeof hint.mayHelp>[1]);

    assert.equal(woken, wakes);
  });
}
