import assert from "node:assert/strict";
import { test } from "node:test";
import { type PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { type DelayedClaim } from "./pod-claims.ts";
import { Reservations } from "./reservations.ts";

const claim = { key: "default/data" } as DelayedClaim;
const assignment = (name: string) => ({
  matches: [{ claim, volume: { metadata: { name } } as PersistentVolume }],
  provisions: [],
});

test("a volume stays promised until the last pod that shares its claim is done", () => {
  const reservations = new Reservations();
  reservations.add("pod-1", "node-1", assignment("disk"));
  reservations.add("pod-2", "node-1", assignment("disk"));

  reservations.delete("pod-1");
  assert.equal(reservations.isTaken("disk", "default/other"), true);
  assert.equal(reservations.isTaken("disk", claim.key), false);
  assert.equal(reservations.nodeOf(claim.key), "node-1");

  reservations.delete("pod-2");
  reservations.delete("pod-2");
  assert.equal(reservations.isTaken("disk", "default/other"), false);
  assert.equal(reservations.nodeOf(claim.key), undefined);
});
