import { mkdir, readdir, rename, rm, writeFile } from "node:fs/promises";
import { runCommand } from "#lib/processes.ts";

export interface PodNetwork {
  /** Unique on the machine: address leases are kept by it. */
  readonly name: string;
  /** At most 15 characters, as the kernel wants of an interface. */
  readonly bridge: string;
  /** The node's ranges, one per address family. */
  readonly podCidrs: readonly string[];
  /** 0 leaves it to the kernel. */
  readonly mtu: number;
  /** Whether the plugin hides pod addresses from the outside; false where the node's own rules do. */
  readonly masquerade: boolean;
  /** Whether a plugin opens host ports; false where the node's own rules do. */
  readonly hostPorts: boolean;
  /** Where leases of addresses are kept. */
  readonly dataDir: string;
}

/** The network of a node's pods: a bridge, an address out of the node's range, host ports. */
export function renderCniConfig(network: PodNetwork): string {
  const config = {
    cniVersion: "1.0.0",
    name: network.name,
    plugins: [
      {
        type: "bridge",
        bridge: network.bridge,
        isDefaultGateway: true,
        ipMasq: network.masquerade,
        hairpinMode: true,
        forceAddress: true,
        ...(network.mtu > 0 ? { mtu: network.mtu } : {}),
        ipam: {
          type: "host-local",
          ranges: network.podCidrs.map((subnet) => [{ subnet }]),
          dataDir: network.dataDir,
        },
      },
      ...(network.hostPorts ? [{ type: "portmap", capabilities: { portMappings: true }, snat: true }] : []),
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

/** Removes what the plugins leave on the machine when the last pod is gone: the bridge, and rules that serve nobody. */
export async function removePodNetwork(bridge: string): Promise<void> {
  const links = await runCommand("ip", ["-json", "link", "show", "type", "bridge"]);
  if (links.stdout.includes(`"${bridge}"`)) await runCommand("ip", ["link", "delete", bridge]);
  for (const family of ["iptables", "ip6tables"]) await removeHostPortChains(family);
}

const portChain = "CNI-HOSTPORT-DNAT";

/** Other users of the plugins share these chains: they go only if no pod has a port in them. */
async function removeHostPortChains(family: string): Promise<void> {
  const rules = await runCommand(family, ["--table", "nat", "--list-rules"]).then(
    ({ stdout }) => stdout.split("\n"),
    (): string[] => [], // The machine has no such rules at all.
  );
  const chains = [portChain, "CNI-HOSTPORT-MASQ", "CNI-HOSTPORT-SETMARK"];
  const isUsed = rules.some((rule) => rule.startsWith(`-A ${portChain} `) || rule.startsWith("-N CNI-DN-"));
  const there = chains.filter((chain) => rules.includes(`-N ${chain}`));
  if (isUsed || there.length === 0) return;
  const jumps = rules.filter((rule) => /^-A (PREROUTING|OUTPUT|POSTROUTING) .*-j CNI-HOSTPORT-/.test(rule));
  const steps = [
    "*nat",
    ...jumps.map((rule) => rule.replace("-A", "-D")),
    // The one with the ports is not emptied: if a pod gets one just now, the kernel refuses all of this.
    ...there.filter((chain) => chain !== portChain).map((chain) => `-F ${chain}`),
    ...there.map((chain) => `-X ${chain}`),
    "COMMIT\n",
  ];
  await runCommand(`${family}-restore`, ["--noflush"], { input: steps.join("\n") }).catch((error: Error) => {
    if (!/busy|in use|CHAIN_DEL/i.test(error.message)) throw error;
  });
}
