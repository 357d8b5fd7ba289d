import assert from "node:assert/strict";
import { test } from "node:test";
import { aPod } from "#api/core/pod/testing-pod.ts";
import { Pod } from "#api/core/pod.ts";
import { DeviceClass } from "#api/devices/device-class.ts";
import { ResourceClaim } from "#api/devices/resource-claim.ts";
import { type InputOf } from "#api/resource.ts";
import { build } from "#testing/build.ts";
import { createFakeInformers, type FakeInformers } from "#testing/fake-informers.ts";
import { evaluatorOf } from "./evaluators.ts";

type Amounts = Record<string, string>;
type Requests = NonNullable<NonNullable<NonNullable<InputOf<ResourceClaim>["spec"]>["devices"]>["requests"]>;
const namespace = "shop";
const now = Date.parse("2026-01-01T00:10:00Z");
const gpus = (count: number): Requests => [{ name: "gpus", exactly: { deviceClassName: "gpu", count } }];

function aClaim(requests: Requests, metadata: InputOf<ResourceClaim>["metadata"] = {}): ResourceClaim {
  return build(ResourceClaim, { metadata: { name: "c", namespace, ...metadata }, spec: { devices: { requests } } });
}

/** What the scheduler writes into the claim that it creates for the pod with this uid. */
const madeFor = (uid: string, metadata: InputOf<ResourceClaim>["metadata"] = {}) => ({
  annotations: { "resource.kubernetes.io/extended-resource-claim": "true" },
  ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "web", uid, controller: true }],
  ...metadata,
});

/** The class "gpu", which stands behind example.com/gpu, and what else the cluster has. */
function setUp(): FakeInformers {
  const informers = createFakeInformers();
  informers.put(DeviceClass, { metadata: { name: "gpu" }, spec: { extendedResourceName: "example.com/gpu" } });
  return informers;
}

function putPod(informers: FakeInformers, requests: Amounts, part: Partial<Pod> = {}): Pod {
  const pod = aPod({}, { resources: { requests, limits: requests } }, { namespace, uid: "pod-1" });
  return informers.put(Pod, { ...pod, ...part } as InputOf<Pod>);
}

/** What the claim takes, without its number. */
function usageOf(claim: ResourceClaim, informers = setUp()): Amounts {
  const context = { nowMs: now, objects: informers };
  const { "count/resourceclaims.resource.k8s.io": count, ...usage } = evaluatorOf(ResourceClaim).usage(claim, context);
  assert.equal(count, "1");
  return usage;
}

test("a claim takes the most that it may get of each class, also from the limits of extended resources", () => {
  const requests: Requests = [
    { name: "a", exactly: { deviceClassName: "gpu", count: 2 } },
    { name: "b", exactly: { deviceClassName: "nic", allocationMode: "All" } },
    {
      name: "c",
      firstAvailable: [
        { name: "x", deviceClassName: "gpu", count: 1 },
        { name: "y", deviceClassName: "gpu", count: 3 },
      ],
    },
  ];
  assert.deepEqual(usageOf(aClaim(requests)), {
    "gpu.deviceclass.resource.k8s.io/devices": "5",
    "nic.deviceclass.resource.k8s.io/devices": "32",
    "requests.deviceclass.resource.kubernetes.io/gpu": "5",
    "requests.deviceclass.resource.kubernetes.io/nic": "32",
    "requests.example.com/gpu": "5",
  });
});

test("a class that does not exist has no extended resource but the one of its name", () => {
  assert.deepEqual(usageOf(aClaim(gpus(2)), createFakeInformers()), {
    "gpu.deviceclass.resource.k8s.io/devices": "2",
    "requests.deviceclass.resource.kubernetes.io/gpu": "2",
  });
});

test("classes that stand behind the same resource are added up", () => {
  const informers = setUp();
  informers.put(DeviceClass, { metadata: { name: "fast" }, spec: { extendedResourceName: "example.com/gpu" } });
  const requests: Requests = [...gpus(2), { name: "b", exactly: { deviceClassName: "fast", count: 3 } }];
  assert.equal(usageOf(aClaim(requests), informers)["requests.example.com/gpu"], "5");
});

