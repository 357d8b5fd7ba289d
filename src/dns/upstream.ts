import { createSocket, type Socket as DatagramSocket } from "node:dgram";
import { readFile } from "node:fs/promises";
import { connect, isIPv6 } from "node:net";
import { messageBytes } from "./wire.ts";

export interface Upstream {
  readonly host: string;
  readonly port: number;
}

/** `10.0.0.1`, `10.0.0.1:5353`, `fd00::1` or `[fd00::1]:5353`. */
export function parseUpstream(text: string): Upstream {
  const [, bracketed, bracketedPort] = /^\[([^\]]+)\](?::(\d+))?$/.exec(text) ?? [];
  if (bracketed) return { host: bracketed, port: Number(bracketedPort ?? 53) };
  const [, host, port] = /^([^:]+):(\d+)$/.exec(text) ?? [];
  return host ? { host, port: Number(port) } : { host: text, port: 53 };
}

/** The servers that a resolv.conf names, at most three, as every resolver reads it. */
export const parseResolvConf = (text: string): string[] =>
  text
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .flatMap(([word, address]) => (word === "nameserver" && address ? [address] : []))
    .slice(0, 3);

/** The servers that this machine asks; none if it does not say. */
export async function hostUpstreams(file = "/etc/resolv.conf"): Promise<string[]> {
  try {
    return parseResolvConf(await readFile(file, "utf8"));
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw error;
  }
}

export interface Exchange {
  readonly query: Buffer;
  /** Whether a datagram is the answer, and not somebody's guess at one. */
  accepts(answer: Buffer): boolean;
  readonly signal: AbortSignal;
}

/** Asks by datagram, from a port of its own that nobody can guess. */
export function askByDatagram({ host, port }: Upstream, { query, accepts, signal }: Exchange): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const socket: DatagramSocket = createSocket(isIPv6(host) ? "udp6" : "udp4");
  const abort = () => reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  socket.on("error", reject);
  socket.on("message", (message) => {
    if (accepts(message)) resolve(message);
  });
  socket.connect(port, host, (error?: Error) => {
    if (error) reject(error);
    else socket.send(query, (failure) => failure && reject(failure));
  });
  return promise.finally(() => {
    signal.removeEventListener("abort", abort);
    socket.close();
  });
}

/** Asks by connection, for what does not fit a datagram. */
export function askByConnection({ host, port }: Upstream, { query, accepts, signal }: Exchange): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const socket = connect({ host, port });
  const abort = () => reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  const frames = new FrameReader();
  socket.on("error", reject);
  socket.on("close", () => reject(new Error(`${host}:${port} closed the connection`)));
  socket.on("data", (chunk: Buffer) => {
    for (const message of frames.push(chunk)) if (accepts(message)) resolve(message);
  });
  socket.on("connect", () => socket.write(frame(query)));
  return promise.finally(() => {
    signal.removeEventListener("abort", abort);
    socket.destroy();
  });
}

/** Over a connection every message has its length before it. */
export function frame(message: Buffer): Buffer {
  const framed = Buffer.allocUnsafe(message.length + 2);
  framed.writeUInt16BE(message.length);
  message.copy(framed, 2);
  return framed;
}

export class FrameReader {
  #pending: Buffer = Buffer.alloc(0);

  /** The messages that are whole now. At most one that is not is kept. */
  push(chunk: Buffer): Buffer[] {
    let bytes = this.#pending.length > 0 ? Buffer.concat([this.#pending, chunk]) : chunk;
    const messages: Buffer[] = [];
    while (bytes.length >= 2) {
      const end = 2 + Math.min(bytes.readUInt16BE(0), messageBytes);
      if (bytes.length < end) break;
      messages.push(bytes.subarray(2, end));
      bytes = bytes.subarray(end);
    }
    this.#pending = bytes;
    return messages;
  }
}
