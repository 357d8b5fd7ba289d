import assert from "node:assert/strict";
import { test } from "node:test";
import { PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { Pod } from "#api/core/pod.ts";
import { type InputOf } from "#api/resource.ts";
import { CSIDriver } from "#api/storage/csi-driver.ts";
import { csiVolumeName } from "#api/storage/csi-volume-name.ts";
import { build } from "#testing/build.ts";
import { createFakeInformers } from "#testing/fake-informers.ts";
import { makePod } from "#testing/scheduling.ts";
import { volumesAt } from "./wanted-volumes.ts";

const csi = { driver: "disks.example.org", volumeHandle: "h1" };

/** A pod on the node `a` with the claim `data`, which is bound to the volume `disk`. */
function setUp(pod: Partial<Pod["metadata"]> = {}, status: InputOf<Pod>["status"] = {}) {
  const informers = createFakeInformers();
  const volumes = [{ name: "v", persistentVolumeClaim: { claimName: "data" } }];
  const made = makePod("web", { nodeName: "a", volumes, status });
  informers.put(Pod, { ...made, metadata: { ...made.metadata, ...pod } });
  const claim = (namespace: string, uid: string, phase = "Bound") => {
    const metadata = { name: "data", namespace, uid };
    const object = build(PersistentVolumeClaim, { metadata, spec: { volumeName: "disk" }, status: { phase } });
    informers.put(PersistentVolumeClaim, object);
  };
  claim("default", "claim-1");
  const claimRef = { namespace: "default", name: "data", uid: "claim-1" };
  const disk = build(PersistentVolume, { metadata: { name: "disk" }, spec: { csi, claimRef } });
  informers.put(PersistentVolume, disk);
  return { informers, claim, found: () => [...volumesAt(informers, "a").keys()] };
}

test("a pod needs the volumes behind its claims on its node", () => {
  const { informers, found } = setUp();
  assert.deepEqual(found(), [csiVolumeName(csi)]);
  assert.deepEqual([...volumesAt(informers, "b").keys()], []);
});

test("a claim that names somebody else's volume gets nothing", () => {
  const { claim, found } = setUp({ namespace: "other" });
  claim("other", "claim-2");
  assert.deepEqual(found(), []);
  const later = setUp();
  later.claim("default", "claim-3");
  assert.deepEqual(later.found(), []);
});

test("a claim that is not bound gets nothing", () => {
  const { claim, found } = setUp();
  claim("default", "claim-1", "Pending");
  assert.deepEqual(found(), []);
});

test("a driver that needs no attaching gets nothing", () => {
  const { informers, found } = setUp();
  const driver = build(CSIDriver, { metadata: { name: csi.driver }, spec: { attachRequired: false } });
  informers.put(CSIDriver, driver);
  assert.deepEqual(found(), []);
});

const container = (state: object) => ({
  containerStatuses: [{ name: "c", image: "", imageID: "", ready: false, restartCount: 0, state }],
});
const deletionTimestamp = "2026-01-01T00:00:00Z";
for (const { name, pod = {}, status, isUsing } of [
  { name: "has ended", status: { phase: "Succeeded" as const }, isUsing: false },
  { name: "waits to start", status: container({ waiting: {} }), isUsing: true },
  { name: "ends, but still runs", pod: { deletionTimestamp }, status: container({ running: {} }), isUsing: true },
  {
    name: "ends and has stopped",
    pod: { deletionTimestamp },
    status: container({ terminated: { exitCode: 0 } }),
    isUsing: false,
  },
]) {
  test(`a pod that ${name} ${isUsing ? "needs" : "does not need"} its volumes`, () => {
    assert.equal(setUp(pod, status).found().length, isUsing ? 1 : 0);
  });
}
