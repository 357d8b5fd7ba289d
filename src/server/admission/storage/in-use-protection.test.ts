import assert from "node:assert/strict";
import { test } from "node:test";
import { PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { type ApiObject, type Resource } from "#api/resource.ts";
import { StorageClass } from "#api/storage/storage-class.ts";
import { VolumeAttributesClass } from "#api/storage/volume-attributes-class.ts";
import { requestFor, setUp } from "../admission.suite.ts";

async function finalizersOf(resource: Resource, finalizers: string[]): Promise<string[] | undefined> {
  const object: ApiObject = {
    apiVersion: "",
    kind: resource.kind,
    metadata: { name: "a", finalizers },
    spec: {},
  } as ApiObject;
  await setUp().admit({ ...requestFor(resource, undefined), object, name: "a" });
  return object.metadata.finalizers;
}

for (const [resource, finalizer] of [
  [PersistentVolume, "kubernetes.io/pv-protection"],
  [PersistentVolumeClaim, "kubernetes.io/pvc-protection"],
  [VolumeAttributesClass, "kubernetes.io/vac-protection"],
] as const) {
  test(`a new ${resource.kind} gets a finalizer, once`, async () => {
    assert.deepEqual(await finalizersOf(resource, []), [finalizer]);
    assert.deepEqual(await finalizersOf(resource, ["x/y"]), ["x/y", finalizer]);
    assert.deepEqual(await finalizersOf(resource, [finalizer, "x/y"]), [finalizer, "x/y"]);
  });
}

test("other kinds get none", async () => {
  assert.deepEqual(await finalizersOf(StorageClass, []), []);
});
