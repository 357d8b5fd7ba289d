import { type ChildProcess, spawn } from "node:child_process";
import path from "node:path";
import { createInterface } from "node:readline";
import { runCommand } from "#lib/process/processes.ts";

/** A process inside a network namespace that works for a test. */
export interface Place {
  readonly namespace: string;
  readonly address: string;
  /** Answers every connection or datagram with its name and the client's address. */
  listen(protocol: "tcp" | "udp", at: { host?: string; port: number; name: string }): Promise<void>;
  /** Resolves with the answer, an error code, or `no answer`. */
  ask(
    protocol: "tcp" | "udp",
    host: string,
    port: number,
    options?: { fromPort?: number; waitMs?: number },
  ): Promise<string>;
  /** Asks a DNS server, on port 53 by default. Resolves with the records as JSON, or an error code. */
  resolve(server: string, name: string, type: string, options?: { port?: number; waitMs?: number }): Promise<string>;
  /** Runs a command there. */
  run(command: string, args: readonly string[], input?: string): Promise<string>;
}

/**
 * A node with pods, and a machine outside, each in its own network namespace. Nothing leaves them, and disposing removes all
 * of them. Each pod has a link of its own to the node, or all share a bridge.
 *
 *     pod a (10.90.0.11) ┐
 *     pod b (10.90.0.12) ┼─ (10.90.0.1) node (10.91.0.1) ── outside (10.91.0.2)
 *     pod c (10.90.0.13) ┘
 */
export interface TestNetwork extends AsyncDisposable {
  /** How the links of pods begin; undefined if they share a bridge. */
  readonly podLinks: string | undefined;
  readonly node: Place;
  readonly outside: Place;
  readonly pods: readonly [Place, Place, Place];
  readonly podCidr: string;
}

/** Whether this process may create network namespaces and has the programs for it. */
export async function canMakeNetworks(): Promise<boolean> {
  try {
    await runCommand("nft", ["--version"]);
    await runCommand("ip", ["netns", "list"]);
    return process.getuid?.() === 0;
  } catch {
    return false;
  }
}

let made = 0;

