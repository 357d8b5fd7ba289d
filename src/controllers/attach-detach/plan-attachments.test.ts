import assert from "node:assert/strict";
import { test } from "node:test";
import { PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { attachmentName, csiVolumeName, csiVolumeOf } from "#api/storage/csi-volume-name.ts";
import { VolumeAttachment } from "#api/storage/volume-attachment.ts";
import { build } from "#testing/build.ts";
import { makePod } from "#testing/scheduling.ts";
import {
  type AttachmentFacts,
  maxUnmountMs,
  planAttachments,
  type WantedVolume,
  whyBlocked,
} from "./plan-attachments.ts";

const csi = { driver: "disks.example.org", volumeHandle: "h1" };
const name = csiVolumeName(csi);
const nowMs = 1_000_000;
const ready = { inUse: new Set<string>(), isReady: true, isOutOfService: false };

const wanted = (accessModes: string[], elsewhere: string[] = []): WantedVolume => ({
  name,
  csi,
  volume: build(PersistentVolume, { metadata: { name: "pv" }, spec: { accessModes, csi } }),
  pods: [],
  elsewhere,
});
const attachment = (attached: boolean, deletionTimestamp?: string) => ({
  volume: name,
  attachment: build(VolumeAttachment, {
    metadata: { name: attachmentName(csi, "a"), ...(deletionTimestamp ? { deletionTimestamp } : {}) },
    spec: { attacher: csi.driver, nodeName: "a", source: { persistentVolumeName: "pv" } },
    status: { attached },
  }),
});
const since = (agoMs: number) => new Map([[attachmentName(csi, "a"), nowMs - agoMs]]);

interface Case {
  readonly name: string;
  readonly facts: Partial<AttachmentFacts>;
  /** The next step, in short. */
  readonly step: string;
  readonly attached?: readonly string[];
  readonly dueMs?: number;
}
const used = { ...ready, inUse: new Set([name]) };
const silent = { ...used, isReady: false };
const cases: readonly Case[] = [
  { name: "does nothing without volumes", facts: {}, step: "" },
  { name: "attaches what a pod needs", facts: { wanted: [wanted(["ReadWriteOnce"])] }, step: "attach" },
  {
    name: "waits for the driver",
    facts: { wanted: [wanted(["ReadWriteOnce"])], attachments: [attachment(false)] },
    step: "",
  },
  {
    name: "tells the node what is attached",
    facts: { wanted: [wanted(["ReadWriteOnce"])], attachments: [attachment(true)] },
    step: "",
    attached: [name],
  },
  {
    name: "does not attach to a second node what only one can have",
    facts: { wanted: [wanted(["ReadWriteOnce"], ["b"])] },
    step: "blocked",
  },
  {
    name: "treats ReadWriteOncePod in the same way",
    facts: { wanted: [wanted(["ReadWriteOncePod"], ["b"])] },
    step: "blocked",
  },
  {
    name: "attaches to several nodes what all can have",
    facts: { wanted: [wanted(["ReadWriteOnce", "ReadOnlyMany"], ["b"])] },
    step: "attach",
  },
  { name: "detaches what nobody needs", facts: { attachments: [attachment(true)] }, step: "detach" },
  {
    name: "leaves a volume that is mounted on a ready node, for ever",
    facts: { node: used, attachments: [attachment(true)], unwantedSince: since(10 * maxUnmountMs) },
    step: "keep",
    attached: [name],
  },
  {
    name: "waits for a node that is not ready",
    facts: { node: silent, attachments: [attachment(true)], unwantedSince: since(1000) },
    step: "keep",
    attached: [name],
    dueMs: nowMs - 1000 + maxUnmountMs,
  },
  {
    name: "starts to wait now if it did not before",
    facts: { node: silent, attachments: [attachment(true)] },
    step: "keep",
    attached: [name],
    dueMs: nowMs + maxUnmountMs,
  },
  {
    name: "takes a volume from a node that was not ready for six minutes",
    facts: { node: silent, attachments: [attachment(true)], unwantedSince: since(maxUnmountMs) },
    step: "detach",
  },
  {
    name: "takes a volume at once from a node that is out of service",
    facts: { node: { ...silent, isOutOfService: true }, attachments: [attachment(true)] },
    step: "detach",
  },
  {
    name: "leaves a volume that pods need on a node that is out of service",
    facts: {
      node: { ...silent, isOutOfService: true },
      wanted: [wanted(["ReadWriteOnce"])],
      attachments: [attachment(true)],
    },
    step: "",
    attached: [name],
  },
  {
    name: "does not offer what is being detached, and attaches it only afterwards",
    facts: { wanted: [wanted(["ReadWriteOnce"])], attachments: [attachment(true, "2026-01-01T00:00:00Z")] },
    step: "",
  },
  {
    name: "removes an attachment whose volume is gone",
    facts: { attachments: [{ ...attachment(true), volume: undefined }] },
    step: "detach",
  },
];
for (const { name: title, facts, step, attached = [], dueMs } of cases) {
  test(`planAttachments() ${title}`, () => {
    const plan = planAttachments({
      node: ready,
      wanted: [],
      attachments: [],
      unwantedSince: new Map(),
      nowMs,
      ...facts,
    });
    const steps = { attach: plan.attach, blocked: plan.blocked, detach: plan.detach, keep: plan.kept };
    const taken = Object.entries(steps).flatMap(([what, objects]) => objects.map(() => what));
    assert.deepEqual([taken.join(" "), plan.attached, plan.dueMs], [step, attached, dueMs]);
  });
}

test("whyBlocked() names pods of the same namespace only", () => {
  const [web, near] = [makePod("web"), makePod("near")];
  const far = { ...near, metadata: { ...near.metadata, namespace: "other" } };
  const wait = 'Waiting for detach for volume "pv" Volume is already ';
  assert.equal(whyBlocked("pv", web, [near, far]), `${wait}used by pod(s) near and 1 pod(s) in different namespaces`);
  assert.equal(whyBlocked("pv", web, [far]), `${wait}used by 1 pod(s) in different namespaces`);
  assert.match(whyBlocked("pv", web, []), /exclusively attached to one node, waiting on detach/);
});

test("the name of a volume in a node's status can be read back, whatever its handle is", () => {
  for (const volumeHandle of ["h1", "a^b", "", "../x"]) {
    const volume = { driver: "disks.example.org", volumeHandle };
    assert.deepEqual(csiVolumeOf(csiVolumeName(volume)), volume);
  }
  assert.equal(csiVolumeOf("kubernetes.io/nfs/x^y"), undefined);
  assert.equal(csiVolumeOf("kubernetes.io/csi/x"), undefined);
});
