import assert from "node:assert/strict";
import { test } from "node:test";
import { allResources } from "#api/all.ts";
import { aPod } from "#api/core/pod/testing-pod.ts";
import { Pod } from "#api/core/pod.ts";
import { ResourceQuota } from "#api/core/resource-quota.ts";
import { DeviceClass } from "#api/devices/device-class.ts";
import { ResourceClaim } from "#api/devices/resource-claim.ts";
import { evaluatorOf } from "#api/quota/evaluators.ts";
import { type InputOf } from "#api/resource.ts";
import { neverAborted } from "#lib/async/tasks.ts";
import { build } from "#testing/build.ts";
import { createFakeInformers, type FakeInformers } from "#testing/fake-informers.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { type TallyChange, UsageTallies } from "./usage-tallies.ts";
import { UsageTally } from "./usage-tally.ts";

const namespace = "shop";
const hourMs = 3_600_000;
const limit = "requests.example.com/gpu";
const devicesLimit = "gpu.deviceclass.resource.k8s.io/devices";

/** A quota, and a class that stands behind the limited resource. */
function setUp(hard: Record<string, string> = { [limit]: "99" }) {
  const informers = createFakeInformers();
  const inOneBatch = batchesOf(informers);
  const clock = createVirtualClock();
  const changes: TallyChange[] = [];
  const tallies = new UsageTallies({ informers, clock, resources: () => allResources });
  tallies.onChange((change) => changes.push(change));
  const quota = informers.put(ResourceQuota, { metadata: { name: "q", namespace }, spec: { hard }, status: {} });
  const putClass = (name: string, resource?: string) =>
    informers.put(DeviceClass, {
      metadata: { name },
      spec: resource === undefined ? {} : { extendedResourceName: resource },
    });
  putClass("gpu", "example.com/gpu");
  const tally = () => tallies.of(quota, hourMs, neverAborted);
  const requests = { "example.com/gpu": "2" };
  const pod = aPod({}, { resources: { requests, limits: requests } }, { namespace, uid: "pod-1" });
  const putPod = (part: Partial<Pod> = {}) => informers.put(Pod, { ...pod, ...part } as InputOf<Pod>);
  const putClaim = (name: string, count: number, metadata: InputOf<ResourceClaim>["metadata"] = madeForPod) => {
    const devices = { requests: [{ name: "gpus", exactly: { deviceClassName: "gpu", count } }] };
    const claim = build(ResourceClaim, { metadata: { ...metadata, name, namespace }, spec: { devices } });
    return informers.put(ResourceClaim, claim as InputOf<ResourceClaim>);
  };
  return { informers, inOneBatch, clock, quota, tallies, changes, putClass, putPod, putClaim, tally };
}
/** Tells of changes of claims only after all of them have been made, as the server's cache does. */
function batchesOf(informers: FakeInformers): (change: () => void) => void {
  let held: (() => void)[] | undefined;
  const claims = informers.of(ResourceClaim);
  const subscribe = claims.subscribe.bind(claims);
  claims.subscribe = (handler) =>
    subscribe((change) => {
      if (held) held.push(() => handler(change));
      else handler(change);
    });
  return (change) => {
    const batch: (() => void)[] = [];
    held = batch;
    change();
    held = undefined;
    for (const tell of batch) tell();
  };
}
const madeForPod = {
  annotations: { "resource.kubernetes.io/extended-resource-claim": "true" },
  ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "web", uid: "pod-1", controller: true }],
};

test("a pod and the claim for its extended resources are counted once, in whatever order they become known", async () => {
  for (const order of ["pod first", "claim first"]) {
    const { tally, putPod, putClaim } = setUp();
    const { counted } = await tally();
    if (order === "pod first") putPod();
    putClaim("c", 2);
    if (order === "claim first") putPod();
    assert.deepEqual(counted, { [limit]: "2" }, order);
  }
});

test("what a pod that ends hands over to its claim is not released before the claim is gone", async () => {
  const { tally, putPod, putClaim, informers } = setUp();
  putPod();
  putClaim("c", 2);
  const known = await tally();
  putPod({ status: { phase: "Succeeded" } });
  assert.deepEqual([known.counted, known.takeReleased()], [{ [limit]: "2" }, { [limit]: "0" }]);
  informers.delete(Pod, { namespace, name: "web" });
  assert.deepEqual([known.counted, known.takeReleased()], [{ [limit]: "2" }, {}]);
  informers.delete(ResourceClaim, { namespace, name: "c" });
  assert.deepEqual([known.counted, known.takeReleased()], [{ [limit]: "0" }, { [limit]: "2" }]);
});

