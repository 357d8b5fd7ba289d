import assert from "node:assert/strict";
import { test } from "node:test";
import { PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { type InputOf } from "#api/resource.ts";
import { StorageClass } from "#api/storage/storage-class.ts";
import { build } from "#testing/build.ts";
import { requestFor as frozenRequestFor, setUp } from "../admission.suite.ts";

/** Plugins may change the object of a request, and built ones are frozen. */
const requestFor: typeof frozenRequestFor = (resource, object, part) =>
  frozenRequestFor(resource, structuredClone(object), part);

const user = { name: "system:orlop:node-services:a", groups: ["system:orlop:node-services"] };
const uid = "11111111-2222-3333-4444-555555555555";
const name = `pvc-${uid}`;
const asked = { "volume.kubernetes.io/storage-provisioner": "orlop.dev/local" };
const given = { ...asked, "volume.kubernetes.io/selected-node": "a" };

const claimOf = (annotations: Record<string, string>, part: object = {}) =>
  build(PersistentVolumeClaim, {
    metadata: { namespace: "shop", name: "data", uid, annotations },
    spec: { storageClassName: "orlop-local", resources: { requests: { storage: "2Gi" } }, ...part },
    status: { phase: "Bound", capacity: { storage: "1Gi" } },
  });

type VolumePart = Partial<InputOf<PersistentVolume>["spec"]> & { readonly on?: string; readonly phase?: string };
const volumeOf = ({ on = "a", phase = "Available", ...spec }: VolumePart = {}, metadata: object = {}) =>
  build(PersistentVolume, {
    metadata: {
      name,
      annotations: { "pv.kubernetes.io/provisioned-by": "orlop.dev/local" },
      finalizers: ["external-provisioner.volume.kubernetes.io/finalizer"],
      ...metadata,
    },
    spec: {
      capacity: { storage: "2Gi" },
      accessModes: ["ReadWriteOnce"],
      claimRef: { namespace: "shop", name: "data", uid },
      persistentVolumeReclaimPolicy: "Delete",
      storageClassName: "orlop-local",
      volumeMode: "Filesystem",
      local: { path: `/var/lib/orlop/volumes/${name}` },
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: [on] }] }],
        },
      },
      ...spec,
    },
    status: { phase },
  });

function withClaim(claim = claimOf(given)) {
  const { informers, admit } = setUp();
  informers.put(StorageClass, {
    metadata: { name: "orlop-local" },
    provisioner: "orlop.dev/local",
    reclaimPolicy: "Delete",
  });
  informers.put(StorageClass, { metadata: { name: "other" }, provisioner: "p", reclaimPolicy: "Delete" });
  informers.put(PersistentVolumeClaim, claim);
  informers.put(PersistentVolume, volumeOf());
  return admit;
}
const refused = (why: RegExp) => (error: Error) => why.test(error.message);

test("a node makes, grows and removes the volume of a claim that was given to it", async () => {
  const admit = withClaim();
  await admit(requestFor(PersistentVolume, volumeOf(), { user }));
  const small = volumeOf({ capacity: { storage: "1Gi" } });
  await admit(requestFor(PersistentVolume, volumeOf(), { user, operation: "UPDATE", oldObject: small }));
  const bound = claimOf(given, { volumeName: name });
  const grown = { ...bound, status: { ...bound.status, capacity: { storage: "2Gi" } } };
  const status = { user, operation: "UPDATE", subresource: "status", oldObject: bound } as const;
  await admit(requestFor(PersistentVolumeClaim, grown, status));
  const unused = volumeOf({ phase: "Released" });
  await admit(requestFor(PersistentVolume, undefined, { user, operation: "DELETE", oldObject: unused }));
  const freed = volumeOf({ phase: "Released" }, { finalizers: [] });
  await admit(requestFor(PersistentVolume, freed, { user, operation: "UPDATE", oldObject: unused }));
  const back = claimOf(asked);
  await admit(requestFor(PersistentVolumeClaim, back, { user, operation: "UPDATE", oldObject: claimOf(given) }));
});

