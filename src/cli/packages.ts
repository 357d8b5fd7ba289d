import { existsSync } from "node:fs";
import { runCommand } from "#lib/process/processes.ts";
import { UserError } from "./command.ts";

/** A package of Debian, and the files of which one is there if it is installed. */
export interface DebianPackage {
  readonly name: string;
  readonly files: readonly string[];
}

/** What a node needs. */
export const nodePackages: readonly DebianPackage[] = [
  { name: "containerd", files: ["/usr/bin/containerd"] },
  { name: "runc", files: ["/usr/sbin/runc", "/usr/bin/runc"] },
  { name: "containernetworking-plugins", files: ["/usr/lib/cni/bridge", "/opt/cni/bin/bridge"] },
  { name: "nftables", files: ["/usr/sbin/nft"] },
  { name: "iproute2", files: ["/usr/sbin/ip", "/sbin/ip", "/usr/bin/ip", "/bin/ip"] },
  { name: "conntrack", files: ["/usr/sbin/conntrack"] },
  { name: "busybox-static", files: ["/bin/busybox", "/usr/bin/busybox"] },
];

/** Installs those that are missing. */
export async function installPackages(needed: readonly DebianPackage[], say: (text: string) => void): Promise<void> {
  const missing = missingOf(needed);
  if (missing.length === 0) return;
  if (!existsSync("/usr/bin/apt-get")) {
    throw new UserError(`these packages are missing, and there is no apt-get to install them: ${missing.join(", ")}`);
  }
  say(`installing from Debian: ${missing.join(", ")}`);
  const env = { DEBIAN_FRONTEND: "noninteractive" };
  try {
    await runCommand("apt-get", ["update", "-q"], { env });
    await runCommand("apt-get", ["install", "-y", "-q", "--no-install-recommends", ...missing], { env });
  } catch (error) {
    const why = error instanceof Error ? error.message.split("\n").slice(-3).join(" ") : String(error);
    throw new UserError(`could not install ${missing.join(", ")}: ${why}`);
  }
  const still = missingOf(needed);
  if (still.length > 0) throw new UserError(`apt-get succeeded, but these are still missing: ${still.join(", ")}`);
}

const missingOf = (needed: readonly DebianPackage[]): string[] =>
  needed.filter(({ files }) => !files.some((file) => existsSync(file))).map(({ name }) => name);
