import { orAborted } from "#lib/async/tasks.ts";
import { type Log } from "#lib/process/log.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { type Host } from "../apply.ts";
import { type StaleFlow } from "./conntrack.ts";

export interface FlowClearerDeps {
  readonly host: Host;
  readonly family: "ip" | "ip6";
  readonly log: Log;
  /** Called whenever nothing is left to clear. */
  onCleared?(): void;
}

/** Beyond this, flows are not cleared: without packets they end by themselves after 30 s to 2 minutes. */
const maxPending = 50_000;
/** How many kinds of flows one run of conntrack clears; it reads the kernel's table once per kind. */
const batchSize = 250;
const maxTries = 5;
/** conntrack opens its input by name, which works with a pipe but not with the socket that a child process gets. */
const clearCommand = "cat | conntrack -R -";

interface Pending extends StaleFlow {
  readonly owner: string;
  tries: number;
}

/**
 * Makes the kernel forget UDP flows, so that their next packet is looked up again. It runs beside the programming of rules:
 * one listing of the kernel's flows serves everything that waits, and only existing flows are cleared.
 */
export class FlowClearer {
  readonly #deps: FlowClearerDeps;
  readonly #pending = new Map<string, Pending>();
  #wake = Promise.withResolvers<void>();
  #isMissing = false;

  constructor(deps: FlowClearerDeps) {
    this.#deps = deps;
  }

  /** Call this only after the kernel has the rules that replace the flows. */
  add(owner: string, flows: readonly StaleFlow[]): void {
    if (this.#isMissing || flows.length === 0) return;
    let dropped = 0;
    for (const flow of flows) {
      const key = `${flow.address ?? "*"} ${flow.port} ${flow.target ?? "-"}`;
      if (this.#pending.size >= maxPending && !this.#pending.has(key)) dropped++;
      else this.#pending.set(key, { ...flow, owner, tries: 0 });
    }
    if (dropped > 0)
      this.#deps.log.warn("too many stale flows: some are left to end by themselves", { owner, dropped });
    this.#wake.resolve();
  }

  async run(signal: AbortSignal): Promise<void> {
    for (;;) {
      await orAborted(this.#wake.promise, signal);
      this.#wake = Promise.withResolvers();
      while (this.#pending.size > 0 && !signal.aborted) await this.#round();
      this.#deps.onCleared?.();
    }
  }

  /** One listing, and one run that clears what was found. */
  async #round(): Promise<void> {
    const asked = [...this.#pending];
    const found = await this.#find().catch((error: unknown) => this.#giveUp(error));
    const present = new Set(found.values());
    for (const [key, flow] of asked) {
      const isDone = !present.has(flow) || flow.tries >= maxTries;
      if (isDone && this.#pending.get(key) === flow) this.#pending.delete(key);
    }
    const batch = inTurn([...found].filter(([, { tries }]) => tries < maxTries)).slice(0, batchSize);
    if (batch.length === 0) return;
    for (const flow of new Set(batch.map(([, one]) => one))) flow.tries++;
    const orders = batch.map(([order]) => `${order}\n`).join("");
    // A flow that ended meanwhile stops the run; the next round continues with the rest.
    await this.#deps.host.run("sh", ["-c", clearCommand], orders).catch((error: unknown) => {
      this.#deps.log.debug("conntrack stopped early", { error: messageOf(error) });
    });
  }

  #giveUp(error: unknown): Map<string, Pending> {
    this.#pending.clear();
    this.#isMissing = messageOf(error).includes("ENOENT"); // conntrack is not installed.
    this.#deps.log.warn("stale flows could not be cleared", { error: messageOf(error) });
    return new Map();
  }

  /** Commands that clear the existing flows among all that wait, with the entry that each is for. */
  async #find(): Promise<Map<string, Pending>> {
    const { host } = this.#deps;
    const family = this.#deps.family === "ip" ? "ipv4" : "ipv6";
    const own = new Set(await host.addresses());
    const found = new Map<string, Pending>();
    await host.eachLine("conntrack", ["-L", "-p", "udp", "-f", family], (line) => {
      const flow = parseFlow(line);
      if (!flow) return;
      const { address, port, repliesFrom } = flow;
      const end = `${port} ${repliesFrom === address ? "-" : repliesFrom}`;
      const waiting = this.#pending.get(`${address} ${end}`) ?? (own.has(address) && this.#pending.get(`* ${end}`));
      if (!waiting) return;
      const place = `--orig-dst ${address} --orig-port-dst ${port} --reply-src ${repliesFrom}`;
      found.set(`-D -p udp -f ${family} ${place}`, waiting);
    });
    return found;
  }
}

/** Interleaves the owners, so that no owner waits for all flows of another. */
function inTurn(flows: readonly (readonly [string, Pending])[]): (readonly [string, Pending])[] {
  const turns = new Map<string, number>();
  const placed = flows.map((flow) => {
    const turn = turns.get(flow[1].owner) ?? 0;
    turns.set(flow[1].owner, turn + 1);
    return { turn, flow };
  });
  return placed.sort((a, b) => a.turn - b.turn).map(({ flow }) => flow);
}

/** The address and port that a client sends to, and the address from which it gets replies. */
function parseFlow(line: string): { address: string; port: string; repliesFrom: string } | undefined {
  const [, address, port, repliesFrom] =
    / dst=([\d.a-f:]+) sport=\d+ dport=(\d+) .*?src=([\d.a-f:]+) /.exec(line) ?? [];
  return address && port && repliesFrom ? { address, port, repliesFrom } : undefined;
}
