import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { silentLog } from "#lib/process/log.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { watchSystemOom } from "./system-oom.ts";

test("watchSystemOom() reports what the kernel wrote, and a log that cannot be read ends only itself", async () => {
  const dir = await mkdtemp(path.join(tmpdir(), "orlop-oom-"));
  const stop = new AbortController();
  const messages: string[] = [];
  const happened = (message: string) => {
    messages.push(message);
    stop.abort(new Error("enough"));
  };
  const deps = { clock: createVirtualClock(), log: silentLog, happened };
  const kill = "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),global_oom,task_memcg=/a,task=java,pid=71,uid=0";
  await writeFile(`${dir}/kmsg`, `6,5,${Number.MAX_SAFE_INTEGER},-;${kill}\n`);

  await watchSystemOom({ ...deps, file: `${dir}/none` }, stop.signal);
  await watchSystemOom({ ...deps, file: dir }, stop.signal);
  await assert.rejects(watchSystemOom({ ...deps, file: `${dir}/kmsg` }, stop.signal), /enough/);

  assert.deepEqual(messages, ["System OOM encountered, victim process: java, pid: 71"]);
  await rm(dir, { recursive: true });
});
