import assert from "node:assert/strict";
import { test } from "node:test";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { Pod } from "#api/core/pod.ts";
import { type InputOf } from "#api/resource.ts";
import { build } from "#testing/build.ts";
import { isUsedBy } from "./claim-protection.ts";
import { planFinalizers } from "./protect.ts";

const deleted = { deletionTimestamp: "2026-01-01T00:00:00Z" };
const plans = [
  { name: "adds a missing one", metadata: { finalizers: ["a"] }, plan: ["a", "x"] },
  { name: "keeps the one that is there", metadata: { finalizers: ["x", "a"] }, plan: undefined },
  { name: "removes it from what is being deleted", metadata: { ...deleted, finalizers: ["a", "x"] }, plan: ["a"] },
  { name: "adds none to what is being deleted", metadata: { ...deleted, finalizers: ["a"] }, plan: undefined },
];
for (const { name, metadata, plan } of plans) {
  test(`planFinalizers() ${name}`, () => {
    assert.deepEqual(planFinalizers({ apiVersion: "v1", kind: "X", metadata }, "x"), plan);
  });
}

const podWith = (volume: object, spec: object = { nodeName: "n" }, metadata: object = {}): Pod =>
  build(Pod, {
    metadata: { name: "web", namespace: "shop", uid: "web-1", ...metadata },
    spec: { containers: [{ name: "c", image: "a" }], volumes: [{ name: "data", ...volume }], ...spec },
  });
const claim = (metadata: InputOf<PersistentVolumeClaim>["metadata"]) =>
  build(PersistentVolumeClaim, { metadata: { namespace: "shop", ...metadata }, spec: {} });
const data = claim({ name: "data" });
const own = claim({
  name: "web-data",
  ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "web", uid: "web-1", controller: true }],
});
const named = { persistentVolumeClaim: { claimName: "data" } };
const ended = { ...deleted, deletionGracePeriodSeconds: 0 };

const uses: readonly { name: string; pod: Pod; claim: PersistentVolumeClaim; isUsed: boolean }[] = [
  { name: "a pod that names it", pod: podWith(named), claim: data, isUsed: true },
  { name: "a pod that names it and has ended", pod: podWith(named, undefined, ended), claim: data, isUsed: true },
  { name: "a pod without a node", pod: podWith(named, {}), claim: data, isUsed: false },
  {
    name: "a pod that names another",
    pod: podWith({ persistentVolumeClaim: { claimName: "x" } }),
    claim: data,
    isUsed: false,
  },
  { name: "the pod that it was made for", pod: podWith({ ephemeral: {} }), claim: own, isUsed: true },
  { name: "that pod, after its end", pod: podWith({ ephemeral: {} }, undefined, ended), claim: own, isUsed: false },
  {
    name: "a pod that it was not made for",
    pod: podWith({ ephemeral: {} }),
    claim: claim({ name: "web-data" }),
    isUsed: false,
  },
];
for (const { name, pod, claim, isUsed } of uses) {
  test(`a claim is ${isUsed ? "used" : "not used"} by ${name}`, () => assert.equal(isUsedBy(pod, claim), isUsed));
}
