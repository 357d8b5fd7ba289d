import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { containerdPaths } from "#kubelet/containerd/paths.ts";
import { runCommand } from "#lib/process/processes.ts";
import { canMakeNetworks } from "#testing/network/test-network.ts";
import { findLeftovers } from "./leftovers.ts";
import { nodeNames, noteRange } from "./node-names.ts";

const skip = (await canMakeNetworks()) ? false : "needs root, ip and nft";

/** A command that leaves something behind, and the one that removes it. */
type Step = readonly [string, readonly string[], string, readonly string[]];

function newDataDir(cleanup: AsyncDisposableStack): string {
  const dataDir = mkdtempSync(path.join(tmpdir(), "orlop-left-"));
  cleanup.defer(() => rmSync(dataDir, { recursive: true }));
  return dataDir;
}

test("a node that never ran has left nothing", { skip }, async () => {
  await using cleanup = new AsyncDisposableStack();

  assert.deepEqual(await findLeftovers(newDataDir(cleanup)), []);
});

test("each kind of leftover is found", { skip }, async () => {
  await using cleanup = new AsyncDisposableStack();
  const dataDir = newDataDir(cleanup);
  const { bridge, table } = nodeNames(dataDir);
  const { runDir, cgroupRoot } = containerdPaths(dataDir);
  const volume = `${dataDir}/volume`;
  const netns = `${runDir}/netns/cni-1`;
  const cgroup = `/sys/fs/cgroup${existsSync("/sys/fs/cgroup/cgroup.controllers") ? "" : "/cpu"}${cgroupRoot}`;
  mkdirSync(volume);
  await noteRange(dataDir, "198.51.100.0/24");
  mkdirSync(path.dirname(netns), { recursive: true });
  writeFileSync(netns, "");
  mkdirSync(cgroup);
  cleanup.defer(() => rmSync(runDir, { recursive: true, force: true }));
  cleanup.defer(() => rmdirSync(cgroup));
  const steps: Step[] = [
    ["mount", ["-t", "tmpfs", "tmpfs", volume], "umount", [volume]],
    ["mount", ["--bind", "/proc/self/ns/net", netns], "umount", [netns]],
    ["ip", ["link", "add", bridge, "type", "bridge"], "ip", ["link", "delete", bridge]],
    ["ip", ["link", "set", bridge, "up"], "true", []],
    ["ip", ["route", "add", "198.51.100.77/32", "dev", bridge], "true", []],
    ["ip", ["link", "add", "vethleft", "type", "bridge"], "ip", ["link", "delete", "vethleft"]],
    ["ip", ["link", "set", "vethleft", "up"], "true", []],
    ["ip", ["route", "add", "198.51.100.78/32", "dev", "vethleft"], "true", []],
    ["nft", ["add", "table", "ip", table], "nft", ["delete", "table", "ip", table]],
  ];
  for (const [command, args, undo, undoArgs] of steps) {
    await runCommand(command, args);
    cleanup.defer(async () => void (await runCommand(undo, undoArgs)));
  }

  const found = await findLeftovers(dataDir);

  assert(found.some(({ what }) => what.startsWith("198.51.100.78 ")));
  const kinds = ["cgroup", "directory", "link", "mount", "network namespace", "nft table", "route"];
  assert.deepEqual([...new Set(found.map(({ kind }) => kind))].sort(), kinds);
});
