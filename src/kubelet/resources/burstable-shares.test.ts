import assert from "node:assert/strict";
import { test } from "node:test";
import { BurstableShares } from "./burstable-shares.ts";
import type { Cgroups } from "./cgroups.ts";

const group = "/x/kubepods/burstable";

/** Groups that remember what was written; `fail` decides whether a write fails. */
function fakeCgroups(below: Readonly<Record<string, number>> = {}, fail: () => boolean = () => false) {
  const written: number[] = [];
  const cgroups: Cgroups = {
    mode: "v1",
    async ensure(path, { cpuShares }) {
      assert.equal(path, group);
      if (fail()) throw new Error("EIO");
      written.push(cpuShares ?? -1);
    },
    async remove() {},
    usage: async () => undefined,
    sharesBelow: async (path) => new Map(path === group ? Object.entries(below) : []),
  };
  return { written, shares: new BurstableShares(cgroups, "/x") };
}

test("BurstableShares gives the class what its pods request together", async () => {
  const { written, shares } = fakeCgroups();

  await shares.open();
  await shares.set("a", 512);
  await shares.set("b", 1024);
  await shares.set("a", 256);
  await shares.delete("b");
  await shares.delete("b");
  await shares.delete("a");

  assert.deepEqual(written, [2, 512, 1536, 1280, 256, 2]);
});

test("BurstableShares counts pods that run already, and no other groups", async () => {
  const { written, shares } = fakeCgroups({ poda: 512, "system.slice": 4096 });

  await shares.open();
  await shares.set("a", 512);
  await shares.delete("a");

  assert.deepEqual(written, [512, 2]);
});

test("BurstableShares ends with the newest sum when changes come together", async () => {
  const { written, shares } = fakeCgroups();

  await Promise.all([shares.open(), shares.set("a", 100), shares.set("b", 200), shares.delete("a")]);

  assert.equal(written.at(-1), 200);
});

test("BurstableShares writes no more than the kernel takes", async () => {
  const { written, shares } = fakeCgroups();

  await shares.set("a", 262_144);
  await shares.set("b", 262_144);

  assert.deepEqual(written, [262_144]);
});

test("BurstableShares tells of a failed write and makes up for it", async () => {
  let isBroken = true;
  const { written, shares } = fakeCgroups({}, () => isBroken);

  await assert.rejects(shares.set("a", 512), /EIO/);
  isBroken = false;
  await shares.set("a", 512);

  assert.deepEqual(written, [512]);
});
