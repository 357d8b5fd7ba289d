import http2 from "node:http2";
import { setTimeout as pause } from "node:timers/promises";
import tls from "node:tls";
import { type AttackTarget } from "../attacks/attack.ts";

/** Operations for attacks on the API server's connections. */

export const addressOf = ({ url }: AttackTarget): { host: string; port: number } => {
  const { hostname, port } = new URL(url);
  return { host: hostname, port: Number(port) };
};

/** An HTTP/2 connection that the server may end at any time, and that ends with the attack. */
export function openSession({ url, ca }: AttackTarget, signal: AbortSignal): http2.ClientHttp2Session {
  const session = http2.connect(url, { ca, maxSessionMemory: 4000, settings: { initialWindowSize: 65_535 } });
  const end = () => session.destroy();
  session.on("error", () => {});
  session.on("close", () => signal.removeEventListener("abort", end));
  signal.addEventListener("abort", end);
  return session;
}

/** A bare TLS connection, for what no library would send. */
export function openTls(target: AttackTarget, protocol: "h2" | "http/1.1"): Promise<tls.TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = tls.connect({ ...addressOf(target), ca: target.ca, ALPNProtocols: [protocol] });
    socket.once("secureConnect", () => resolve(socket));
    socket.once("error", reject);
    socket.on("error", () => {});
  });
}

/** Repeats until the signal. A round that fails because the server closed the connection is tried again. */
export async function repeat(signal: AbortSignal, round: () => Promise<void>): Promise<void> {
  while (!signal.aborted) {
    try {
      await round();
    } catch (error) {
      if (error instanceof BrokenClaim) throw error;
    }
    await pause(10, undefined, { signal }).catch(() => {});
  }
}

/** The server did what the claim rules out. */
export class BrokenClaim extends Error {}

export const bearer = ({ token }: AttackTarget): http2.OutgoingHttpHeaders => ({ authorization: `Bearer ${token}` });

export const count = (what: Map<string, number>, key: string | number): void => {
  what.set(String(key), (what.get(String(key)) ?? 0) + 1);
};
export const summary = (what: Map<string, number>): string =>
  [...what].map(([key, times]) => `${times.toLocaleString("en-US")} × ${key}`).join(", ") || "nothing";
