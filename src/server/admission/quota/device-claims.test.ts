import assert from "node:assert/strict";
import { test } from "node:test";
import { aPod } from "#api/core/pod/testing-pod.ts";
import { Pod } from "#api/core/pod.ts";
import { ResourceQuota } from "#api/core/resource-quota.ts";
import { DeviceClass } from "#api/devices/device-class.ts";
import { ResourceClaim } from "#api/devices/resource-claim.ts";
import { type InputOf } from "#api/resource.ts";
import { nextTurn } from "#lib/async/turns.ts";
import { build } from "#testing/build.ts";
import { requestFor, setUp } from "../admission.suite.ts";
import { type AdmissionRequest } from "../plugin.ts";

const namespace = "shop";
const explicit = "requests.example.com/gpu";
const implicit = "requests.deviceclass.resource.kubernetes.io/gpu";

/** A quota with these limits of which nothing is used, the class "gpu", and a pod that has requested some. */
function limited(hard: Record<string, string>) {
  const set = setUp();
  const used = Object.fromEntries(Object.keys(hard).map((name) => [name, "0"]));
  set.informers.put(ResourceQuota, { metadata: { name: "q", namespace }, spec: { hard }, status: { hard, used } });
  set.informers.put(DeviceClass, { metadata: { name: "gpu" }, spec: { extendedResourceName: "example.com/gpu" } });
  const requests = { "example.com/gpu": "2" };
  const pod = aPod({}, { resources: { requests, limits: requests } }, { namespace, uid: "pod-1" });
  set.informers.put(Pod, pod as InputOf<Pod>);
  const undo: (() => void)[] = [];
  const create = async (claim: ResourceClaim, part: Partial<AdmissionRequest> = {}) => {
    const request = requestFor(ResourceClaim, claim as InputOf<ResourceClaim>, {
      ifNotWritten: (one) => undo.push(one),
      ...part,
    });
    await set.admit(request);
  };
  const usedOf = () => set.informers.of(ResourceQuota).get({ namespace, name: "q" })?.status.used;
  return { ...set, create, undo, usedOf };
}

const aClaim = (name: string, count: number, metadata: InputOf<ResourceClaim>["metadata"] = {}): ResourceClaim =>
  build(ResourceClaim, {
    metadata: { name, namespace, creationTimestamp: "2026-01-01T00:00:00Z", ...metadata },
    spec: { devices: { requests: [{ name: "gpus", exactly: { deviceClassName: "gpu", count } }] } },
  });
const madeForPod = {
  annotations: { "resource.kubernetes.io/extended-resource-claim": "true" },
  ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "web", uid: "pod-1", controller: true }],
};

test("a claim is charged to the limits of the extended resources behind which its class stands", async () => {
  const set = limited({ [explicit]: "4", [implicit]: "9", "gpu.deviceclass.resource.k8s.io/devices": "9" });
  await set.create(aClaim("a", 3));
  assert.deepEqual(set.usedOf(), { [explicit]: "3", [implicit]: "3", "gpu.deviceclass.resource.k8s.io/devices": "3" });
  await assert.rejects(set.create(aClaim("b", 2)), {
    reason: "Forbidden",
    message:
      'resourceclaims.resource.k8s.io "b" is forbidden: exceeded quota: q, requested: requests.example.com/gpu=2, used: requests.example.com/gpu=3, limited: requests.example.com/gpu=4',
  });
});

test("a claim for the extended resources of a pod is charged with what the pod has not requested", async () => {
  const set = limited({ [explicit]: "2", [implicit]: "9" });
  await set.create(aClaim("a", 3, madeForPod));
  assert.deepEqual(set.usedOf(), { [explicit]: "1", [implicit]: "3" });
});

test("of the claims that say they are for a pod, only one counts, also if they are created together", async () => {
  const set = limited({ [explicit]: "2" });
  const names = ["c", "b", "a", "d", "e"];
  const outcomes = await Promise.allSettled(names.map((name) => set.create(aClaim(name, 2, madeForPod))));
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ["fulfilled", "fulfilled", "rejected", "rejected", "rejected"],
  );
  assert.deepEqual(set.usedOf(), { [explicit]: "2" });
});

