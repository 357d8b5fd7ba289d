import { readdir, rm, rmdir } from "node:fs/promises";
import path from "node:path";
import { removeTree } from "#lib/fs/remove-tree.ts";

/** Everything that Orlop puts into a data directory. Anything else there belongs to somebody else. */
const ours = [
  "cluster-cidr",
  "cluster.json",
  "cluster.json.new",
  "containerd",
  "device-plugins",
  "checkpoints",
  "dra_manager_state.json",
  "dra_manager_state.json.new",
  "placements.json",
  "placements.json.new",
  "join.json",
  "join.json.new",
  "kubeconfig",
  "logs",
  "memory",
  "moved-to-etcd",
  "moved-to-sqlite",
  "orlop.log",
  "orlop.log.1",
  "orlop.log.2",
  "pki",
  "plugins",
  "plugins_registry",
  "pods",
  "progress.jsonl",
  "state.db",
  "state.db-shm",
  "state.db-wal",
  "state.pid",
];

/** Orlop creates these directories for users' files. They are the users' unless they are empty. */
const theirs = ["manifests", "seccomp"];

/** The log of a cluster in the background; older lines are in files beside it. */
export const logFile = (dataDir: string): string => path.join(dataDir, "orlop.log");

/** The markers are there alone if the state is in etcd and the old one was moved away. */
const signs = ["cluster.json", "moved-to-etcd", "moved-to-sqlite", "orlop.log", "state.db"];

/** Whether the directory holds, or has held, a cluster's data. */
export async function hasClusterData(dataDir: string): Promise<boolean> {
  const names = await readdir(dataDir).catch(() => []);
  return names.some((name) => signs.includes(name));
}

/** Removes Orlop's data, and the directory itself if it is then empty. Resolves with the files that remain. */
export async function removeClusterData(dataDir: string): Promise<string[]> {
  await Promise.all(ours.map((name) => rm(path.join(dataDir, name), { recursive: true, force: true })));
  // Pods wrote into volumes, so directories in there may be of any depth.
  await removeTree(path.join(dataDir, "volumes"));
  await Promise.all(theirs.map((name) => rmdir(path.join(dataDir, name)).catch(() => undefined)));
  const left = await readdir(dataDir).catch(() => []);
  // A directory that is in use, such as a mount point, stays, but it is empty.
  if (left.length === 0) await rmdir(dataDir).catch(() => undefined);
  return left;
}
