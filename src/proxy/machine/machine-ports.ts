import { readFile } from "node:fs/promises";

/** `tcp . 22`, as in the rules. */
export type MachinePort = string;

const listenState = "0A";
const unconnectedState = "07";
const lowPorts = 1024;

/** How the kernel lists the sockets of a network namespace. */
export interface SocketTable {
  readonly protocol: "tcp" | "udp";
  readonly text: string;
}

/** The first and the last port. */
export type PortSpan = readonly [first: number, last: number];

/** What Linux has unless somebody sets `ip_local_port_range`. */
const usualClientPorts: PortSpan = [32_768, 60_999];

/** From which ports the kernel chooses for clients, as the setting has it. */
export function parseClientPorts(setting: string | undefined): PortSpan {
  const [first = 0, last = 0] = (setting ?? "").trim().split(/\s+/).map(Number);
  return first > 0 && last >= first ? [first, last] : usualClientPorts;
}

/**
 * The ports on which programs of the machine can be reached from outside. A UDP socket on a port for clients may be a client's or a
 * server's. It is not listed, because load balancers get no such port at all.
 */
export function parseMachinePorts(tables: readonly SocketTable[], clientPorts: PortSpan): MachinePort[] {
  const found = new Set<MachinePort>();
  for (const { protocol, text } of tables) {
    for (const line of text.split("\n").slice(1)) {
      const [, local = "", , state] = line.trim().split(/\s+/);
      const [address = "", hexPort = ""] = local.split(":");
      const port = Number.parseInt(hexPort, 16);
      if (state !== (protocol === "tcp" ? listenState : unconnectedState) || isLoopback(address)) continue;
      const isClient = protocol === "udp" && port >= clientPorts[0] && port <= clientPorts[1];
      if (port > 0 && !isClient) found.add(`${protocol} . ${port}`);
    }
  }
  return [...found].sort();
}

/** The bytes of each group of four are in reverse order. */
const isLoopback = (hex: string): boolean =>
  /^(0{16}FFFF0000)?[0-9A-F]{6}7F$/.test(hex) || hex === "00000000000000000000000001000000";

/** A node looks every 30 s, so this is ten minutes. */
const looksToForget = 20;

/**
 * Remembers the ports of the machine. A program below port 1024, such as that of SSH, may be starting again at the moment
 * when we look, so such a port stays the machine's for a while.
 */
export class MachinePorts {
  /** Port → how many looks ago it was in use. */
  #known: ReadonlyMap<MachinePort, number> = new Map();

  get all(): ReadonlySet<MachinePort> {
    return new Set(this.#known.keys());
  }

  /** Notes what a look has found. Returns whether anything has changed. */
  update(found: readonly MachinePort[]): boolean {
    const kept = Array.from(this.#known, ([port, looks]) => [port, looks + 1] as const).filter(
      ([port, looks]) => Number(port.split(" ").at(-1)) < lowPorts && looks < looksToForget,
    );
    const next = new Map([...kept, ...found.map((port) => [port, 0] as const)]);
    const isSame = next.size === this.#known.size && [...next.keys()].every((port) => this.#known.has(port));
    this.#known = next;
    return !isSame;
  }
}

/** Reads the sockets of this process's network namespace. */
export async function readMachinePorts(): Promise<MachinePort[]> {
  const tables = await Promise.all(
    (["tcp", "tcp6", "udp", "udp6"] as const).map(async (file) => ({
      protocol: file.startsWith("tcp") ? ("tcp" as const) : ("udp" as const),
      text: await readFile(`/proc/self/net/${file}`, "utf8").catch(() => ""), // A kernel without IPv6 has no such file.
    })),
  );
  const range = await readFile("/proc/sys/net/ipv4/ip_local_port_range", "utf8").catch(() => "");
  return parseMachinePorts(tables, parseClientPorts(range));
}