test("a claim that was not written leaves its place to the next one", async () => {
  const set = limited({ [explicit]: "1" });
  await set.create(aClaim("a", 2, madeForPod));
  await assert.rejects(set.create(aClaim("b", 2, madeForPod)), /requested: requests.example.com\/gpu=2/);
  for (const one of set.undo) one();
  await set.create(aClaim("b", 2, madeForPod));

  set.informers.put(ResourceClaim, aClaim("b", 2, madeForPod) as InputOf<ResourceClaim>);
  await assert.rejects(set.create(aClaim("c", 2, madeForPod)), /requested: requests.example.com\/gpu=2/);
  set.informers.delete(ResourceClaim, { namespace, name: "b" });
  await set.create(aClaim("c", 2, madeForPod));
  assert.deepEqual(set.usedOf(), { [explicit]: "0" });
});

test("a claim of which the cache never hears leaves its place after a while", async () => {
  const set = limited({ [explicit]: "1" });
  // It is written, and deleted between two lists of the cache.
  await set.create(aClaim("a", 2, madeForPod));
  await set.clock.advance(9000);
  await assert.rejects(set.create(aClaim("b", 2, madeForPod)), /requested: requests.example.com\/gpu=2/);
  await set.clock.advance(1000);
  await set.create(aClaim("b", 2, madeForPod));
  await assert.rejects(set.create(aClaim("c", 2, madeForPod)), /requested: requests.example.com\/gpu=2/);
});

test("a dry run takes nobody's place", async () => {
  const set = limited({ [explicit]: "1" });
  await set.create(aClaim("a", 2, madeForPod), { dryRun: true });
  await set.create(aClaim("b", 2, madeForPod));
});

test("a claim that is no longer marked is charged", async () => {
  const set = limited({ [explicit]: "2" });
  const old = aClaim("a", 2, madeForPod);
  set.informers.put(ResourceClaim, old as InputOf<ResourceClaim>);
  const update = { operation: "UPDATE", verb: "update", oldObject: old } as const;
  await set.create(old, update);
  assert.deepEqual(set.usedOf(), { [explicit]: "0" });
  const { annotations: _, ...plain } = old.metadata;
  await set.create({ ...old, metadata: plain }, update);
  assert.deepEqual(set.usedOf(), { [explicit]: "2" });
});

test("a quota with scopes counts no claims", async () => {
  const set = limited({ [explicit]: "1" });
  const hard = { [implicit]: "0" };
  const quota = { spec: { hard, scopes: ["NotBestEffort"] }, status: { hard, used: hard } };
  set.informers.put(ResourceQuota, { metadata: { name: "q", namespace }, ...quota });
  await set.create(aClaim("a", 2));
});

test("the pods of a namespace pay the same as before", async () => {
  const set = limited({ [explicit]: "3" });
  const requests = { "example.com/gpu": "2" };
  const pod = aPod({}, { resources: { requests, limits: requests } }, { name: "second", namespace, uid: "pod-2" });
  await set.admit(requestFor(Pod, pod as InputOf<Pod>));
  assert.deepEqual(set.usedOf(), { [explicit]: "2" });
});

test("claims of hundreds of classes are measured when they arrive, and not again while they are charged", async (t) => {
  const allHere = Promise.withResolvers<void>();
  const set = setUp({
    async storeQuota(quota) {
      await allHere.promise;
      const { resourceVersion: _next, ...metadata } = quota.metadata;
      set.informers.put(ResourceQuota, { ...quota, metadata });
      return true;
    },
  });
  const count = "count/resourceclaims.resource.k8s.io";
  const hard = { [explicit]: "1", [count]: "1000" };
  const status = { hard, used: { [explicit]: "0", [count]: "0" } };
  set.informers.put(ResourceQuota, { metadata: { name: "q", namespace }, spec: { hard }, status });
  const lookUp = t.mock.method(set.informers.of(DeviceClass), "get");
  const requests = Array.from({ length: 32 }, (_, request) => ({
    name: `r-${request}`,
    firstAvailable: Array.from({ length: 8 }, (_, at) => ({ name: `s-${at}`, deviceClassName: `c-${request}-${at}` })),
  }));
  const creating = Array.from({ length: 40 }, (_, index) => {
    const claim = build(ResourceClaim, {
      metadata: { name: `c-${index}`, namespace },
      spec: { devices: { requests } },
    });
    return set.admit(requestFor(ResourceClaim, claim as InputOf<ResourceClaim>));
  });
  await nextTurn();
  assert.equal(lookUp.mock.callCount(), 40 * 32 * 8);
  allHere.resolve();
  await Promise.all(creating);

  assert.equal(set.informers.of(ResourceQuota).get({ namespace, name: "q" })?.status.used?.[count], "40");
  assert.equal(lookUp.mock.callCount(), 40 * 32 * 8);
});
