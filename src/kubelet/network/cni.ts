import { mkdir, readdir, rename, rm, writeFile } from "node:fs/promises";
import { runCommand } from "#lib/process/processes.ts";

export interface PodNetwork {
  /** Unique on the machine, because address leases are stored under it. */
  readonly name: string;
  /** At most 15 characters, the kernel's limit for interface names. */
  readonly bridge: string;
  /** The node's pod ranges, one per address family. */
  readonly podCidrs: readonly string[];
  /** 0 leaves the choice to the kernel. */
  readonly mtu: number;
  /** Where address leases are stored. */
  readonly dataDir: string;
}

/**
 * The network of a node's pods: a bridge, and addresses from the node's range. The proxy does host ports and source NAT,
 * because CNI plugins for them would cost every pod some milliseconds.
 */
export function renderCniConfig(network: PodNetwork): string {
  const config = {
    cniVersion: "1.0.0",
    name: network.name,
    plugins: [
      {
        type: "bridge",
        bridge: network.bridge,
        isDefaultGateway: true,
        hairpinMode: true,
        forceAddress: true,
        ...(network.mtu > 0 ? { mtu: network.mtu } : {}),
        ipam: {
          type: "host-local",
          ranges: network.podCidrs.map((subnet) => [{ subnet }]),
          dataDir: network.dataDir,
        },
      },
    ],
  };
  return `${JSON.stringify(config, null, 2)}\n`;
}

/** Writes the configuration atomically. containerd watches the directory and loads it. */
export async function writeCniConfig(confDir: string, network: PodNetwork): Promise<void> {
  await mkdir(confDir, { recursive: true });
  const file = `10-${network.name}.conflist`;
  for (const other of await readdir(confDir)) {
    if (other !== file) await rm(`${confDir}/${other}`, { force: true });
  }
  const draft = `${confDir}/.draft`;
  await writeFile(draft, renderCniConfig(network));
  await rename(draft, `${confDir}/${file}`);
}

/** Removes what the CNI plugins leave on the machine after the last pod. */
export async function removePodNetwork(bridge: string): Promise<void> {
  const links = await runCommand("ip", ["-json", "link", "show", "type", "bridge"]);
  if (links.stdout.includes(`"${bridge}"`)) await runCommand("ip", ["link", "delete", bridge]);
}
