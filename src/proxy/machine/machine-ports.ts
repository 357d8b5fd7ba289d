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

/**
 * The ports on which programs of the machine can be reached from outside. The kernel chooses ports from `ephemeral` for
 * clients, so UDP sockets there are not servers.
 */
export function parseMachinePorts(tables: readonly SocketTable[], ephemeral: readonly [number, number]): MachinePort[] {
  const found = new Set<MachinePort>();
  for (const { protocol, text } of tables) {
    for (const line of text.split("\n").slice(1)) {
      const [, local = "", , state] = line.trim().split(/\s+/);
      const [address = "", hexPort = ""] = local.split(":");
      const port = Number.parseInt(hexPort, 16);
      if (state !== (protocol === "tcp" ? listenState : unconnectedState) || isLoopback(address)) continue;
      const isClient = protocol === "udp" && port >= ephemeral[0] && port <= ephemeral[1];
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
  const [from = 32_768, to = 60_999] = range.trim().split(/\s+/).filter(Boolean).map(Number);
  return parseMachinePorts(tables, [from, to]);
}
