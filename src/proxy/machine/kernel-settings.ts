import { type Host } from "../apply.ts";
import { settingSet } from "../nftables.ts";

/** A kernel setting that services need, with its path below /proc/sys. */
interface Setting {
  readonly name: string;
  readonly path: string;
  readonly before: string;
  readonly value: string;
  /** The kernel module that has the setting. */
  readonly module?: string;
  /** Only for clusters with IPv6. */
  readonly isIPv6?: boolean;
}

const settings: readonly Setting[] = [
  // For node ports on 127.0.0.1: packets with that source may leave the loopback interface and are masqueraded.
  { name: "route_localnet", path: "net/ipv4/conf/all/route_localnet", before: "0", value: "1" },
  // For two pods on one bridge: packets between them pass the rules of policies, and replies get the service's address back.
  {
    ...{ name: "bridge_nf_call", path: "net/bridge/bridge-nf-call-iptables", before: "0", value: "1" },
    module: "br_netfilter",
  },
  {
    ...{ name: "bridge_nf_call6", path: "net/bridge/bridge-nf-call-ip6tables", before: "0", value: "1" },
    module: "br_netfilter",
    isIPv6: true,
  },
];

export interface KernelPlan {
  /** Settings that the proxy changes. The table records each with a set. */
  readonly changed: readonly string[];
  readonly bridgeIsFiltered: boolean;
  /** The same for packets of IPv6; false in a cluster without them. */
  readonly bridgeIsFiltered6: boolean;
  /** Turns on what services need. Call this after the table is applied: its rules protect 127.0.0.1. */
  turnOn(): Promise<void>;
}

/** Finds out what must be turned on. A setting that another of our tables turned on counts as changed by this one too. */
export async function planKernel(host: Host, { hasBridge = true, hasIPv6 = false } = {}): Promise<KernelPlan> {
  const known = await markedSettings(host);
  const changed: string[] = [];
  const off: Setting[] = [];
  const found = new Set<string>();
  for (const setting of settings) {
    const { name, path, before, module, isIPv6 = false } = setting;
    const isKnown = known.some((marked) => marked.setting === name);
    if ((isIPv6 && !hasIPv6) || (module && !hasBridge && !isKnown)) continue;
    const value = (await host.readSetting(path)) ?? (module ? await loadModule(host, module, path) : undefined);
    if (value === undefined) continue;
    if (value === before) off.push(setting);
    if (value === before || isKnown) changed.push(name);
    found.add(name);
  }
  return {
    changed,
    bridgeIsFiltered: found.has("bridge_nf_call"),
    bridgeIsFiltered6: found.has("bridge_nf_call6"),
    async turnOn() {
      for (const { path, value } of off.splice(0)) await host.writeSetting(path, value);
    },
  };
}

/** The setting, if the kernel has its module and this process may load it. */
async function loadModule(host: Host, module: string, path: string): Promise<string | undefined> {
  try {
    await host.run("modprobe", [module]);
  } catch {
    return undefined;
  }
  return await host.readSetting(path);
}

/** Restores what was changed for the table, except what another table still needs. Call this before deleting the table. */
export async function restoreKernel(host: Host, tableName: string): Promise<void> {
  const known = await markedSettings(host);
  for (const { name, path, before } of settings) {
    const tables = new Set(known.flatMap(({ table, setting }) => (setting === name ? [table] : [])));
    if (tables.delete(tableName) && tables.size === 0) await host.writeSetting(path, before);
  }
}

/** Which tables on this machine record that a setting was changed for them. */
async function markedSettings(host: Host): Promise<{ table: string; setting: string }[]> {
  const text = await host.run("nft", ["-t", "list", "sets", "ip"]);
  const prefix = settingSet("");
  const found: { table: string; setting: string }[] = [];
  let table = "";
  for (const line of text.split("\n")) {
    const [word, second = "", third = ""] = line.trim().split(/\s+/);
    if (word === "table") table = third;
    if (word === "set" && second.startsWith(prefix)) found.push({ table, setting: second.slice(prefix.length) });
  }
  return found;
}
