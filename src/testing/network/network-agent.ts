/**
 * Runs inside a network namespace for a test: listens and sends as it is ordered to. It reads one order per line, as JSON,
 * and writes one answer per line.
 */
import { createSocket } from "node:dgram";
import { Resolver } from "node:dns/promises";
import { connect, createServer } from "node:net";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";

interface Order {
  readonly id: number;
  readonly act: "listen" | "ask" | "resolve";
  readonly protocol: "tcp" | "udp";
  readonly host: string;
  readonly port: number;
  /** A listener's answer, before the address of the client. */
  readonly name?: string;
  /** The type of record to resolve at the server at host and port. */
  readonly type?: string;
  /** The port to send from; 0 or absent means any. */
  readonly fromPort?: number;
  /** How long to wait for an answer. */
  readonly waitMs?: number;
}

/** On a slow machine an answer may take long. */
const usualWaitMs = 60_000;

for await (const line of createInterface({ input: process.stdin })) {
  const order = JSON.parse(line) as Order;
  void perform(order).then(
    (text) => answer(order, text),
    (error: unknown) => answer(order, error instanceof Error && "code" in error ? String(error.code) : String(error)),
  );
}
process.exit(0);

function answer({ id }: Order, text: string): void {
  process.stdout.write(`${JSON.stringify({ id, text })}\n`);
}

function perform(order: Order): Promise<string> {
  if (order.act === "resolve") return resolve(order);
  if (order.act === "listen") return order.protocol === "tcp" ? listenTcp(order) : listenUdp(order);
  return order.protocol === "tcp" ? askTcp(order) : askUdp(order);
}

async function resolve({ host, port, name = "", type = "A", waitMs = usualWaitMs }: Order): Promise<string> {
  const resolver = new Resolver({ timeout: waitMs, tries: 1 });
  resolver.setServers([`${host}:${port}`]);
  return JSON.stringify(await resolver.resolve(name, type));
}

function listenTcp({ host, port, name }: Order): Promise<string> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => {
      socket.on("error", () => {});
      socket.end(`${name} ${socket.remoteAddress}`);
    });
    server.on("error", reject);
    server.listen(port, host, () => resolve("listening"));
  });
}

function listenUdp({ host, port, name }: Order): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = createSocket("udp4");
    socket.on("message", (_message, from) => socket.send(`${name} ${from.address}`, from.port, from.address));
    socket.on("error", reject);
    socket.bind(port, host, () => resolve("listening"));
  });
}

function askTcp({ host, port, waitMs = usualWaitMs }: Order): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port });
    let text = "";
    socket.setTimeout(waitMs, () => {
      socket.destroy();
      resolve("no answer");
    });
    socket.on("data", (chunk) => {
      text += chunk.toString();
    });
    socket.on("end", () => resolve(text));
    socket.on("error", reject);
  });
}

function askUdp({ host, port, fromPort, waitMs = usualWaitMs }: Order): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = createSocket("udp4");
    const timers = new AbortController();
    const end = (settle: () => void): void => {
      timers.abort();
      socket.close();
      settle();
    };
    const after = (ms: number, act: () => void): void =>
      void setTimeout(ms, undefined, timers).then(act, () => undefined);
    // The kernel limits how often it refuses datagrams.
    const send = (): void => {
      socket.send("?");
      after(1_000, send);
    };
    after(waitMs, () => end(() => resolve("no answer")));
    socket.on("error", (error) => end(() => reject(error)));
    socket.on("message", (message) => end(() => resolve(message.toString())));
    socket.bind(fromPort ?? 0, () => socket.connect(port, host, send));
  });
}
