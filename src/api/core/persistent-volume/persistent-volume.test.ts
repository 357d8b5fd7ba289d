import assert from "node:assert/strict";
import { test } from "node:test";
import { faultsOf, read, statusFaultsOf, updateFaultsOf, warningsOfNew } from "#api/faults.suite.ts";
import { PersistentVolume } from "./persistent-volume.ts";

const metadata = { name: "pv-1" };
const common = { capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"] };
const volume = (spec: object, meta: object = {}) => ({
  metadata: { ...metadata, ...meta },
  spec: { ...common, ...spec },
});
const nfs = { server: "nas", path: "/data" };
const csi = { driver: "csi.example.com", volumeHandle: "v" };
const zone = (key: string) => ({
  required: { nodeSelectorTerms: [{ matchExpressions: [{ key, operator: "In", values: ["a"] }] }] },
});

test("a PersistentVolume gets its defaults and those of its source", () => {
  const rbd = { monitors: ["m"], image: "i" };
  const { spec, status } = read(PersistentVolume, { metadata, spec: { capacity: { storage: "1u" }, rbd } });

  assert.deepEqual(
    [spec.persistentVolumeReclaimPolicy, spec.volumeMode, status.phase],
    ["Retain", "Filesystem", "Pending"],
  );
  assert.deepEqual(spec.rbd, { ...rbd, pool: "rbd", user: "admin", keyring: "/etc/ceph/keyring" });
  assert.deepEqual(spec.capacity, { storage: "1m" });
});

test("a new PersistentVolume is pending since its creation", () => {
  const creationTimestamp = "2026-01-02T03:04:05Z";
  const created = read(PersistentVolume, { ...volume({ nfs }, { creationTimestamp }), status: { phase: "Bound" } });
  PersistentVolume.prepareForCreate?.(created);

  assert.deepEqual(created.status, { phase: "Pending", lastPhaseTransitionTime: creationTimestamp });
});

test("a PersistentVolume shows its claim and class", () => {
  const shownOf = (object: object) =>
    PersistentVolume.columns.map(({ value }) => value(read(PersistentVolume, object), 0));
  const spec = {
    ...{
      nfs,
      storageClassName: "fast",
      volumeAttributesClassName: "gold",
      claimRef: { namespace: "shop", name: "data" },
    },
    accessModes: ["ReadWriteMany", "ReadOnlyMany", "ReadWriteMany"],
  };
  const status = { phase: "Failed", reason: "Broken" };

  assert.deepEqual(shownOf({ ...volume(spec), status }), [
    ...["1Gi", "ROX,RWX", "Retain", "Failed", "shop/data", "fast", "gold", "Broken", "<unknown>", "Filesystem"],
  ]);
  const annotations = { "volume.beta.kubernetes.io/storage-class": "old" };
  const deleted = volume({ nfs, storageClassName: "fast" }, { annotations, deletionTimestamp: "2026-01-02T03:04:05Z" });
  assert.deepEqual(shownOf(deleted), [
    ...["1Gi", "RWO", "Retain", "Terminating", "", "old", "<unset>", "", "<unknown>", "Filesystem"],
  ]);
});

const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const modes = '"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"';
const cases = [
  { name: "takes a share", object: volume({ nfs }), faults: [] },
  { name: "takes a volume of a CSI driver", object: volume({ csi, volumeAttributesClassName: "gold" }), faults: [] },
  {
    name: "takes a directory of a node",
    object: volume({ local: { path: "/disk" }, nodeAffinity: zone("zone") }),
    faults: [],
  },
  {
    name: "needs a size, a mode and a source",
    object: { metadata },
    faults: [
      "spec.accessModes: Required value",
      "spec.capacity: Required value",
      'spec.capacity: Unsupported value: null: supported values: "storage"',
      "spec: Required value: must specify a volume type",
    ],
  },
  {
    name: "has only a size, which is positive",
    object: volume({ nfs, capacity: { storage: "-1", cpu: "0" } }),
    faults: [
      'spec.capacity: Unsupported value: {"storage":"-1","cpu":"0"}: supported values: "storage"',
      "spec.capacity[storage]: Invalid value: -1: must be a valid resource quantity",
      'spec.capacity[storage]: Invalid value: "-1": must be greater than zero',
      'spec.capacity[cpu]: Invalid value: "0": must be greater than zero',
    ],
  },
  {
    name: "knows modes and policies",
    object: volume({
      nfs,
      accessModes: ["Many", "ReadWriteOnce", "ReadWriteOncePod"],
      persistentVolumeReclaimPolicy: "Keep",
      volumeMode: "Tape",
    }),
    faults: [
      `spec.accessModes: Unsupported value: "Many": supported values: ${modes}`,
      "spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes",
      'spec.persistentVolumeReclaimPolicy: Unsupported value: "Keep": supported values: "Delete", "Recycle", "Retain"',
      'spec.volumeMode: Unsupported value: "Tape": supported values: "Block", "Filesystem"',
    ],
  },
  {
    name: "has one source, the first in upstream's order",
    object: volume({ csi, nfs, cephfs: { monitors: ["m"] } }),
    faults: [
      "spec.cephFS: Forbidden: may not specify more than 1 volume type",
      "spec.csi: Forbidden: may not specify more than 1 volume type",
    ],
  },
  {
    name: "needs the nodes of a local volume",
    object: volume({ local: { path: "/a/../b" } }),
    faults: [
      "spec.local.path: Invalid value: \"/a/../b\": must not contain '..'",
      "spec.nodeAffinity: Required value: Local volume requires node affinity",
    ],
  },
  {
    name: "has terms in its affinity",
    object: volume({ nfs, nodeAffinity: {} }),
    faults: ["spec.nodeAffinity.required: Required value: must specify required node constraints"],
  },
  {
    name: "does not empty a whole node",
    object: volume({ hostPath: { path: "/a/.." }, persistentVolumeReclaimPolicy: "Recycle" }),
    faults: [
      "spec.hostPath.path: Invalid value: \"/a/..\": must not contain '..'",
      "spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'",
    ],
  },
  {
    name: "has classes with valid names, and attributes only with a CSI driver",
    object: volume({ nfs, storageClassName: "A", volumeAttributesClassName: "" }),
    faults: [
      `spec.storageClassName: Invalid value: "A": ${subdomain}`,
      "spec.volumeAttributesClassName: Required value: an empty string is disallowed",
      "spec.csi: Required value: has to be specified when using volumeAttributesClassName",
    ],
  },
  {
    name: "names secrets with their namespaces",
    object: volume({ csi: { ...csi, nodeExpandSecretRef: { name: "s" }, nodeStageSecretRef: {} } }),
    faults: ["spec.csi.nodeExpandSecretRef.namespace: Required value"],
  },
  {
    name: "has the credentials of an iSCSI disk",
    object: volume({
      iscsi: { targetPortal: "p".repeat(60), iqn: "x", lun: 256, chapAuthSession: true, initiatorName: "iqn.bad" },
    }),
    faults: [
      `spec.iscsi.targetportal: Invalid value: "${"p".repeat(60)}": Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.`,
      'spec.iscsi.iqn: Invalid value: "x": must be valid format',
      "spec.iscsi.lun: Invalid value: 256: must be between 0 and 255, inclusive",
      "spec.iscsi.secretRef: Required value",
      'spec.iscsi.initiatorname: Invalid value: "iqn.bad": must be valid format',
    ],
  },
  {
    name: "has the namespaces of other sources",
    object: volume({ glusterfs: { endpoints: "e", path: "p", endpointsNamespace: "" } }),
    faults: [
      'spec.glusterfs.endpointsNamespace: Invalid value: "": if the endpointnamespace is set, it must be a valid namespace name',
    ],
  },
  {
    name: "has the namespace of the Secret of a share",
    object: volume({ azureFile: { secretName: "s", shareName: "n", secretNamespace: "" } }),
    faults: ["spec.azureFile.secretNamespace: Required value"],
  },
  {
    name: "has no mount options for a volume that is not mounted by them",
    object: volume({ csi }, { annotations: { "volume.beta.kubernetes.io/mount-options": "ro" } }),
    faults: [
      "metadata.annotations.volume.beta.kubernetes.io/mount-options: Forbidden: may not specify mount options for this volume type",
    ],
  },
];
for (const { name, object, faults } of cases) {
  test(`a PersistentVolume ${name}`, () => assert.deepEqual(faultsOf(PersistentVolume, object), faults));
}

test("the source and the mode of a PersistentVolume cannot change", () => {
  const changed = volume({ nfs: { ...nfs, path: "/other" }, volumeMode: "Block" });

  const [source = "", ...others] = updateFaultsOf(PersistentVolume, changed, volume({ nfs }));
  assert.match(
    source,
    /^spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation\n@@/,
  );
  assert.match(source, /\n-\s+"path": "\/data"\n\+\s+"path": "\/other"\n/);
  assert.deepEqual(others, ['volumeMode: Invalid value: "Block": field is immutable']);
});

test("a PersistentVolume may get a claim, a policy and a size", () => {
  const changed = {
    nfs,
    claimRef: { name: "c" },
    persistentVolumeReclaimPolicy: "Delete",
    capacity: { storage: "2Gi" },
  };

  assert.deepEqual(updateFaultsOf(PersistentVolume, volume(changed), volume({ nfs })), []);
});

test("a PersistentVolume may get the Secret for growing it, once", () => {
  const withSecret = (name: string) => volume({ csi: { ...csi, controllerExpandSecretRef: { name, namespace: "n" } } });

  assert.deepEqual(updateFaultsOf(PersistentVolume, withSecret("a"), volume({ csi })), []);
  assert.equal(updateFaultsOf(PersistentVolume, withSecret("b"), withSecret("a")).length, 1);
});

test("the node affinity of a PersistentVolume can be added, and a label can get its new name", () => {
  const oldZone = zone("failure-domain.beta.kubernetes.io/zone");
  const oldName = volume({ nfs, nodeAffinity: oldZone });
  const newName = volume({ nfs, nodeAffinity: zone("topology.kubernetes.io/zone") });

  assert.deepEqual(updateFaultsOf(PersistentVolume, newName, volume({ nfs })), []);
  assert.deepEqual(updateFaultsOf(PersistentVolume, newName, oldName), []);
  assert.deepEqual(updateFaultsOf(PersistentVolume, oldName, newName), [
    `nodeAffinity: Invalid value: ${JSON.stringify(oldZone)}: field is immutable, except for updating from beta label to GA`,
  ]);
  assert.equal(updateFaultsOf(PersistentVolume, volume({ nfs }), oldName).length, 1);
});

test("a PersistentVolume keeps some class of attributes", () => {
  const gold = volume({ csi, volumeAttributesClassName: "gold" });

  assert.deepEqual(updateFaultsOf(PersistentVolume, volume({ csi, volumeAttributesClassName: "silver" }), gold), []);
  assert.deepEqual(updateFaultsOf(PersistentVolume, volume({ csi }), gold), [
    "spec.volumeAttributesClassName: Forbidden: update from non-nil value to nil is forbidden",
  ]);
});

test("a PersistentVolume records when its phase changed, unless the client does", () => {
  const [before, sent, now] = ["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z"];
  const old = read(PersistentVolume, { metadata, status: { phase: "Available", lastPhaseTransitionTime: before } });
  const timeAfter = (status: object): string | undefined => {
    const next = read(PersistentVolume, { metadata, status });
    PersistentVolume.prepareForStatusUpdate?.(next, old, { user: { name: "a", groups: [] }, now: Date.parse(now) });
    return next.status.lastPhaseTransitionTime;
  };

  assert.equal(timeAfter({ phase: "Available" }), before);
  assert.equal(timeAfter({ phase: "Bound" }), now);
  assert.equal(timeAfter({ phase: "Bound", lastPhaseTransitionTime: before }), now);
  assert.equal(timeAfter({ phase: "Bound", lastPhaseTransitionTime: sent }), sent);
  assert.deepEqual(
    statusFaultsOf(PersistentVolume, { ...volume({ nfs }), status: { phase: "Any" } }, volume({ nfs })),
    [],
  );
});

test("a PersistentVolume warns of what is deprecated", () => {
  const annotations = {
    "volume.beta.kubernetes.io/storage-class": "a",
    "volume.beta.kubernetes.io/mount-options": "ro",
  };
  const spec = {
    storageos: { volumeName: "v" },
    persistentVolumeReclaimPolicy: "Recycle",
    nodeAffinity: zone("beta.kubernetes.io/os"),
  };

  assert.deepEqual(warningsOfNew(PersistentVolume, volume(spec, { annotations })), [
    'metadata.annotations[volume.beta.kubernetes.io/storage-class]: deprecated since v1.8; use "storageClassName" attribute instead',
    'metadata.annotations[volume.beta.kubernetes.io/mount-options]: deprecated since v1.31; use "mountOptions" attribute instead',
    "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.",
    'spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].key: beta.kubernetes.io/os is deprecated since v1.14; use "kubernetes.io/os" instead',
    "spec.storageOS: deprecated in v1.22, non-functional in v1.25+",
  ]);
});