test("any class name and any count is added up exactly", () => {
  const huge = Number.MAX_SAFE_INTEGER;
  const requests = (className: string): Requests =>
    ["a", "b"].map((name) => ({ name, exactly: { deviceClassName: className, count: huge } }));
  for (const name of ["constructor", "__proto__", "hasOwnProperty", "a.deviceclass.resource.k8s.io"]) {
    const usage = usageOf(aClaim(requests(name)));
    assert.equal(usage[`${name}.deviceclass.resource.k8s.io/devices`], "18014398509481982");
    assert.equal(usage[`requests.deviceclass.resource.kubernetes.io/${name}`], "18014398509481982");
  }
});

const measured: [name: string, isMeasured: boolean][] = [
  ["count/resourceclaims.resource.k8s.io", true],
  ["gpu.deviceclass.resource.k8s.io/devices", true],
  ["requests.example.com/gpu", true],
  ["requests.deviceclass.resource.kubernetes.io/gpu", true],
  ["resourceclaims", false],
  ["requests.storage", false],
  ["requests.cpu", false],
  ["example.com/gpu", false],
  ["limits.example.com/gpu", false],
  ["gpu.deviceclass.resource.k8s.io/storage", false],
  ["deviceclass.resource.kubernetes.io/gpu", false],
];
for (const [name, isMeasured] of measured) {
  test(`claims ${isMeasured ? "take" : "do not take"} from ${name}`, () => {
    assert.equal(evaluatorOf(ResourceClaim).measures(name), isMeasured);
  });
}

const [implicit, explicit] = ["requests.deviceclass.resource.kubernetes.io/gpu", "requests.example.com/gpu"];
const [byName, byClass] = ["example.com/gpu", "deviceclass.resource.kubernetes.io/gpu"];
const extendedOf = (usage: Amounts) => [usage[explicit], usage[implicit]];

const compared: [name: string, requests: Amounts, count: number, rest: (string | undefined)[]][] = [
  ["by the name of the resource", { [byName]: "2" }, 2, [undefined, "2"]],
  ["by the name of the class", { [byClass]: "2" }, 2, ["2", undefined]],
  ["by both names", { [byName]: "1", [byClass]: "1" }, 2, ["1", "1"]],
  ["more than the pod, which has init containers", { [byName]: "1" }, 3, ["2", "3"]],
  ["less than the pod", { [byName]: "5", [byClass]: "5" }, 3, [undefined, undefined]],
  ["something else", { "example.com/nic": "2" }, 1, ["1", "1"]],
];
for (const [name, requests, count, rest] of compared) {
  test(`a claim for the extended resources of a pod takes what the pod does not: ${name}`, () => {
    const informers = setUp();
    putPod(informers, requests);
    const usage = usageOf(aClaim(gpus(count), madeFor("pod-1")), informers);
    assert.deepEqual(extendedOf(usage), rest);
    assert.equal(usage["gpu.deviceclass.resource.k8s.io/devices"], String(count));
  });
}

const note = (resourceClaimName: string): Partial<Pod> => ({
  status: { phase: "Pending", extendedResourceClaimStatus: { resourceClaimName, requestMappings: [] } },
});
const mine = { name: "c", creationTimestamp: "2026-01-01T00:00:05Z" };
const at = (name: string, second: number, uid = "pod-1") =>
  aClaim(gpus(1), madeFor(uid, { name, creationTimestamp: `2026-01-01T00:00:0${second}Z` }));

