import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { Pod } from "#api/core/pod.ts";
import type { PodStorage } from "#kubelet/resources/storage-limits.ts";
import { diskUsage } from "#kubelet/volumes/disk-usage.ts";
import { neverAborted } from "#lib/async/tasks.ts";
import { silentLog } from "#lib/process/log.ts";
import { isRunning } from "#lib/process/processes.ts";
import { build } from "#testing/build.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { runStorageWatch } from "./storage-watch.ts";

const aPod = (uid: string) =>
  build(Pod, {
    metadata: { name: uid, namespace: "n", uid },
    spec: { containers: [{ name: "c", image: "i" }], volumes: [{ name: "x", emptyDir: { sizeLimit: "1Ki" } }] },
  });
const used = (bytes: number): PodStorage => ({
  volumes: new Map([["x", bytes]]),
  containers: new Map(),
  fileBytes: 0,
});

test("a pod that takes too long to measure does not prevent the eviction of others", async () => {
  const clock = createVirtualClock();
  const stop = new AbortController();
  const evicted: string[] = [];
  const calls: string[] = [];
  const measure = async (pods: readonly Pod[], signal: AbortSignal) => {
    const uids = pods.map(({ metadata }) => metadata.uid);
    calls.push(uids.join());
    // Stands for more files than can be counted.
    if (uids.includes("slow")) {
      await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    }
    return new Map(uids.map((uid) => [uid, used(uid === "large" ? 2048 : 1024)]));
  };
  const pods = () => ["slow", "small", "large"].filter((uid) => !evicted.includes(uid)).map(aPod);
  const watching = runStorageWatch(
    { clock, log: silentLog, pods, measure, evict: ({ uid }) => void evicted.push(uid) },
    stop.signal,
  );

  await clock.advance(21_000);
  assert.deepEqual(evicted, ["large"]);
  assert.deepEqual(calls, ["slow,small,large", "slow", "small", "large"]);
  await clock.advance(20_000);
  assert.deepEqual(calls.slice(4).toSorted(), ["slow", "small", "small"]);

  stop.abort();
  await watching;
});

test("diskUsage() runs in its own session at the lowest priority, and the signal ends it", async (t) => {
  const dir = await mkdtemp(`${tmpdir()}/orlop-usage-`);
  t.after(() => rm(dir, { recursive: true }));
  // Stands in for the real program: records how it was started, and then waits.
  const script = '#!/bin/sh\ncut -d \' \' -f 1,6,19 /proc/$$/stat > "$3.part"; mv "$3.part" "$3"; exec sleep 600\n';
  await writeFile(`${dir}/du`, script, { mode: 0o755 });
  const path = process.env.PATH;
  process.env.PATH = `${dir}:${path}`;
  t.after(() => (process.env.PATH = path));
  const ending = new AbortController();

  const counted = diskUsage([`${dir}/facts`], ending.signal);
  while (!existsSync(`${dir}/facts`)) await setImmediate();
  const [pid, session, nice] = (await readFile(`${dir}/facts`, "utf8")).trim().split(" ");
  ending.abort();

  await assert.rejects(counted);
  assert.deepEqual({ session, nice }, { session: pid, nice: "19" });
  while (isRunning(Number(pid))) await setImmediate();
});

test("diskUsage() counts disk blocks, not the apparent size of sparse files, and skips missing paths", async (t) => {
  const dir = await mkdtemp(`${tmpdir()}/orlop-usage-`);
  t.after(() => rm(dir, { recursive: true }));
  await mkdir(`${dir}/full`);
  await mkdir(`${dir}/sparse`);
  await writeFile(`${dir}/full/file`, Buffer.alloc(1 << 20, 1));
  await writeFile(`${dir}/sparse/file`, "");
  await truncate(`${dir}/sparse/file`, 1 << 30);

  const sizes = await diskUsage([`${dir}/full`, `${dir}/none`, `${dir}/sparse`], neverAborted);

  assert((sizes.get(`${dir}/full`) ?? 0) >= 1 << 20);
  assert((sizes.get(`${dir}/sparse`) ?? 0) < 1 << 20);
  assert.equal(sizes.get(`${dir}/none`), undefined);
});
