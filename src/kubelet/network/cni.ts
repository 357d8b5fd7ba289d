import { mkdir, readdir, rename, rm, writeFile } from "node:fs/promises";
import { runCommand } from "#lib/process/processes.ts";
import { errorCode } from "#lib/text/error-code.ts";

export interface PodNetwork {
  /** Unique on the machine, because address leases are stored under it. */
  readonly name: string;
  /** For pods that share one. At most 15 characters, the kernel's limit for interface names. */
  readonly bridge: string;
  /** The node's pod ranges, one per address family. */
  readonly podCidrs: readonly string[];
  /** 0 leaves the choice to the kernel. */
  readonly mtu: number;
  /** Where address leases are stored. */
  readonly dataDir: string;
}

/**
 * Whether each pod has a link of its own to the node, with a route to its address. Then no pod can speak for another, and all
 * packets pass the node's rules. With IPv6 the plugin for that would need 1.7 s for a pod, because it waits until the kernel has
 * asked whether somebody else has the address. Such pods share a bridge.
 */
export const arePodsRouted = (podCidrs: readonly string[]): boolean => podCidrs.length === 1;

/** Links of routed pods begin with this; the rest of the name is random. */
export const podLinkPrefix = "veth";

/**
 * The network of a node's pods, with addresses from the node's range. The proxy does host ports and source NAT, because CNI
 * plugins for them would cost every pod some milliseconds.
 */
export function renderCniConfig(network: PodNetwork): string {
  const plugin = arePodsRouted(network.podCidrs) ? routedPlugin(network) : bridgePlugin(network);
  const mtu = network.mtu > 0 ? { mtu: network.mtu } : {};
  const config = { cniVersion: "1.0.0", name: network.name, plugins: [{ ...plugin, ...mtu }] };
  return `${JSON.stringify(config, null, 2)}\n`;
}

const routedPlugin = (network: PodNetwork) => ({
  type: "ptp",
  ipam: { ...ipamOf(network), routes: [{ dst: "0.0.0.0/0" }] },
});

const bridgePlugin = (network: PodNetwork) => ({
  ...{ type: "bridge", bridge: network.bridge, isDefaultGateway: true, hairpinMode: true, forceAddress: true },
  ipam: ipamOf(network),
});

const ipamOf = ({ podCidrs, dataDir }: PodNetwork) => ({
  type: "host-local",
  ranges: podCidrs.map((subnet) => [{ subnet }]),
  dataDir,
});

/** Lets pods that an earlier version connected to a bridge reach routed ones: the node answers for these on the bridge. */
export async function connectBridgedPods(bridge: string): Promise<void> {
  try {
    await writeFile(`/proc/sys/net/ipv4/conf/${bridge}/proxy_arp`, "1");
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
  }
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
