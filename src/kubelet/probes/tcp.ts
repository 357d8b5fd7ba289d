import net from "node:net";
import { outOfTime, withDeadline } from "#lib/async/deadline.ts";
import { hostInUrl } from "#lib/net/ip.ts";
import type { CheckLimits, ProbeAddress, ProbeOutcome } from "./network.ts";

/** Succeeds if a connection can be opened. */
export async function probeTcp(
  { host, port }: ProbeAddress,
  { clock, timeoutMs, signal }: CheckLimits,
): Promise<ProbeOutcome> {
  const address = joinHostPort(host, port);
  const opened = await withDeadline(timeoutMs, { clock, signal }, (limit) => connectOnce(host, port, limit));
  if (opened === outOfTime) return { result: "failure", output: `dial tcp ${address}: i/o timeout` };
  if (opened === undefined) return { result: "success", output: "" };
  return { result: "failure", output: describeDial(address, opened) };
}

/** Resolves with the error, if there is one. */
function connectOnce(host: string, port: number, signal: AbortSignal): Promise<Error | undefined> {
  return new Promise((resolve) => {
    const socket = net.connect({ host, port, signal });
    socket.on("connect", () => {
      // A reset instead of a normal close, because thousands of checks must not leave thousands of sockets in TIME_WAIT.
      socket.resetAndDestroy();
      resolve(undefined);
    });
    socket.on("error", resolve);
  });
}

export const joinHostPort = (host: string, port: number): string => `${hostInUrl(host)}:${port}`;

/** Uses the wording of Go's dialer, which people search for. */
export function describeDial(address: string, error: Error): string {
  const code = "code" in error ? String(error.code) : "";
  return `dial tcp ${address}: ${words[code] ?? error.message}`;
}

const words: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connect: connection refused",
  EHOSTUNREACH: "connect: no route to host",
  ENETUNREACH: "connect: network is unreachable",
  ETIMEDOUT: "i/o timeout",
  ECONNRESET: "connect: connection reset by peer",
};
