import http2 from "node:http2";
import { setTimeout as sleep } from "node:timers/promises";
import { type RunningCluster } from "./running-cluster.ts";

export interface Health {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** Requests that did not get `ok`. */
  readonly failures: number;
}

const everyMs = 50;

/** Requests /healthz continuously, on a persistent connection. */
export async function watchHealth({ url, tls }: RunningCluster, signal: AbortSignal): Promise<Health> {
  const times: number[] = [];
  let failures = 0;
  let session = connect(url, tls);
  while (!signal.aborted) {
    if (session.closed || session.destroyed) session = connect(url, tls);
    const start = performance.now();
    if (await isHealthy(session)) times.push(performance.now() - start);
    else failures++;
    await sleep(everyMs);
  }
  session.destroy();
  times.sort((a, b) => a - b);
  const at = (share: number): number => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0;
  return { p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1), failures };
}

function connect(url: string, tls: RunningCluster["tls"]): http2.ClientHttp2Session {
  const session = http2.connect(url, tls);
  session.on("error", () => {}); // The request in progress counts as failed.
  return session;
}

function isHealthy(session: http2.ClientHttp2Session): Promise<boolean> {
  return new Promise((resolve) => {
    const stream = session.request({ ":path": "/healthz" });
    let status = 0;
    stream.setTimeout(10_000, () => stream.destroy());
    stream.on("response", (headers) => (status = headers[":status"] ?? 0));
    stream.on("error", () => {});
    stream.on("close", () => resolve(status === 200));
    stream.resume();
  });
}
