/**
 * Watchers that read at a hundredth of the rate of events, beside watchers that keep up. The fast ones must not notice the
 * slow ones, and the slow ones must miss nothing.
 */
import http2 from "node:http2";
import { setTimeout as sleep } from "node:timers/promises";
import { tempDir } from "../boot.ts";
import { Connections, json } from "../lib/connections.ts";
import { configMap } from "../lib/objects.ts";
import { type ServerProcess, startServer } from "../lib/server-process.ts";
import { usageOf } from "../lib/usage.ts";
import { revisionOf } from "./scenario.ts";

export interface SlowWatchOptions {
  readonly seconds: number;
  readonly quick: number;
  readonly slow: number;
}

interface Phase {
  readonly writes: number;
  readonly writesPerSecond: number;
  readonly cpuMsPerWrite: number;
  /** From the start of a write until a fast watcher has its event. */
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface SlowWatchReport extends SlowWatchOptions {
  readonly alone: Phase;
  readonly beside: Phase;
  readonly cuts: number;
  readonly lostOrDoubled: number;
  /** How many events the slow watchers had read when the load ended, on average. */
  readonly slowEvents: number;
  readonly catchUpSeconds: number;
  readonly residentMiB: { readonly alone: number; readonly beside: number };
  /** The server's own metrics when the load ends. */
  readonly lagging: number;
  readonly terminated: number;
}

const objects = 100;
const width = 16;
const path = "/api/v1/namespaces/default/configmaps";

export async function measureSlowWatch(options: SlowWatchOptions): Promise<SlowWatchReport> {
  using dir = tempDir();
  await using server = await startServer(dir.path);
  using connections = new Connections(server, 8);
  for (let n = 0; n < objects; n++) {
    await connections.call({ method: "POST", path, body: json(configMap(`s-${n}`)) });
  }
  const bench = { server, connections, options };
  const alone = await runPhase(bench, []);
  const from = await revisionOf(connections, path);
  const slow = Array.from({ length: options.slow }, () => new SlowWatcher(server, from));
  const beside = await runPhase(bench, slow);
  const lagging = await metricSum(connections, "orlop_lagging_watchers");
  const slowEvents = slow.reduce((sum, { log }) => sum + log.revisions.length, 0) / Math.max(slow.length, 1);
  const catchUpSeconds = await catchUp(slow, beside.revisions.length);
  const report = {
    ...options,
    alone: alone.phase,
    beside: beside.phase,
    cuts: slow.filter(({ isCut }) => isCut).length,
    lostOrDoubled: [...beside.logs, ...slow.map(({ log }) => log)].reduce(
      (sum, log) => sum + differences(log.revisions, beside.revisions),
      0,
    ),
    slowEvents,
    catchUpSeconds,
    residentMiB: { alone: alone.residentMiB, beside: beside.residentMiB },
    lagging,
    terminated: await metricSum(connections, "apiserver_terminated_watchers_total"),
  };
  for (const watcher of slow) watcher[Symbol.dispose]();
  return report;
}

interface Bench {
  readonly server: ServerProcess;
  readonly connections: Connections;
  readonly options: SlowWatchOptions;
}

/** Runs the full load for a while, with new fast watchers. */
async function runPhase({ server, connections, options }: Bench, slow: readonly SlowWatcher[]) {
  const from = await revisionOf(connections, path);
  using watching = new Connections(server, 8);
  const logs = Array.from({ length: options.quick }, (_, n) => new EventLog(n < 5));
  for (const log of logs) watching.follow(`${path}?watch=1&resourceVersion=${from}`, (chunk) => log.add(chunk));
  const before = usageOf(server.pid);
  const start = performance.now();
  const until = start + options.seconds * 1000;
  let residentMiB = before.residentMiB;
  const pace = setInterval(() => {
    residentMiB = Math.max(residentMiB, usageOf(server.pid).residentMiB);
    const share = (logs[0]?.bytes ?? 0) / 100;
    for (const watcher of slow) watcher.readUpTo(share);
  }, 50);
  const revisions = await writeUntil(connections, until);
  const seconds = (performance.now() - start) / 1000;
  await until60(() => logs.every((log) => log.revisions.length >= revisions.length));
  clearInterval(pace);
  const cpuMs = usageOf(server.pid).cpuMs - before.cpuMs;
  const latencies = Float64Array.from(logs.flatMap((log) => log.latencies)).sort();
  const phase: Phase = {
    writes: revisions.length,
    writesPerSecond: revisions.length / seconds,
    cpuMsPerWrite: cpuMs / revisions.length,
    p50Ms: latencies[latencies.length >> 1] ?? 0,
    p99Ms: latencies[Math.floor(latencies.length * 0.99)] ?? 0,
  };
  return { phase, logs, revisions, residentMiB };
}

/** Writes as fast as possible; resolves with the revisions in order. */
async function writeUntil(connections: Connections, until: number): Promise<number[]> {
  const revisions: number[] = [];
  const write = async (writer: number): Promise<void> => {
    for (let n = 0; performance.now() < until; n++) {
      const name = `s-${(n * width + writer) % objects}`;
      const body = json({ data: { at: String(performance.now()) } });
      const type = "application/merge-patch+json";
      const answer = await connections.call({ method: "PATCH", path: `${path}/${name}`, body, type });
      revisions.push(revisionIn(answer.toString("latin1")));
    }
  };
  await Promise.all(Array.from({ length: width }, (_, writer) => write(writer)));
  return revisions.sort((a, b) => a - b);
}

async function catchUp(slow: readonly SlowWatcher[], wanted: number): Promise<number> {
  const start = performance.now();
  for (const watcher of slow) watcher.readUpTo(Number.POSITIVE_INFINITY);
  await until60(() => slow.every(({ log, isCut }) => isCut || log.revisions.length >= wanted));
  return (performance.now() - start) / 1000;
}

async function until60(isDone: () => boolean): Promise<void> {
  for (let left = 600; left > 0 && !isDone(); left--) await sleep(100);
}

async function metricSum(connections: Connections, name: string): Promise<number> {
  const text = (await connections.call({ method: "GET", path: "/metrics" })).toString();
  const lines = text.split("\n").filter((line) => line.startsWith(name));
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
}

/** How many revisions are missing, doubled, unexpected or out of order. */
function differences(seen: readonly number[], wanted: readonly number[]): number {
  let different = Math.abs(seen.length - wanted.length);
  for (let at = 0; at < Math.min(seen.length, wanted.length); at++) if (seen[at] !== wanted[at]) different++;
  return different;
}

/** The revisions of the received events, and their latencies. */
class EventLog {
  readonly revisions: number[] = [];
  readonly latencies: number[] = [];
  bytes = 0;
  hasError = false;
  readonly #isTimed: boolean;
  #rest = "";