test("the claim that the pod notes takes the place of the one before", async () => {
  const { tally, putPod, putClaim, informers } = setUp();
  putPod();
  putClaim("a", 2);
  putClaim("b", 2);
  const known = await tally();
  const { counted } = known;
  assert.deepEqual(counted, { [limit]: "4" });
  putPod({
    status: { phase: "Pending", extendedResourceClaimStatus: { resourceClaimName: "b", requestMappings: [] } },
  });
  assert.deepEqual([counted, known.takeReleased()], [{ [limit]: "4" }, {}]);
  informers.delete(ResourceClaim, { namespace, name: "a" });
  assert.deepEqual([counted, known.takeReleased()], [{ [limit]: "2" }, { [limit]: "2" }]);
});

test("claims that are too many for one pod are counted in full until some of them are gone", async () => {
  const { tally, putPod, putClaim, informers } = setUp();
  putPod();
  const { counted } = await tally();
  for (let index = 10; index < 26; index++) putClaim(`c-${index}`, 2);
  assert.deepEqual(counted, { [limit]: "32" });
  for (let index = 26; index < 40; index++) putClaim(`c-${index}`, 2);
  assert.deepEqual(counted, { [limit]: "62" });
  for (let index = 10; index < 24; index++) informers.delete(ResourceClaim, { namespace, name: `c-${index}` });
  assert.deepEqual(counted, { [limit]: "32" });
});

test("when a class begins or ends to stand behind a resource, everything is counted anew", async () => {
  const { tally, putClass, putClaim, informers, changes } = setUp({ [limit]: "99", [devicesLimit]: "99" });
  putClaim("c", 3, {});
  assert.deepEqual((await tally()).counted, { [limit]: "3", [devicesLimit]: "3" });
  const outdated = () => changes.splice(0).filter(({ isOutdated }) => isOutdated).length;

  putClass("gpu", "example.com/gpu");
  assert.equal(outdated(), 0);
  putClass("gpu", "example.com/other");
  assert.equal(outdated(), 1);
  assert.deepEqual((await tally()).counted, { [limit]: "0", [devicesLimit]: "3" });
  putClass("gpu", "example.com/gpu");
  assert.deepEqual((await tally()).counted, { [limit]: "3", [devicesLimit]: "3" });
  informers.delete(DeviceClass, { name: "gpu" });
  assert.equal(outdated(), 2);
  assert.deepEqual((await tally()).counted, { [limit]: "0", [devicesLimit]: "3" });
});

test("what a deleted pod is counted with is subtracted, however late it is", async () => {
  const { tally, putPod, informers, clock } = setUp({ pods: "9", [limit]: "9" });
  const { metadata } = putPod();
  const { counted } = await tally();
  const deletionTimestamp = new Date(clock.now()).toISOString();
  putPod({ metadata: { ...metadata, deletionTimestamp, deletionGracePeriodSeconds: 30 } });
  assert.deepEqual(counted, { pods: "1", [limit]: "2" });
  await clock.advance(60_000);
  informers.delete(Pod, { namespace, name: "web" });
  assert.deepEqual(counted, { pods: "0", [limit]: "0" });
});

/** A pod of which nothing tells when its time is over. */
async function setUpStuckPod() {
  const set = setUp({ [limit]: "99", pods: "9" });
  const { metadata } = set.putPod();
  const deletionTimestamp = new Date(set.clock.now()).toISOString();
  set.putPod({ metadata: { ...metadata, deletionTimestamp, deletionGracePeriodSeconds: 30 } });
  const recount = async () => {
    const { informers, clock, quota } = set;
    return (await new UsageTallies({ informers, clock, resources: () => allResources }).of(quota, hourMs, neverAborted))
      .counted;
  };
  return { ...set, recount };
}

