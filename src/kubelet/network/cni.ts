import { mkdir, readdir, rename, rm, writeFile } from "node:fs/promises";
import { runCommand } from "#lib/process/processes.ts";

export interface PodNetwork {
  /** Unique on the machine: address leases are kept by it. */
  readonly name: string;
  /** At most 15 characters, as the kernel wants of an interface. */
  readonly bridge: string;
  /** The node's ranges, one per address family. */
  readonly podCidrs: readonly string[];
  /** 0 leaves it to the kernel. */
  readonly mtu: number;
  /** Where leases of addresses are kept. */
  readonly dataDir: string;
}

/**
 * The network of a node's pods: a bridge, and an address out of the node's range. Host ports and the hiding of pods from
 * the outside are the proxy's: plugins for them would cost every pod some milliseconds.
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

/** Writes the configuration, whole or not at all; containerd watches the directory and takes it up by itself. */
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

/** Removes what the plugins leave on the machine when the last pod is gone. */
export async function removePodNetwork(bridge: string): Promise<void> {
  const links = await runCommand("ip", ["-json", "link", "show", "type", "bridge"]);
  if (links.stdout.includes(`"${bridge}"`)) await runCommand("ip", ["link", "delete", bridge]);
}
