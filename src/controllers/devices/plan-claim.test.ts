import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "#api/core/pod.ts";
import { ResourceClaim } from "#api/devices/resource-claim.ts";
import { ResourceClaimTemplate } from "#api/devices/resource-claim-template.ts";
import { type InputOf } from "#api/resource.ts";
import { build } from "#testing/build.ts";
import { planClaim } from "./plan-claim.ts";
import { planNewClaim, planStatuses } from "./pod-claims.ts";

const podOf = (name: string, status: InputOf<Pod>["status"] = {}, metadata: object = {}): Pod =>
  build(Pod, {
    metadata: { name, ...metadata },
    spec: { containers: [{ name: "main", image: "a" }], ...(status.phase ? { nodeName: "a" } : {}) },
    status,
  });
const pods = [
  podOf("running", { phase: "Running" }),
  podOf("ended", { phase: "Succeeded" }),
  podOf("unscheduled", {}, { deletionTimestamp: "2026-01-01T00:00:00Z" }),
  podOf("ending", { phase: "Running" }, { deletionTimestamp: "2026-01-01T00:00:00Z" }),
];
const podNamed = (name: string) => pods.find(({ metadata }) => metadata.name === name);

const consumer = (name: string, uid = `uid-${name}`) => ({ resource: "pods", name, uid });
const owner = (name: string, uid = `uid-${name}`) => ({
  ownerReferences: [{ apiVersion: "v1", kind: "Pod", name, uid, controller: true }],
});
const finalizers = ["resource.kubernetes.io/delete-protection"];
const allocation = { devices: { results: [{ request: "r", driver: "d", pool: "p", device: "x" }] } };
const deletionTimestamp = "2026-01-01T00:00:00Z";

const nothing = { deallocate: false, removeFinalizer: false, remove: false };
const freed = { reservedFor: [], deallocate: true, removeFinalizer: true, remove: false };
const cases: { name: string; metadata?: object; reservedFor?: object[]; status?: object; plan: object }[] = [
  { name: "keeps a claim that was never used", metadata: { finalizers }, status: { allocation }, plan: nothing },
  { name: "keeps what a running pod uses", reservedFor: [consumer("running")], plan: nothing },
  { name: "keeps what a pod uses until it has ended", reservedFor: [consumer("ending")], plan: nothing },
  { name: "frees what an ended pod used", reservedFor: [consumer("ended")], plan: freed },
  { name: "frees what a pod wanted that was deleted first", reservedFor: [consumer("unscheduled")], plan: freed },
  { name: "frees what a pod used that is gone", reservedFor: [consumer("gone")], plan: freed },
  { name: "frees what a pod used before it was replaced", reservedFor: [consumer("running", "old")], plan: freed },
  {
    name: "removes only the consumers that are done",
    reservedFor: [consumer("ended"), consumer("running")],
    plan: { ...nothing, reservedFor: [consumer("running")] },
  },
  {
    name: "leaves consumers alone that are not pods",
    reservedFor: [{ ...consumer("gone"), apiGroup: "example.com" }],
    plan: nothing,
  },
  {
    name: "frees an unused claim that is being deleted",
    metadata: { finalizers, deletionTimestamp },
    status: { allocation },
    plan: { ...freed, reservedFor: undefined },
  },
  {
    name: "keeps a used claim that is being deleted",
    metadata: { finalizers, deletionTimestamp },
    reservedFor: [consumer("running")],
    plan: nothing,
  },
  {
    name: "lets a claim go that is being deleted and has no devices",
    metadata: { finalizers, deletionTimestamp },
    status: {},
    plan: { ...nothing, removeFinalizer: true },
  },
  {
    name: "deletes the claim of an ended pod",
    metadata: owner("ended"),
    status: {},
    plan: { ...nothing, remove: true },
  },
  {
    name: "deletes the claim of a pod that was replaced",
    metadata: owner("running", "old"),
    status: {},
    plan: { ...nothing, remove: true },
  },
  { name: "keeps the claim of a pod that waits", metadata: owner("running"), status: {}, plan: nothing },
  { name: "leaves the claim of a pod that is gone to others", metadata: owner("gone"), status: {}, plan: nothing },
];
for (const { name, metadata = { finalizers }, reservedFor, status = { allocation }, plan } of cases) {
  test(`planClaim() ${name}`, () => {
    const claim = build(ResourceClaim, {
      metadata: { name: "c", ...metadata },
      spec: { devices: {} },
      status: { ...status, ...(reservedFor ? { reservedFor } : {}) },
    } as InputOf<ResourceClaim>);

    const { reservedFor: left, ...rest } = planClaim(claim, podNamed);

    assert.deepEqual({ ...rest, ...(left ? { reservedFor: left } : {}) }, JSON.parse(JSON.stringify(plan)));
  });
}

test("planNewClaim() takes labels and settings of the template and names its pod", () => {
  const template = build(ResourceClaimTemplate, {
    metadata: { name: "t" },
    spec: { metadata: { labels: { a: "b" }, annotations: { c: "d" } }, spec: { devices: { requests: [] } } },
  });

  const { metadata, spec } = planNewClaim(podOf("web"), "gpu", template);

  assert.equal(metadata?.generateName, "web-gpu-");
  assert.deepEqual(metadata.labels, { a: "b" });
  assert.deepEqual(metadata.annotations, { c: "d", "resource.kubernetes.io/pod-claim-name": "gpu" });
  assert.deepEqual(metadata.ownerReferences, [
    { apiVersion: "v1", kind: "Pod", name: "web", uid: "uid-web", controller: true },
  ]);
  assert.deepEqual(spec, template.spec.spec);
});

test("planNewClaim() shortens names, so that the claim has a valid one", () => {
  const template = build(ResourceClaimTemplate, { metadata: { name: "t" }, spec: { spec: { devices: {} } } });

  const { metadata } = planNewClaim(podOf("p".repeat(63)), "c".repeat(63), template);

  assert((metadata?.generateName?.length ?? 0) <= 58);
});

test("planStatuses() names only claims that the status does not name", () => {
  const pod = podOf("web", { resourceClaimStatuses: [{ name: "a", resourceClaimName: "web-a-1" }] });

  const statuses = planStatuses(
    pod,
    new Map([
      ["b", "web-b-1"],
      ["a", "web-a-1"],
    ]),
  );

  assert.deepEqual(statuses, [{ name: "b", resourceClaimName: "web-b-1" }]);
});