  constructor(isTimed: boolean) {
    this.#isTimed = isTimed;
  }
  add(chunk: Buffer): void {
    this.bytes += chunk.length;
    const lines = (this.#rest + chunk.toString("latin1")).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) this.#addLine(line);
  }
  #addLine(line: string): void {
    if (line.startsWith('{"type":"ERROR"')) this.hasError = true;
    else this.revisions.push(revisionIn(line));
    if (!this.#isTimed) return;
    this.latencies.push(performance.now() - Number(/"at":"([\d.]+)"/.exec(line)?.[1] ?? 0));
  }
}

const revisionIn = (text: string): number => Number(/"resourceVersion":"(\d+)"/.exec(text)?.[1] ?? 0);

/** A watcher on its own connection with the usual small window, so that unread bytes stay with the server. */
class SlowWatcher implements Disposable {
  readonly log = new EventLog(false);
  readonly #session: http2.ClientHttp2Session;
  readonly #stream: http2.ClientHttp2Stream;
  #allowed = 0;
  #isClosed = false;

  constructor({ url, tls }: ServerProcess, from: string) {
    this.#session = http2.connect(url, tls);
    this.#session.on("error", () => {});
    this.#stream = this.#session.request({ ":path": `${path}?watch=1&resourceVersion=${from}` });
    this.#stream.on("readable", () => this.#read());
    this.#stream.on("error", () => {});
    this.#stream.on("close", () => (this.#isClosed = true));
  }
  get isCut(): boolean {
    return this.#isClosed || this.log.hasError;
  }
  /** Reads up to this many bytes, counted from the beginning. */
  readUpTo(bytes: number): void {
    this.#allowed = bytes;
    this.#read();
  }
  #read(): void {
    while (this.log.bytes < this.#allowed) {
      const size = Math.min(this.#allowed - this.log.bytes, this.#stream.readableLength);
      const chunk = size >= 1 ? (this.#stream.read(Math.floor(size)) as Buffer | null) : null;
      if (!chunk) return;
      this.log.add(chunk);
    }
  }
  [Symbol.dispose](): void {
    this.#session.destroy();
  }
}

export function renderSlowWatch(report: SlowWatchReport): string {
  const { seconds, quick, slow, alone, beside, residentMiB } = report;
  const phase = ({ writesPerSecond, cpuMsPerWrite, p50Ms, p99Ms }: Phase): string =>
    `${writesPerSecond.toFixed(0)} writes/s, ${cpuMsPerWrite.toFixed(2)} ms of CPU each, event after ${p50Ms.toFixed(1)} / ${p99Ms.toFixed(1)} ms (p50 / p99)`;
  return [
    `slow-watch: ${quick} quick watchers, ${slow} slow ones, ${seconds} s of full load`,
    `  quick alone    ${phase(alone)}, ${residentMiB.alone.toFixed(0)} MiB`,
    `  beside slow    ${phase(beside)}, ${residentMiB.beside.toFixed(0)} MiB`,
    `  cuts           ${report.cuts}, by the server's count ${report.terminated}`,
    `  lost, doubled  ${report.lostOrDoubled} of ${beside.writes * (quick + slow)} events`,
    `  slow ones      ${report.lagging} lag, had ${report.slowEvents.toFixed(0)} of ${beside.writes} events at the end, caught up in ${report.catchUpSeconds.toFixed(1)} s`,
    "",
  ].join("\n");
}
