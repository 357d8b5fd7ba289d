import assert from "node:assert/strict";
import { test } from "node:test";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { StorageClass } from "#api/storage/storage-class.ts";
import { build } from "#testing/build.ts";
import { requestFor, setUp } from "../admission.suite.ts";

const claim = (storage: string, storageClassName = "growing", phase = "Bound") =>
  build(PersistentVolumeClaim, {
    metadata: { name: "data", namespace: "shop" },
    spec: { storageClassName, resources: { requests: { storage } } },
    status: { phase },
  });
const refused = 'persistentvolumeclaims "data" is forbidden: ';
const fixed =
  "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize";

const cases = [
  { name: "may grow", old: claim("1Gi"), now: claim("2Gi") },
  { name: "may stay the same in other units", old: claim("1Gi", "fixed"), now: claim("1024Mi", "fixed") },
  {
    name: "must be bound",
    old: claim("1Gi", "growing", "Pending"),
    now: claim("2Gi"),
    why: "Only bound persistent volume claims can be expanded",
  },
  { name: "needs a class that allows it", old: claim("1Gi", "fixed"), now: claim("2Gi", "fixed"), why: fixed },
  { name: "needs a class that exists", old: claim("1Gi", "gone"), now: claim("2Gi", "gone"), why: fixed },
  { name: "needs a class", old: claim("1Gi", ""), now: claim("2Gi", ""), why: fixed },
  { name: "keeps its class", old: claim("1Gi", "fixed"), now: claim("2Gi"), why: fixed },
];
for (const { name, old, now, why } of cases) {
  test(`a claim ${name}`, async () => {
    const { informers, admit } = setUp();
    informers.put(StorageClass, { metadata: { name: "growing" }, provisioner: "p", allowVolumeExpansion: true });
    informers.put(StorageClass, { metadata: { name: "fixed" }, provisioner: "p" });
    const request = requestFor(PersistentVolumeClaim, now, { operation: "UPDATE", oldObject: old });
    if (why) await assert.rejects(admit(request), { code: 403, message: refused + why });
    else await admit(request);
  });
}
