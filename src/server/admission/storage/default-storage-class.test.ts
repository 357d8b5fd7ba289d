import assert from "node:assert/strict";
import { test } from "node:test";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { StorageClass } from "#api/storage/storage-class.ts";
import { requestFor, setUp } from "../admission.suite.ts";

const isDefault = { "storageclass.kubernetes.io/is-default-class": "true" };

/** What class a claim gets. */
async function classOf(
  classes: readonly { name: string; annotations?: Record<string, string>; day?: number }[],
  spec: { storageClassName?: string } = {},
  annotations: Record<string, string> = {},
): Promise<string | undefined> {
  const { informers, admit } = setUp();
  for (const { name, annotations = isDefault, day = 1 } of classes) {
    const metadata = { name, annotations, creationTimestamp: `2026-01-0${day}T00:00:00Z` };
    informers.put(StorageClass, { metadata, provisioner: "p" });
  }
  const claim = { metadata: { name: "data", namespace: "shop", annotations }, spec: { ...spec, resources: {} } };
  await admit(requestFor(PersistentVolumeClaim, claim));
  return claim.spec.storageClassName;
}

test("a claim without a class gets the default one", async () => {
  assert.equal(await classOf([{ name: "slow", annotations: {} }]), undefined);
  assert.equal(await classOf([{ name: "slow", annotations: {} }, { name: "fast" }]), "fast");
  const beta = { "storageclass.beta.kubernetes.io/is-default-class": "true" };
  assert.equal(await classOf([{ name: "old", annotations: beta }]), "old");
});

test("of several default classes the newest counts, then the first by name", async () => {
  assert.equal(await classOf([{ name: "a" }, { name: "c", day: 2 }, { name: "b", day: 2 }]), "b");
});

test("a claim that asks for a class, for none, or by annotation keeps what it says", async () => {
  assert.equal(await classOf([{ name: "fast" }], { storageClassName: "slow" }), "slow");
  assert.equal(await classOf([{ name: "fast" }], { storageClassName: "" }), "");
  assert.equal(await classOf([{ name: "fast" }], {}, { "volume.beta.kubernetes.io/storage-class": "x" }), undefined);
});