export async function createTestNetwork({ hasBridge = false } = {}): Promise<TestNetwork> {
  const prefix = `orlop-test-${process.pid}-${made++}`;
  const names = ["node", "outside", "pod-a", "pod-b", "pod-c"].map((name) => `${prefix}-${name}`);
  const [node = "", outside = "", ...pods] = names;
  const agents: Agent[] = [];
  const dispose = async (): Promise<void> => {
    await Promise.all(agents.map((agent) => agent.stop()));
    for (const name of names) await runCommand("ip", ["netns", "del", name]).catch(() => {});
  };
  try {
    for (const name of names) await runCommand("ip", ["netns", "add", name]);
    for (const [name, lines] of layout({ node, outside, pods, hasBridge })) {
      await runCommand("ip", ["-n", name, "-batch", "-"], { input: `${lines.join("\n")}\n` });
    }
    await runCommand("ip", ["netns", "exec", node, "sh", "-c", nodeSettings(hasBridge)]);
    const addresses = ["10.91.0.1", "10.91.0.2", "10.90.0.11", "10.90.0.12", "10.90.0.13"];
    const places = names.map((name, index) => {
      const agent = new Agent(name);
      agents.push(agent);
      return placeOf(name, addresses[index] ?? "", agent);
    });
    const [a, b, c, d, e] = places;
    if (!a || !b || !c || !d || !e) throw new Error("a place is missing");
    const podLinks = hasBridge ? undefined : "veth";
    return { node: a, outside: b, pods: [c, d, e], podCidr: "10.90.0.0/24", podLinks, [Symbol.asyncDispose]: dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}

/** Without a bridge filter, redirects between pods would use up the rate at which the kernel refuses datagrams. */
const nodeSettings = (hasBridge: boolean): string => `cd /proc/sys/net/ipv4
echo 1 >ip_forward
for link in all ${hasBridge ? "pods" : ""}; do echo 0 >conf/$link/send_redirects; done`;

interface Layout {
  readonly node: string;
  readonly outside: string;
  readonly pods: readonly string[];
  readonly hasBridge: boolean;
}

/** Commands for `ip -batch`, by namespace. The node comes first, because it creates the links. */
function layout({ node, outside, pods, hasBridge }: Layout): Map<string, string[]> {
  const nodeLines = [
    "link set lo up",
    ...(hasBridge ? ["link add pods type bridge", "address add 10.90.0.1/24 dev pods", "link set pods up"] : []),
    `link add uplink type veth peer name eth0 netns ${outside}`,
    "address add 10.91.0.1/24 dev uplink",
    "link set uplink up",
    "route add default via 10.91.0.2",
    ...pods.flatMap((pod, index) => [
      `link add veth${index} type veth peer name eth0 netns ${pod}`,
      ...(hasBridge ? bridgedLines(index) : routedLines(index)),
    ]),
  ];
  const podLines = hasBridge ? endLines : routedEndLines;
  return new Map([
    [node, nodeLines],
    [outside, endLines("10.91.0.2", "10.91.0.1")],
    ...pods.map((pod, index) => [pod, podLines(`10.90.0.${11 + index}`, "10.90.0.1")] as const),
  ]);
}

const bridgedLines = (index: number): string[] => [
  `link set veth${index} master pods up`,
  `link set veth${index} type bridge_slave hairpin on`,
];

const routedLines = (index: number): string[] => [
  `address add 10.90.0.1/32 dev veth${index}`,
  `link set veth${index} up`,
  `route add 10.90.0.${11 + index} dev veth${index}`,
];

const routedEndLines = (address: string, gateway: string): string[] => [
  "link set lo up",
  `address add ${address}/32 dev eth0`,
  "link set eth0 up",
  `route add ${gateway} dev eth0 scope link src ${address}`,
  `route add default via ${gateway}`,
];

const endLines = (address: string, gateway: string): string[] => [
  "link set lo up",
  `address add ${address}/24 dev eth0`,
  "link set eth0 up",
  `route add default via ${gateway}`,
];

function placeOf(namespace: string, address: string, agent: Agent): Place {
  return {
    namespace,
    address,
    async listen(protocol, { host = "0.0.0.0", port, name }) {
      const text = await agent.order({ act: "listen", protocol, host, port, name });
      if (text !== "listening") throw new Error(`${namespace} does not listen on ${host}:${port}: ${text}`);
    },
    ask: (protocol, host, port, options) => agent.order({ act: "ask", protocol, host, port, ...options }),
    resolve: (host, name, type, options) =>
      agent.order({ act: "resolve", protocol: "udp", host, port: 53, name, type, ...options }),
    run: async (command, args, input) =>
      (await runCommand("ip", ["netns", "exec", namespace, command, ...args], { input })).stdout,
  };
}

/** A process in the namespace that carries out orders. */
class Agent {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, PromiseWithResolvers<string>>();
  readonly #ended: Promise<void>;
  #orders = 0;

  constructor(namespace: string) {
    const script = path.join(import.meta.dirname, "network-agent.ts");
    this.#child = spawn("ip", ["netns", "exec", namespace, process.execPath, script], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#ended = new Promise((resolve) => this.#child.on("exit", () => resolve()));
    this.#child.on("exit", (code) => {
      for (const { reject } of this.#waiting.values())
        reject(new Error(`the agent in ${namespace} ended with ${code}`));
    });
    if (!this.#child.stdout) throw new Error("the agent has no output");
    createInterface({ input: this.#child.stdout }).on("line", (line) => {
      const { id, text } = JSON.parse(line) as { id: number; text: string };
      this.#waiting.get(id)?.resolve(text);
      this.#waiting.delete(id);
    });
  }

  order(order: object): Promise<string> {
    const id = this.#orders++;
    const answer = Promise.withResolvers<string>();
    this.#waiting.set(id, answer);
    this.#child.stdin?.write(`${JSON.stringify({ id, ...order })}\n`);
    return answer.promise;
  }

  async stop(): Promise<void> {
    this.#child.stdin?.end();
    await this.#ended;
  }
}
