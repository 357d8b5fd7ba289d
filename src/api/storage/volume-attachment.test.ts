import assert from "node:assert/strict";
import { test } from "node:test";
import { faultsOf, read, statusFaultsOf, updateFaultsOf } from "../faults.suite.ts";
import { prepareUpdate } from "../rules.ts";
import { VolumeAttachment } from "./volume-attachment.ts";

const metadata = { name: "attach-1" };
const spec = { attacher: "csi.example.com", nodeName: "node-1", source: { persistentVolumeName: "pv-1" } };
const attachment = { metadata, spec };
const withSource = (source: object) => ({ metadata, spec: { ...spec, source } });
const inline = { accessModes: ["ReadWriteOnce"], csi: { driver: "csi.example.com", volumeHandle: "v" } };

test("a VolumeAttachment shows what is attached, and where", () => {
  const shown = VolumeAttachment.columns.map(({ name, value }) => [name, value(read(VolumeAttachment, attachment), 0)]);

  assert.deepEqual(shown, [
    ["Attacher", "csi.example.com"],
    ["PV", "pv-1"],
    ["Node", "node-1"],
    ["Attached", false],
    ["Age", "<unknown>"],
  ]);
});

test("a new VolumeAttachment is not attached, whatever is sent, and its inline volume gets no defaults of its own", () => {
  const created = read(VolumeAttachment, { ...withSource({ inlineVolumeSpec: inline }), status: { attached: true } });
  VolumeAttachment.prepareForCreate?.(created);

  assert.deepEqual(created.status, { attached: false });
  assert.deepEqual(created.spec.source.inlineVolumeSpec, inline);
});

const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const both = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
const cases = [
  { name: "takes a PersistentVolume", object: attachment, faults: [] },
  { name: "takes an inline volume", object: withSource({ inlineVolumeSpec: inline }), faults: [] },
  {
    name: "needs a driver, a node and a source",
    object: { metadata },
    faults: [
      "spec.attacher: Required value",
      `spec.source: Required value: ${both}`,
      `spec.nodeName: Invalid value: "": ${subdomain}`,
    ],
  },
  {
    name: "has one source",
    object: withSource({ persistentVolumeName: "pv-1", inlineVolumeSpec: inline }),
    faults: [`spec.source: Forbidden: ${both}`],
  },
  {
    name: "needs the name of the PersistentVolume",
    object: withSource({ persistentVolumeName: "" }),
    faults: [
      "spec.source.persistentVolumeName: Required value: must specify non empty persistentVolumeName",
      `spec.source.persistentVolumeName: Invalid value: "": ${subdomain}`,
    ],
  },
  {
    name: "takes only volumes of CSI drivers inline, without what belongs to PersistentVolumes",
    object: withSource({
      inlineVolumeSpec: {
        capacity: { storage: "1Gi" },
        claimRef: { name: "c" },
        persistentVolumeReclaimPolicy: "Delete",
        nodeAffinity: {},
        hostPath: { path: "/data" },
        storageClassName: "fast",
        volumeMode: "Block",
      },
    }),
    faults: [
      "claimRef: Forbidden: may not be specified in the context of inline volumes",
      "capacity: Forbidden: may not be specified in the context of inline volumes",
      "csi: Required value: has to be specified in the context of inline volumes",
      "accessModes: Required value",
      "persistentVolumeReclaimPolicy: Forbidden: may only be Retain in the context of inline volumes",
      "nodeAffinity: Forbidden: may not be specified in the context of inline volumes",
      "storageClassName: Forbidden: may not be specified in the context of inline volumes",
      "volumeMode: Forbidden: may not specify volumeMode other than Filesystem in the context of inline volumes",
    ].map((fault) => `spec.source.inlineVolumeSpec.${fault}`),
  },
];
for (const { name, object, faults } of cases) {
  test(`a VolumeAttachment ${name}`, () => assert.deepEqual(faultsOf(VolumeAttachment, object), faults));
}

test("the spec of a VolumeAttachment cannot change", () => {
  const moved = { metadata, spec: { ...spec, nodeName: "node-2" } };

  assert.deepEqual(updateFaultsOf(VolumeAttachment, moved, attachment), [
    `spec: Invalid value: ${JSON.stringify(moved.spec)}: field is immutable`,
  ]);
});

test("the status of a VolumeAttachment is checked", () => {
  const status = {
    attached: false,
    attachmentMetadata: { a: "x".repeat(256 * 1024) },
    attachError: { message: "x".repeat(1025) },
    detachError: { message: "x".repeat(1024), errorCode: -1 },
  };

  assert.deepEqual(statusFaultsOf(VolumeAttachment, { ...attachment, status }, attachment), [
    "status.attachmentMetadata: Too long: may not be more than 262144 bytes",
    "status.attachError.message: Too long: may not be more than 262144 bytes",
    "status.detachError.errorCode: Invalid value: -1: must be between 0 and 2147483647, inclusive",
  ]);
  assert.deepEqual(statusFaultsOf(VolumeAttachment, { ...attachment, status: { attached: true } }, attachment), []);
});

test("a new status of a VolumeAttachment changes neither spec nor metadata", () => {
  const labels = { a: "b" };
  const old = read(VolumeAttachment, { metadata: { ...metadata, labels }, spec });
  const object = read(VolumeAttachment, {
    metadata: { ...metadata, finalizers: ["example.com/f"] },
    spec: { ...spec, nodeName: "node-2" },
    status: { attached: true },
  });
  prepareUpdate(VolumeAttachment, { object, old, subresource: "status" });

  assert.deepEqual([object.metadata.labels, object.metadata.finalizers], [labels, undefined]);
  assert.deepEqual([object.spec, object.status], [old.spec, { attached: true }]);
});
