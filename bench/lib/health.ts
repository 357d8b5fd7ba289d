import { readFileSync } from "node:fs";
import http2 from "node:http2";
import { availableParallelism } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { type RunningCluster } from "./running-cluster.ts";

export interface Health {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** The same without the time that other virtual machines took during each request. */
  readonly ownP99Ms: number;
  /** Requests that did not get `ok`. */
  readonly failures: number;
  /** How late this process's own timers were, at p99: a delay that the server does not cause. */
  readonly lateMs: number;
  /** Share of the machine's time that other virtual machines took. */
  readonly stolen: number;
}

const everyMs = 50;

/** Requests /healthz continuously, on a persistent connection. */
export async function watchHealth({ url, tls }: RunningCluster, signal: AbortSignal): Promise<Health> {
  const times: number[] = [];
  const ownTimes: number[] = [];
  const delays: number[] = [];
  const before = machineTime();
  let failures = 0;
  let session = connect(url, tls);
  while (!signal.aborted) {
    if (session.closed || session.destroyed) session = connect(url, tls);
    const start = { ms: performance.now(), stolen: machineTime().stolen };
    if (await isHealthy(session)) {
      const ms = performance.now() - start.ms;
      times.push(ms);
      ownTimes.push(ms - ((machineTime().stolen - start.stolen) * tickMs) / availableParallelism());
    } else failures++;
    const asleep = performance.now();
    await sleep(everyMs);
    delays.push(performance.now() - asleep - everyMs);
  }
  session.destroy();
  const after = machineTime();
  const stolen = (after.stolen - before.stolen) / Math.max(1, after.all - before.all);
  const [p50Ms, p99Ms, maxMs] = [at(times, 0.5), at(times, 0.99), at(times, 1)];
  return { p50Ms, p99Ms, maxMs, ownP99Ms: at(ownTimes, 0.99), failures, lateMs: at(delays, 0.99), stolen };
}

const at = (times: readonly number[], share: number): number =>
  times.toSorted((a, b) => a - b)[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0;

const tickMs = 10;
/** Ticks since the machine started, of all processors. */
function machineTime(): { readonly all: number; readonly stolen: number } {
  const [line = ""] = readFileSync("/proc/stat", "utf8").split("\n", 1);
  const ticks = line.split(/\s+/).slice(1, 9).map(Number);
  return { all: ticks.reduce((sum, each) => sum + each, 0), stolen: ticks[7] ?? 0 };
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
