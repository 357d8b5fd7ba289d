import { readdir, rm, rmdir } from "node:fs/promises";
import path from "node:path";

/** Everything that Orlop puts into a data directory. What else is there belongs to somebody else. */
const ours = [
  "cluster.json",
  "cluster.json.new",
  "containerd",
  "device-plugins",
  "kubeconfig",
  "logs",
  "memory",
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

/** Made by Orlop for what people put there: theirs, unless they did not. */
const theirs = ["manifests", "seccomp"];

/** What a cluster in the background says; older lines are in files beside it. */
export const logFile = (dataDir: string): string => path.join(dataDir, "orlop.log");

/** Whether a cluster has, or has had, its data there. */
export async function hasClusterData(dataDir: string): Promise<boolean> {
  const names = await readdir(dataDir).catch(() => []);
  return names.some((name) => name === "state.db" || name === "cluster.json" || name === "orlop.log");
}

/** Removes Orlop's data, and the directory if nothing else is in it; resolves with what is. */
export async function removeClusterData(dataDir: string): Promise<string[]> {
  await Promise.all(ours.map((name) => rm(path.join(dataDir, name), { recursive: true, force: true })));
  await Promise.all(theirs.map((name) => rmdir(path.join(dataDir, name)).catch(() => undefined)));
  const left = await readdir(dataDir).catch(() => []);
  // A directory in use, as a mount point is, stays: it is empty.
  if (left.length === 0) await rmdir(dataDir).catch(() => undefined);
  return left;
}