interface Doubt {
  readonly isTaken: boolean;
  readonly metadata?: InputOf<ResourceClaim>["metadata"];
  readonly pod?: Partial<Pod>;
  readonly others?: readonly ResourceClaim[];
  readonly isUnwritten?: boolean;
}
const plain = aPod({}, {}, { namespace, uid: "pod-1" }).metadata;
const [owner] = madeFor("pod-1").ownerReferences;
const doubts: Record<string, Doubt> = {
  "the pod notes it": { isTaken: true, pod: note("c"), others: [at("b", 1)] },
  "the pod notes another one": { isTaken: false, pod: note("b"), others: [at("b", 9)] },
  "the pod notes one that is gone": { isTaken: true, pod: note("gone") },
  "the pod notes one that is gone, and has an older one": { isTaken: false, pod: note("gone"), others: [at("b", 1)] },
  "it is the first": { isTaken: true, others: [at("d", 5), at("a", 6)] },
  "there is an older one": { isTaken: false, others: [at("d", 4)] },
  "another one of the same second comes first by name": { isTaken: false, others: [at("b", 5)] },
  "an older one says that it is for another pod": { isTaken: true, others: [at("a", 1, "pod-2")] },
  "it is being created, and there is another one": { isTaken: false, others: [at("d", 9)], isUnwritten: true },
  "it is being created, and there is none": { isTaken: true, isUnwritten: true },
  "the pod has ended": { isTaken: false, pod: { status: { phase: "Failed" } } },
  "the pod should be gone": {
    isTaken: false,
    pod: { metadata: { ...plain, deletionTimestamp: "2026-01-01T00:09:00Z", deletionGracePeriodSeconds: 30 } },
  },
  "the pod is another one of the same name": { isTaken: false, pod: { metadata: { ...plain, uid: "pod-2" } } },
  "the pod is in another namespace": { isTaken: false, pod: { metadata: { ...plain, namespace: "other" } } },
  "it is not marked": { isTaken: false, metadata: { annotations: {} } },
  "it is marked otherwise": {
    isTaken: false,
    metadata: { annotations: { "resource.kubernetes.io/extended-resource-claim": "yes" } },
  },
  "the pod does not control it": {
    isTaken: false,
    metadata: { ownerReferences: [{ ...owner, controller: false }] as never },
  },
  "its owner is not a pod": { isTaken: false, metadata: { ownerReferences: [{ ...owner, kind: "Job" }] as never } },
  "its owner is a pod of another group": {
    isTaken: false,
    metadata: { ownerReferences: [{ ...owner, apiVersion: "example.com/v1" }] as never },
  },
  "there are more than a scheduler makes": {
    isTaken: false,
    others: Array.from({ length: 16 }, (_, index) => at(`x-${index}`, 9)),
  },
};
for (const [why, { isTaken, metadata, pod, others = [], isUnwritten }] of Object.entries(doubts)) {
  test(`the pod ${isTaken ? "has taken" : "has not taken"} what a claim asks for: ${why}`, () => {
    const informers = setUp();
    putPod(informers, { [byName]: "1" }, pod);
    const claim = aClaim(gpus(1), madeFor("pod-1", { ...mine, ...metadata }));
    for (const one of [...others, ...(isUnwritten ? [] : [claim])]) informers.put(ResourceClaim, one);
    assert.equal(extendedOf(usageOf(claim, informers))[0], isTaken ? undefined : "1");
  });
}

test("claims of other namespaces that name a pod do not matter to its own", () => {
  const informers = setUp();
  putPod(informers, { [byName]: "1" });
  const claim = aClaim(gpus(1), madeFor("pod-1", mine));
  informers.put(ResourceClaim, claim);
  for (let index = 0; index < 20; index++) {
    const metadata = madeFor("pod-1", { name: `x-${index}`, namespace: "other", uid: `x-${index}` });
    informers.put(ResourceClaim, aClaim(gpus(1), { ...metadata, creationTimestamp: "2025-01-01T00:00:00Z" }));
  }
  assert.equal(extendedOf(usageOf(claim, informers))[0], undefined);
});

test("the containers of a pod are added up once, however often its claims are measured", (t) => {
  let reads = 0;
  const containers = Array.from({ length: 50 }, (_, index) => ({
    name: `c-${index}`,
    resources: { requests: { [byName]: "1" }, limits: { [byName]: "1" } },
  }));
  const built = build(Pod, { metadata: { name: "web", namespace, uid: "pod-1" }, spec: { containers } });
  const spec = {
    ...built.spec,
    get containers() {
      reads++;
      return built.spec.containers;
    },
  };
  const informers = setUp();
  const pod = { ...built, spec };
  t.mock.method(informers.of(Pod), "get", () => pod);
  const claim = aClaim(gpus(51), madeFor("pod-1"));
  assert.equal(extendedOf(usageOf(claim, informers))[0], "1");
  const readsOnce = reads;
  assert.notEqual(readsOnce, 0);
  for (let round = 0; round < 50; round++) usageOf(claim, informers);
  assert.equal(reads, readsOnce);
});

test("a claim looks up each of its classes once", (t) => {
  const informers = setUp();
  const lookUp = t.mock.method(informers.of(DeviceClass), "get");
  const requests = Array.from({ length: 32 }, (_, request) => ({
    name: `r-${request}`,
    firstAvailable: Array.from({ length: 8 }, (_, at) => ({ name: `s-${at}`, deviceClassName: `c-${at}` })),
  }));
  usageOf(aClaim(requests), informers);
  assert.equal(lookUp.mock.callCount(), 8);
});
