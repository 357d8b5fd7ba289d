import { createSocket, type Socket as DatagramSocket } from "node:dgram";
import { readFile } from "node:fs/promises";
import { connect, isIPv6 } from "node:net";
import { ByteQueue } from "#lib/data/byte-queue.ts";
import { errorCode } from "#lib/text/error-code.ts";
import { messageBytes } from "./message.ts";

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

/** The name servers in a resolv.conf; at most three, as in every resolver. */
export const parseResolvConf = (text: string): string[] =>
  text
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .flatMap(([word, address]) => (word === "nameserver" && address ? [address] : []))
    .slice(0, 3);

/** Whether only the machine itself can reach the server. */
export const isLoopback = (upstream: string): boolean => {
  const { host } = parseUpstream(upstream);
  return host.startsWith("127.") || host === "::1";
};

/** What systemd-resolved forwards to. It writes its own address on loopback into the usual file. */
const forwardedByResolved = "/run/systemd/resolve/resolv.conf";

/** The name servers of this machine; empty if it declares none. */
export async function hostUpstreams(file = "/etc/resolv.conf", behind = forwardedByResolved): Promise<string[]> {
  const declared = await serversOf(file);
  if (declared.length === 0 || !declared.every(isLoopback)) return declared;
  const real = await serversOf(behind);
  return real.length > 0 ? real : declared;
}

async function serversOf(file: string): Promise<string[]> {
  try {
    return parseResolvConf(await readFile(file, "utf8"));
  } catch (error) {
    if (errorCode(error) === "ENOENT") return [];
    throw error;
  }
}

export interface Exchange {
  readonly query: Buffer;
  /** Whether a datagram is the answer and not a forged one. */
  accepts(answer: Buffer): boolean;
  readonly signal: AbortSignal;
}

/** Asks over UDP, from a random port that nobody can guess. */
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

/** Asks over TCP, for what does not fit into a datagram. */
export function askByConnection({ host, port }: Upstream, { query, accepts, signal }: Exchange): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const socket = connect({ host, port });
  const abort = () => reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  const frames = new DnsMessageReader();
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

/** Over TCP, every message is preceded by its length. */
export function frame(message: Buffer): Buffer {
  const framed = Buffer.allocUnsafe(message.length + 2);
  framed.writeUInt16BE(message.length);
  message.copy(framed, 2);
  return framed;
}

/** The peer announces a message that is too long. */
export class FrameError extends Error {
  override readonly name = "FrameError";
}

/** Splits a stream into messages. Keeps at most one incomplete message. */
export class DnsMessageReader {
  readonly #bytes = new ByteQueue();
  readonly #maxBytes: number;

  constructor(maxBytes = messageBytes) {
    this.#maxBytes = maxBytes;
  }
  /** Whether a message is incomplete. */
  get isWithin(): boolean {
    return this.#bytes.size > 0;
  }
  /** Returns the messages that are complete now. */
  push(chunk: Buffer): Buffer[] {
    const bytes = this.#bytes;
    bytes.push(chunk);
    const messages: Buffer[] = [];
    while (bytes.size >= lengthBytes) {
      const size = bytes.peek(lengthBytes).readUInt16BE(0);
      if (size > this.#maxBytes) throw new FrameError(`message of ${size} bytes`);
      if (bytes.size < lengthBytes + size) break;
      bytes.take(lengthBytes);
      messages.push(bytes.take(size));
    }
    return messages;
  }
}

const lengthBytes = 2;
