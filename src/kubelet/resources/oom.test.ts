import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { test } from "node:test";
import { type Log, silentLog } from "#lib/process/log.ts";
import { protectFromOom } from "./oom.ts";

test("protectFromOom() protects each process, and logs once where it is not allowed", async (t) => {
  const proc = await mkdtemp(`${tmpdir()}/orlop-proc-`);
  t.after(() => rm(proc, { recursive: true }));
  await mkdir(`${proc}/7`);
  const said: string[] = [];
  const log: Log = { ...silentLog, warn: (message) => void said.push(message) };

  await protectFromOom([7], { log, proc });
  assert.deepEqual([await readFile(`${proc}/7/oom_score_adj`, "utf8"), said.length], ["-999", 0]);
  await protectFromOom([8, 9], { log, proc });

  assert.equal(said.length, 1);
});
