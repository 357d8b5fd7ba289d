import { existsSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { containerdPaths } from "#kubelet/containerd/paths.ts";
import { podLinkPrefix } from "#kubelet/network/cni.ts";
import { parseDualRange } from "#lib/net/dual-range.ts";
import { listProcesses, runCommand } from "#lib/process/processes.ts";
import { nodeNames, notedRange } from "./node-names.ts";

/** Something that a stopped node left on the machine. */
export interface Leftover {
  readonly kind: "process" | "mount" | "network namespace" | "nft table" | "cgroup" | "link" | "route" | "directory";
  readonly what: string;
}

/** Looks for everything that a node puts on a machine. An empty answer proves that nothing is left. */
export async function findLeftovers(dataDir: string): Promise<Leftover[]> {
  const { runDir, cgroupRoot } = containerdPaths(dataDir);
  const names = nodeNames(dataDir);
  const found = await Promise.all([
    processes([runDir, `${dataDir}/`]),
    mounts([runDir, `${dataDir}/`]),
    nftTables(names.table),
    links([names.bridge, names.nodeBridge, names.tunnel, names.uplink]),
    namespaces(names.namespace),
    routes(names.bridge),
    podRoutes(await notedRange(dataDir)),
    cgroups(cgroupRoot),
  ]);
  const directory: Leftover[] = existsSync(runDir) ? [{ kind: "directory", what: runDir }] : [];
  return [...found.flat(), ...directory];
}

async function processes(marks: readonly string[]): Promise<Leftover[]> {
  const running = await listProcesses();
  const ours = running.filter(
    ({ args }) => args.some((arg) => marks.some((mark) => arg.startsWith(mark))) && args[0]?.includes("containerd"),
  );
  return ours.map(({ pid, args }) => ({ kind: "process", what: `${pid} ${args.join(" ")}` }));
}

async function mounts(marks: readonly string[]): Promise<Leftover[]> {
  const places = (await readFile("/proc/self/mounts", "utf8")).split("\n").map((line) => line.split(" ")[1] ?? "");
  return places
    .filter((place) => marks.some((mark) => place.startsWith(mark)))
    .map((what) => ({ kind: what.includes("/netns/") ? "network namespace" : "mount", what }));
}

async function nftTables(table: string): Promise<Leftover[]> {
  const { stdout } = await runCommand("nft", ["list", "tables"]);
  return stdout
    .split("\n")
    .filter((line) => line.includes(table))
    .map((what) => ({ kind: "nft table", what }));
}

async function namespaces(name: string): Promise<Leftover[]> {
  // A node in its own network looks from within it, where its namespace is still needed.
  const [own, named] = await Promise.all(
    ["/proc/self/ns/net", `/run/netns/${name}`].map((file) => stat(file).catch(() => undefined)),
  );
  return named && named.ino !== own?.ino ? [{ kind: "network namespace", what: name }] : [];
}

async function links(names: readonly string[]): Promise<Leftover[]> {
  const { stdout } = await runCommand("ip", ["-oneline", "link", "show"]);
  return stdout
    .split("\n")
    .filter((line) => names.some((name) => line.includes(name)))
    .map((what) => ({ kind: "link", what }));
}

async function routes(bridge: string): Promise<Leftover[]> {
  const { stdout } = await runCommand("ip", ["route", "show"]);
  return stdout
    .split("\n")
    .filter((line) => line.includes(bridge))
    .map((what) => ({ kind: "route", what }));
}

/** Each pod that has a link of its own has a route by it. */
async function podRoutes(noted: string | undefined): Promise<Leftover[]> {
  if (noted === undefined) return [];
  const { stdout } = await runCommand("ip", ["route", "show", "root", parseDualRange(noted).ipv4]);
  return stdout
    .split("\n")
    .filter((line) => line.includes(` dev ${podLinkPrefix}`))
    .map((what) => ({ kind: "route", what }));
}

async function cgroups(root: string): Promise<Leftover[]> {
  const { stdout } = await runCommand("find", ["/sys/fs/cgroup", "-maxdepth", "2", "-type", "d", "-path", `*${root}`]);
  return stdout
    .split("\n")
    .filter(Boolean)
    .map((what) => ({ kind: "cgroup", what }));
}
