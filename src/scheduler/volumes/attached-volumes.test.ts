import assert from "node:assert/strict";
import { test } from "node:test";
import { PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { VolumeAttachment } from "#api/storage/volume-attachment.ts";
import { build } from "#testing/build.ts";
import { createFakeInformers } from "#testing/fake-informers.ts";
import { infoOf, makeNode, snapshotOf } from "#testing/scheduling.ts";
import { AttachedVolumes } from "./attached-volumes.ts";

const driver = "disks.example.org";

function setUp() {
  const informers = createFakeInformers();
  const attached = new AttachedVolumes(informers);
  const info = infoOf(snapshotOf([makeNode("a")]), "a");
  const attach = (name: string) => {
    const csi = { driver, volumeHandle: name };
    informers.put(PersistentVolume, build(PersistentVolume, { metadata: { name }, spec: { csi } }));
    const spec = { attacher: driver, nodeName: "a", source: { persistentVolumeName: name } };
    informers.put(VolumeAttachment, { metadata: { name }, spec, status: { attached: true } });
  };
  const detach = (name: string) => informers.delete(VolumeAttachment, { name });
  return { attached, attach, detach, ids: () => [...attached.at(info).ids] };
}

test("AttachedVolumes sees that one volume has taken the place of another", () => {
  const { attach, detach, ids } = setUp();
  attach("x");
  assert.deepEqual(ids(), [`kubernetes.io/csi/${driver}^x`]);

  detach("x");
  attach("y");

  assert.deepEqual(ids(), [`kubernetes.io/csi/${driver}^y`]);
});

test("AttachedVolumes.stop() ends what was followed", () => {
  const { attached, attach, ids } = setUp();
  attach("x");
  ids();
  const { version } = attached;

  attached.stop();
  attach("y");

  assert.equal(attached.version, version);
});
