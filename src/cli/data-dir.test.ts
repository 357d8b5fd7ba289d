import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, mkdtempDisposable, readdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { claimsFile } from "#kubelet/plugins/node-plugins.ts";
import { movedFiles } from "#store/moved-state.ts";
import { hasClusterData, removeClusterData } from "./data-dir.ts";
import { isHeldByOther, readRecord, runningCluster, writeRecord } from "./running.ts";

const record = { pid: process.pid, url: "https://127.0.0.1:6443", nodeName: "n", startedAt: "2026-01-01T00:00:00Z" };

test("removeClusterData() removes Orlop's files and keeps all others", async () => {
  await using dir = await mkdtempDisposable(path.join(tmpdir(), "orlop-"));
  const dataDir = path.join(dir.path, "data");
  for (const name of ["pods/x", "volumes/pvc-1/deep", "seccomp", "manifests"])
    await mkdir(path.join(dataDir, name), { recursive: true });
  await writeFile(path.join(dataDir, "manifests", "etcd.yaml"), "a static pod");
  await writeFile(path.join(dataDir, "thesis.txt"), "precious");
  const before = await hasClusterData(dataDir);
  await writeRecord(dataDir, record);
  await writeFile(path.join(dataDir, "state.db"), "");

  const left = await removeClusterData(dataDir);

  assert.equal(before, false, "a directory without Orlop's files is not a cluster's");
  assert.deepEqual(left, ["manifests", "thesis.txt"]);
  assert.deepEqual(await readdir(dataDir), ["manifests", "thesis.txt"]);
});

test("a directory whose state has moved to etcd is a cluster's, so a start that fails keeps its keys", async () => {
  await using dir = await mkdtempDisposable(path.join(tmpdir(), "orlop-"));
  await writeFile(path.join(dir.path, movedFiles.etcd), "");

  assert.equal(await hasClusterData(dir.path), true);
  assert.deepEqual(await removeClusterData(dir.path), []);
});

test("removeClusterData() removes a directory that has nothing else", async () => {
  await using dir = await mkdtempDisposable(path.join(tmpdir(), "orlop-"));
  const dataDir = path.join(dir.path, "data");
  await mkdir(dataDir);
  await writeRecord(dataDir, record);
  await writeFile(path.join(dataDir, claimsFile), "[]");
  await writeFile(path.join(dataDir, "placements.json"), "{}");
  await mkdir(path.join(dataDir, "checkpoints"));

  assert.deepEqual(await removeClusterData(dataDir), []);

  assert.ok(!existsSync(dataDir));
});

test("a truncated cluster.json is restored from the other files", async () => {
  await using dir = await mkdtempDisposable(path.join(tmpdir(), "orlop-"));
  await writeFile(path.join(dir.path, "cluster.json"), '{"pid": 12');
  const empty = await readRecord(dir.path);
  await writeFile(path.join(dir.path, "state.pid"), "999999999\n");
  await writeFile(path.join(dir.path, "kubeconfig"), "clusters:\n- cluster:\n    server: https://127.0.0.1:7443\n");

  const repaired = await readRecord(dir.path);

  assert.equal(empty, undefined);
  assert.partialDeepStrictEqual(repaired, { pid: 999999999, url: "https://127.0.0.1:7443" });
  assert.equal(await runningCluster(dir.path), undefined, "that process has ended");
});

test("isHeldByOther() is true while another process that holds the directory is alive", async () => {
  await using dir = await mkdtempDisposable(path.join(tmpdir(), "orlop-"));
  const nobody = isHeldByOther(dir.path, 1);
  await writeFile(path.join(dir.path, "state.pid"), `${process.pid}\n`);

  const answers = [nobody, isHeldByOther(dir.path, process.pid), isHeldByOther(dir.path, process.pid + 1)];

  assert.deepEqual(answers, [false, false, true]);
});
