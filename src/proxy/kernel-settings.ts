import { type Host } from "./apply.ts";
import { settingSet } from "./nftables.ts";

/** A kernel setting that services need, by its path below /proc/sys. */
interface Setting {
  readonly name: string;
  readonly path: string;
  readonly before: string;
  readonly value: string;
}

const settings: readonly Setting[] = [
  // Node ports on 127.0.0.1: packets with that source may leave the loopback interface, to be masqueraded.
  { name: "route_localnet", path: "net/ipv4/conf/all/route_localnet", before: "0", value: "1" },
  // Two pods on one bridge: the reply passes the rules too, where the service's address is put back.
  { name: "bridge_nf_call", path: "net/bridge/bridge-nf-call-iptables", before: "0", value: "1" },
];

export interface KernelPlan {
  /** Settings that will not be as they were found: the table says so by a set for each. */
  readonly changed: readonly string[];
  readonly bridgeIsFiltered: boolean;
  /** Turns on what services need. Call when the table is in place: its rules keep others away from 127.0.0.1. */
  turnOn(): Promise<void>;
}

/** Finds out what has to be turned on. What another table of ours turned on counts as changed by this one too. */
export async function planKernel(host: Host): Promise<KernelPlan> {
  const known = await markedSettings(host);
  const changed: string[] = [];
  const off: Setting[] = [];
  let bridgeIsFiltered = false;
  for (const setting of settings) {
    const { name, path, before } = setting;
    const found = await host.readSetting(path);
    if (found === undefined) continue;
    if (found === before) off.push(setting);
    if (found === before || known.some((marked) => marked.setting === name)) changed.push(name);
    if (name === "bridge_nf_call") bridgeIsFiltered = true;
  }
  return {
    changed,
    bridgeIsFiltered,
    async turnOn() {
      for (const { path, value } of off.splice(0)) await host.writeSetting(path, value);
    },
  };
}

/** Puts back what was changed for the table, except what another table still needs. Call before it is deleted. */
export async function restoreKernel(host: Host, tableName: string): Promise<void> {
  const known = await markedSettings(host);
  for (const { name, path, before } of settings) {
    const tables = new Set(known.flatMap(({ table, setting }) => (setting === name ? [table] : [])));
    if (tables.delete(tableName) && tables.size === 0) await host.writeSetting(path, before);
  }
}

/** Which tables on this machine say that a setting was changed for them. */
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
