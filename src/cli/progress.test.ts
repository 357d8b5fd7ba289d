import assert from "node:assert/strict";
import { appendFile, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { ownPid } from "#lib/process/processes.ts";
import { progressFile, progressWriter, readProgress } from "./progress.ts";
import { readRecord, runningCluster, writeRecord } from "./running.ts";

test("readProgress() reads complete lines and leaves an incomplete one", async () => {
  await using dir = await mkdtempDisposable(path.join(tmpdir(), "orlop-"));
  assert.deepEqual(readProgress(dir.path), []);
  const progress = progressWriter(dir.path, Date.now());

  progress("one");
  progress("two", "ready");
  await appendFile(progressFile(dir.path), '{"step":"thr');

  const said = readProgress(dir.path).map(({ step, state }) => `${step} ${state}`);
  assert.deepEqual(said, ["one doing", "two ready"]);
});

test("runningCluster() finds only a process that is alive and Orlop's", async () => {
  await using dir = await mkdtempDisposable(path.join(tmpdir(), "orlop-"));
  const record = { url: "https://127.0.0.1:6443", nodeName: "a", startedAt: "2026-01-01T08:00:00Z" };
  assert.equal(await runningCluster(dir.path), undefined);

  await writeRecord(dir.path, { pid: 2 ** 22 + 1, ...record });
  assert.equal(await runningCluster(dir.path), undefined);
  assert.equal((await readRecord(dir.path))?.url, record.url);
  await writeRecord(dir.path, { pid: 1, ...record });
  assert.equal(await runningCluster(dir.path), undefined, "another program has this pid now");
  await writeFile(path.join(dir.path, "cluster.json"), "{");
  assert.equal(await readRecord(dir.path), undefined);
  assert.ok(ownPid() > 0);
});
