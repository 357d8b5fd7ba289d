import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { CommandError, runCommand } from "#lib/process/processes.ts";
import { type LocalMachine, type MachinesPlan } from "./plan-machines.ts";

export const namespaceFile = (namespace: string): string => `/run/netns/${namespace}`;

/** Makes the bridge, and a network namespace with a link to it for each node. What is already there stays. */
export async function openMachineLinks(plan: MachinesPlan): Promise<void> {
  const { bridge, gateway, bits } = plan;
  if (!(await hasLink(bridge))) await runCommand("ip", ["link", "add", bridge, "type", "bridge"]);
  await runCommand("ip", ["address", "replace", `${gateway}/${bits}`, "dev", bridge]);
  await runCommand("ip", ["link", "set", bridge, "up"]);
  // Packets between nodes, and from them to the outside, pass through this machine.
  await writeFile("/proc/sys/net/ipv4/ip_forward", "1\n");
  await runCommand("nft", ["-f", "-"], { input: renderOutgoing(plan) });
  for (const machine of plan.machines) await openLink(machine, plan);
}

async function openLink({ namespace, uplink, address }: LocalMachine, { bridge, gateway, bits }: MachinesPlan) {
  if (!existsSync(namespaceFile(namespace))) await runCommand("ip", ["netns", "add", namespace]);
  if (!(await hasLink(uplink))) {
    await runCommand("ip", ["link", "add", uplink, "type", "veth", "peer", "name", "eth0", "netns", namespace]);
  }
  await runCommand("ip", ["link", "set", uplink, "master", bridge, "up"]);
  // A node port of the first node may lead back to where the packet came from.
  await runCommand("ip", ["link", "set", uplink, "type", "bridge_slave", "hairpin", "on"]);
  const inside = [
    "link set lo up",
    `address replace ${address}/${bits} dev eth0`,
    "link set eth0 up",
    `route replace default via ${gateway}`,
  ];
  await runCommand("ip", ["-n", namespace, "-batch", "-"], { input: `${inside.join("\n")}\n` });
  await runCommand("ip", ["netns", "exec", namespace, "sysctl", "-q", "-w", "net.ipv4.ip_forward=1"]);
}

const hasLink = async (name: string): Promise<boolean> => {
  const { stdout } = await runCommand("ip", ["-oneline", "link", "show"]);
  return stdout.split("\n").some((line) => line.split(": ")[1]?.split("@")[0] === name);
};

/** What leaves the machine has the machine's own address. */
export const renderOutgoing = ({ table, nodeCidr, clusterCidr, bridge }: MachinesPlan): string =>
  [
    `table ip ${table} {}`,
    `delete table ip ${table}`,
    `table ip ${table} {`,
    "  chain postrouting {",
    "    type nat hook postrouting priority 100;",
    `    ip saddr ${nodeCidr} ip daddr != { ${nodeCidr}, ${clusterCidr} } oifname != "${bridge}" masquerade`,
    "  }",
    "}\n",
  ].join("\n");

/** Removes the network of one node. Its processes must have ended. */
export async function removeMachineLink({ namespace, uplink }: Pick<LocalMachine, "namespace" | "uplink">) {
  if (existsSync(namespaceFile(namespace))) await runCommand("ip", ["netns", "delete", namespace]);
  await ignoreMissing(runCommand("ip", ["link", "delete", uplink]));
}

/** Removes the bridge and its rules. */
export async function removeMachineBridge({ bridge, table }: Pick<MachinesPlan, "bridge" | "table">): Promise<void> {
  await ignoreMissing(runCommand("ip", ["link", "delete", bridge]));
  await ignoreMissing(runCommand("nft", ["delete", "table", "ip", table]));
}

async function ignoreMissing(call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!(error instanceof CommandError) || !/Cannot find device|No such file/.test(error.message)) throw error;
  }
}