test("a pod that should be gone and its claim are counted once when the claim changes", async () => {
  const { tally, putClaim, clock, recount, informers } = await setUpStuckPod();
  putClaim("c", 2);
  const known = await tally();
  await clock.advance(60_000);
  assert.deepEqual(known.counted, { [limit]: "2", pods: "1" });
  putClaim("c", 2, { ...madeForPod, labels: { is: "edited" } });
  assert.deepEqual(known.counted, { [limit]: "2", pods: "0" });
  assert.deepEqual(known.counted, await recount());
  // Nobody was charged for what the claim has taken over.
  assert.deepEqual(known.takeReleased(), { [limit]: "0", pods: "1" });
  informers.delete(Pod, { namespace, name: "web" });
  assert.deepEqual(known.takeReleased(), {});
  informers.delete(ResourceClaim, { namespace, name: "c" });
  assert.deepEqual([known.counted, known.takeReleased()], [{ [limit]: "0", pods: "0" }, { [limit]: "2" }]);
});

test("a pod that should be gone is not counted besides a claim that was charged after that", async () => {
  const { tally, putClaim, clock, recount } = await setUpStuckPod();
  const known = await tally();
  await clock.advance(60_000);
  putClaim("c", 2);
  assert.deepEqual(known.counted, { [limit]: "2", pods: "0" });
  assert.deepEqual(known.counted, await recount());
  assert.deepEqual(known.takeReleased(), { [limit]: "2", pods: "1" });
});

test("a pod that should be gone is not counted besides claims that change because another one does", async () => {
  const { tally, putClaim, clock, recount, informers } = await setUpStuckPod();
  putClaim("a", 2);
  putClaim("b", 1);
  const known = await tally();
  assert.deepEqual(known.counted, { [limit]: "3", pods: "1" });
  await clock.advance(60_000);
  informers.delete(ResourceClaim, { namespace, name: "b" });
  assert.deepEqual(known.counted, { [limit]: "2", pods: "0" });
  assert.deepEqual(known.counted, await recount());
  assert.deepEqual(known.takeReleased(), { [limit]: "1", pods: "1" });
});

test("a pod whose time ends while everything is counted is not counted besides its claim", async () => {
  const { putClaim, quota, clock, informers } = await setUpStuckPod();
  const claim = putClaim("c", 2);
  const [pods, claims] = [evaluatorOf(Pod), evaluatorOf(ResourceClaim)];
  const tally = new UsageTally(quota, [pods, claims]);
  for (const pod of informers.of(Pod).list()) tally.add(pod, pods, { nowMs: clock.now(), objects: informers });
  await clock.advance(60_000);
  tally.add(claim, claims, { nowMs: clock.now(), objects: informers });
  assert.deepEqual(tally.counted, { [limit]: "2", pods: "0" });
  assert.deepEqual(tally.takeReleased(), {});
});

for (const noted of [undefined, "c-10"]) {
  test(`a pod that gets too many claims at once pays for none, ${noted ? "not even the noted one" : "not even the oldest"}`, async () => {
    const { tally, putPod, putClaim, inOneBatch, informers, clock, quota } = setUp();
    const requestMappings: never[] = [];
    putPod(
      noted
        ? { status: { phase: "Pending", extendedResourceClaimStatus: { resourceClaimName: noted, requestMappings } } }
        : {},
    );
    // The new ones come first by name.
    for (let index = 10; index < 26; index++) putClaim(`c-${index}`, 2);
    const { counted } = await tally();
    assert.deepEqual(counted, { [limit]: "32" });
    inOneBatch(() => {
      for (let index = 0; index < 20; index++) putClaim(`b-${index}`, 2);
    });
    assert.deepEqual(counted, { [limit]: "74" });
    const fresh = new UsageTallies({ informers, clock, resources: () => allResources });
    assert.deepEqual((await fresh.of(quota, hourMs, neverAborted)).counted, counted);
  });
}

test("each change of a pod with thousands of claims counts few of them again", async (t) => {
  const { tally, putPod, putClaim, informers } = setUp();
  putPod();
  const { counted } = await tally();
  // Each measurement looks up the class of the claim.
  const lookUp = t.mock.method(informers.of(DeviceClass), "get");
  for (let index = 0; index < 2000; index++) {
    putClaim(`c-${index}`, 1);
    assert(lookUp.mock.callCount() <= 17, `${lookUp.mock.callCount()} claims`);
    lookUp.mock.resetCalls();
  }
  putPod({ status: { phase: "Pending" } });
  assert(lookUp.mock.callCount() <= 16, `${lookUp.mock.callCount()} claims`);
  assert.deepEqual(counted, { [limit]: "2002" });
});
