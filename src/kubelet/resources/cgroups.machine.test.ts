import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { test } from "node:test";
import { detectCgroups } from "#kubelet/containerd/host.ts";
import { systemClock } from "#lib/async/clock.ts";
import { cpuWeight, openCgroups, podCgroup, sharesOfWeight } from "./cgroups.ts";

test("podCgroup() puts pods under their class", () => {
  assert.equal(podCgroup("", "Guaranteed", "u"), "/kubepods/podu");
  assert.equal(podCgroup("/x", "Burstable", "u"), "/x/kubepods/burstable/podu");
  assert.equal(podCgroup("", "BestEffort", "u"), "/kubepods/besteffort/podu");
});

test("cpuWeight() maps the limits and the default of shares", () => {
  assert.deepEqual([2, 1024, 262_144].map(cpuWeight), [1, 39, 10_000]);
});

test("sharesOfWeight() finds shares for each weight", () => {
  const weights = [1, 2, 39, 9999, 10_000];
  assert.deepEqual(weights.map(sharesOfWeight).map(cpuWeight), weights);
});

test("the machine's own cgroups: limits, usage, removal with their processes", async (t) => {
  const cgroups = openCgroups(await detectCgroups("/sys/fs/cgroup"), systemClock);
  const root = `/orlop-test-${process.pid}`;
  t.after(() => cgroups.remove(root));
  const path = `${root}/kubepods/podx`;

  await cgroups.ensure(path, { cpuShares: 512, cpuQuotaUs: 50_000, cpuPeriodUs: 100_000, memoryBytes: 64 << 20 });
  await cgroups.ensure(path, { cpuShares: 256, memoryBytes: 64 << 20, pids: 100 });
  const below = await cgroups.sharesBelow(`${root}/kubepods`);
  assert.deepEqual([...below.keys()], ["podx"]);
  assert.equal(cpuWeight(below.get("podx") ?? 0), cpuWeight(256));
  assert.equal((await cgroups.sharesBelow(`${root}/none`)).size, 0);

  const child = spawn("sleep", ["600"]);
  await once(child, "spawn");
  const procs = cgroups.mode === "v2" ? `/sys/fs/cgroup${path}` : `/sys/fs/cgroup/memory${path}`;
  await writeFile(`${procs}/cgroup.procs`, String(child.pid));
  const usage = await cgroups.usage(path);
  assert((usage?.memoryUsageBytes ?? 0) >= 0);

  const ended = once(child, "exit");
  await cgroups.remove(root);

  assert.deepEqual(await ended, [null, "SIGKILL"]);
  assert(!existsSync(procs));
  assert.equal(await cgroups.usage(path), undefined);
});

test("v2 enables controllers down to the group, and writes limits in its format", async (t) => {
  const mount = await mkdtemp(`${tmpdir()}/orlop-cgroup-`);
  t.after(() => rm(mount, { recursive: true }));
  await mkdir(`${mount}/kubepods`);
  for (const dir of [mount, `${mount}/kubepods`]) {
    await writeFile(`${dir}/cgroup.controllers`, "cpu memory pids rdma\n");
    await writeFile(`${dir}/cgroup.subtree_control`, "cpu\n");
  }

  await mkdir(`${mount}/kubepods/podx`);
  await writeFile(`${mount}/kubepods/podx/memory.swap.max`, "max");

  await openCgroups("v2", systemClock, { mountPoint: mount }).ensure("/kubepods/podx", {
    cpuShares: 1024,
    cpuQuotaUs: 5000,
    memoryBytes: 1024,
  });

  const read = (name: string) => readFile(`${mount}/${name}`, "utf8");
  assert.equal(await read("cgroup.subtree_control"), "+memory +pids");
  assert.equal(await read("kubepods/cgroup.subtree_control"), "+memory +pids");
  assert.equal(await read("kubepods/podx/cpu.weight"), "39");
  assert.equal(await read("kubepods/podx/cpu.max"), "5000 100000");
  assert.equal(await read("kubepods/podx/memory.max"), "1024");
  assert.equal((await read("kubepods/podx/memory.swap.max"))[0], "0");
  assert.equal(await read("kubepods/podx/pids.max"), "max");
});
