import assert from "node:assert/strict";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { ContainerRecord } from "#kubelet/pod/plan/pod-state.ts";
import type { ContainerRuntime } from "#kubelet/runtime/runtime.ts";
import { silentLog } from "#lib/process/log.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { runLogRotation } from "./log-rotation.ts";

test("every second, each log that has grown too large is rotated, and no other", { timeout: 20_000 }, async (t) => {
  const dir = await mkdtemp(join(tmpdir(), "orlop-logs-"));
  t.after(() => rm(dir, { recursive: true, force: true }));
  const clock = createVirtualClock();
  const sizes = Array.from({ length: 30 }, (_, index) => (index % 10 === 0 ? 200 : 99));
  const records = sizes.map((_, index) => ({ id: `c${index}`, name: "main", logPath: join(dir, `${index}.log`) }));
  for (const [index, { logPath }] of records.entries()) await writeFile(logPath, "x".repeat(sizes[index] ?? 0));
  const missing = { id: "missing", name: "main", logPath: join(dir, "missing.log") };
  const all = Promise.withResolvers<void>();
  const reopened: string[] = [];
  const runtime = {
    async reopenLog(id: string) {
      if (reopened.push(id) === 3) all.resolve();
    },
  } as unknown as ContainerRuntime;
  const running = () => [missing, ...records] as unknown as ContainerRecord[];
  const stop = new AbortController();
  const deps = { clock, log: silentLog, runtime, running, limits: { maxBytes: 100, maxFiles: 3 } };
  const ended = runLogRotation(deps, stop.signal);

  await clock.advance(1000);
  await all.promise;
  stop.abort(new Error("the test ends"));
  await clock.advance(1000);
  await ended;

  assert.deepEqual(reopened, ["c0", "c10", "c20"]);
  assert.equal((await readdir(dir)).filter((name) => /^(0|10|20)\.log\./.test(name)).length, 3);
});
