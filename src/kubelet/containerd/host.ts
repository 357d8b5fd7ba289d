import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, statfs } from "node:fs/promises";
import type { CgroupMode } from "#kubelet/resources/cgroups.ts";
import { runCommand } from "#lib/process/processes.ts";

/** What this machine supports, as far as containerd's configuration depends on it. */
export interface HostFacts {
  readonly cgroups: CgroupMode;
  readonly cgroupDriver: "cgroupfs" | "systemd";
  /** Whether a process may get a better OOM score than its parent (CAP_SYS_RESOURCE). */
  readonly canRaisePriority: boolean;
  readonly hasAppArmor: boolean;
  readonly snapshotter: "overlayfs" | "native";
  readonly cniBinDir: string;
}

export async function probeHost(dataDir: string): Promise<HostFacts> {
  const [cgroups, canRaisePriority, overlays] = await Promise.all([
    detectCgroups("/sys/fs/cgroup"),
    hasCapability(capSysResource),
    canOverlay(dataDir),
  ]);
  return {
    cgroups,
    // cgroupfs works with and without systemd, and is faster.
    cgroupDriver: "cgroupfs",
    canRaisePriority,
    hasAppArmor: existsSync("/sys/kernel/security/apparmor") && existsSync("/sbin/apparmor_parser"),
    snapshotter: overlays ? "overlayfs" : "native",
    cniBinDir: cniBinDirs.find((dir) => existsSync(`${dir}/bridge`)) ?? "/opt/cni/bin",
  };
}

/** Programs that real pods need and this machine lacks; empty if pods can run. */
export async function missingPrograms(): Promise<string[]> {
  const wanted = ["containerd", "ctr", "runc", "mount", "umount"];
  const found = await Promise.all(wanted.map((name) => isProgram(name)));
  const missing = wanted.filter((_, at) => !found[at]);
  return cniBinDirs.some((dir) => existsSync(`${dir}/bridge`)) ? missing : [...missing, "CNI plugins"];
}

const isProgram = async (name: string): Promise<boolean> =>
  await runCommand("sh", ["-c", `command -v ${name}`]).then(
    () => true,
    () => false,
  );

const cniBinDirs = ["/usr/lib/cni", "/opt/cni/bin", "/usr/libexec/cni"];
const cgroup2Magic = 0x63677270;
const capSysResource = 24;

export async function detectCgroups(mountPoint: string): Promise<CgroupMode> {
  const { type } = await statfs(mountPoint);
  if (type === cgroup2Magic) return "v2";
  return existsSync(`${mountPoint}/unified/cgroup.procs`) ? "hybrid" : "v1";
}

async function hasCapability(number: number): Promise<boolean> {
  const status = await readFile("/proc/self/status", "utf8");
  const held = /^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? "0";
  return ((BigInt(`0x${held}`) >> BigInt(number)) & 1n) === 1n;
}

/** Whether overlay mounts work on the data directory's file system; on top of another overlay they may not. */
async function canOverlay(dataDir: string): Promise<boolean> {
  await mkdir(dataDir, { recursive: true });
  const dir = await mkdtemp(`${dataDir}/overlay-check-`);
  try {
    await Promise.all(["lower", "upper", "work", "merged"].map((name) => mkdir(`${dir}/${name}`)));
    const options = `lowerdir=${dir}/lower,upperdir=${dir}/upper,workdir=${dir}/work`;
    await runCommand("mount", ["-t", "overlay", "overlay", "-o", options, `${dir}/merged`]);
    await runCommand("umount", [`${dir}/merged`]);
    return true;
  } catch {
    return false; // The failed mount is the answer.
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}
