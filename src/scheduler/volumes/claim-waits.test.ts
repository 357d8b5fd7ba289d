import assert from "node:assert/strict";
import { test } from "node:test";
import { Node } from "#api/core/node.ts";
import { PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { build } from "#testing/build.ts";
import { createFakeInformers } from "#testing/fake-informers.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { ClaimWaits } from "./claim-waits.ts";

const ref = { namespace: "default", name: "data" };
const keys = ["default/data"];

/** A wait that is over when the claim, its volume and the node are there. */
function setUp() {
  const informers = createFakeInformers();
  informers.put(Node, build(Node, { metadata: { name: "node-1" } }));
  const clock = createVirtualClock();
  const isOver = (): boolean => {
    if (!informers.of(Node).get({ name: "node-1" })) throw new Error("no node");
    return Boolean(
      informers.of(PersistentVolumeClaim).get(ref) && informers.of(PersistentVolume).get({ name: "disk" }),
    );
  };
  const end = new AbortController();
  const waits = new ClaimWaits({ informers, clock });
  return { informers, clock, end, waiting: waits.wait({ keys, isOver, timeoutMs: 1000 }, end.signal) };
}
const claim = build(PersistentVolumeClaim, { metadata: ref, spec: { volumeName: "disk" } });
const volume = build(PersistentVolume, { metadata: { name: "disk" }, spec: { claimRef: ref } });

test("a wait ends when the volume is seen later than its claim", async () => {
  const { informers, waiting } = setUp();

  informers.put(PersistentVolumeClaim, claim);
  informers.put(PersistentVolume, volume);

  await waiting;
});

test("a wait fails when its node is deleted", async () => {
  const { informers, waiting } = setUp();

  informers.delete(Node, { name: "node-1" });

  await assert.rejects(waiting, { message: "binding volumes: no node" });
});

test("a wait fails with the reason of its signal", async () => {
  const { end, waiting } = setUp();

  end.abort(new Error("gone"));

  await assert.rejects(waiting, { message: "gone" });
});

test("a wait fails after its time", async () => {
  const { clock, waiting } = setUp();

  const refusal = assert.rejects(waiting, { message: "binding volumes: context deadline exceeded" });
  await clock.advance(1000);

  await refusal;
});