for (const [what, volume, why] of [
  ["of another node", volumeOf({ on: "b" }), /not a volume of this node/],
  ["of every node", volumeOf({ nodeAffinity: {} }), /not a volume of this node/],
  [
    "for a claim of a later life",
    volumeOf({ claimRef: { namespace: "shop", name: "data", uid: "x" } }),
    /does not exist/,
  ],
  ["for no claim", volumeOf({ claimRef: {} }), /does not exist/],
  ["of another class", volumeOf({ storageClassName: "other" }), /its class is not one of/],
  ["of another name", volumeOf({}, { name: "pvc-x" }), /its name must be/],
  ["that is larger", volumeOf({ capacity: { storage: "9Gi" } }), /its size is not/],
  ["that stays for ever", volumeOf({ persistentVolumeReclaimPolicy: "Retain" }), /reclaim policy/],
  ["with mount options", volumeOf({ mountOptions: ["suid"] }), /may not have mountOptions/],
  [
    "that holds up the deletion of another object",
    volumeOf(
      {},
      { ownerReferences: [{ apiVersion: "v1", kind: "Node", name: "b", uid: "1", blockOwnerDeletion: true }] },
    ),
    /may not have owners/,
  ],
] as const) {
  test(`a node cannot make a volume ${what}`, async () => {
    await assert.rejects(withClaim()(requestFor(PersistentVolume, volume, { user })), refused(why));
  });
}

test("a node cannot make a volume for a claim that was given to another node or to nobody", async () => {
  for (const annotations of [{ ...given, "volume.kubernetes.io/selected-node": "b" }, asked]) {
    const admit = withClaim(claimOf(annotations));
    await assert.rejects(
      admit(requestFor(PersistentVolume, volumeOf(), { user })),
      refused(/was not given to this node/),
    );
  }
});

test("a node cannot touch volumes of others, volumes in use, or more of its own than size and finalizers", async () => {
  const admit = withClaim();
  const update = (old: PersistentVolume, now: PersistentVolume) =>
    admit(requestFor(PersistentVolume, now, { user, operation: "UPDATE", oldObject: old }));
  const remove = (old: PersistentVolume) =>
    admit(requestFor(PersistentVolume, undefined, { user, operation: "DELETE", oldObject: old }));
  await assert.rejects(remove(volumeOf({ on: "b", phase: "Released" })), refused(/not a volume of this node/));
  await assert.rejects(remove(volumeOf({ phase: "Bound" })), refused(/it is in use/));
  await assert.rejects(update(volumeOf({ on: "b" }), volumeOf()), refused(/not a volume of this node/));
  await assert.rejects(update(volumeOf(), volumeOf({ on: "b" })), refused(/only its size and finalizers/));
  await assert.rejects(update(volumeOf(), volumeOf({ local: { path: "/" } })), refused(/only its size and finalizers/));
  await assert.rejects(update(volumeOf(), volumeOf({}, { finalizers: ["x/y"] })), refused(/may not get finalizers/));
});

test("a node cannot change claims but give its own back", async () => {
  const admit = withClaim();
  const update = (old: PersistentVolumeClaim, now: PersistentVolumeClaim, subresource = "") =>
    admit(requestFor(PersistentVolumeClaim, now, { user, operation: "UPDATE", oldObject: old, subresource }));
  const theirs = { ...given, "volume.kubernetes.io/selected-node": "b" };
  await assert.rejects(update(claimOf(theirs), claimOf(asked)), refused(/not given to this node/));
  await assert.rejects(update(claimOf(given), claimOf({})), refused(/only be given back/));
  await assert.rejects(update(claimOf(given), claimOf(asked, { volumeName: "x" })), refused(/only be given back/));
  await assert.rejects(update(claimOf(given), claimOf(given), "status"), refused(/no volume of this node/));
});

test("a node that reports the size of a claim cannot change anything else of it", async () => {
  const admit = withClaim();
  const old = claimOf(given, { volumeName: name });
  const status = { user, operation: "UPDATE", subresource: "status", oldObject: old } as const;
  const grown = { ...old, status: { ...old.status, capacity: { storage: "2Gi" } } };
  for (const metadata of [
    { finalizers: ["x.example/stuck"] },
    { annotations: { ...given, more: "" } },
    { labels: { app: "other" } },
    { ownerReferences: [{ apiVersion: "v1", kind: "Node", name: "a", uid: "1" }] },
  ]) {
    const hostile = { ...grown, metadata: { ...old.metadata, ...metadata } };
    await assert.rejects(admit(requestFor(PersistentVolumeClaim, hostile, status)), refused(/only the size/));
  }
  const odd = { ...old, status: { ...old.status, capacity: { storage: "2Gi", cpu: "1" } } };
  await assert.rejects(admit(requestFor(PersistentVolumeClaim, odd, status)), refused(/does not ask for that size/));
});
