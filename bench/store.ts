/** Rows per second and CPU per row of the embedded store with several numbers of concurrent writers, and the time to open it. */
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { systemClock } from "#lib/async/clock.ts";
import { silentLog } from "#lib/process/log.ts";
import { openSqliteStore } from "#store/sqlite.ts";
import { type Store } from "#store/store.ts";
import { fill } from "./lib/fill-store.ts";

const { values: flags } = parseArgs({
  options: {
    dir: { type: "string", default: "." },
    rows: { type: "string", default: "20000" },
    objects: { type: "string", default: "50000" },
    bytes: { type: "string", default: "2400" },
  },
});
const value = new Uint8Array(Number(flags.bytes)).fill(97);
const directory = mkdtempSync(join(flags.dir, ".bench-store-"));
const options = { clock: systemClock, log: silentLog };

/** Each writer updates its own keys, one after another, as a controller does. */
async function write(store: Store, writers: number, rows: number): Promise<object> {
  const each = Math.ceil(rows / writers);
  const latencies: number[] = [];
  const cpu = process.cpuUsage();
  const loop = performance.eventLoopUtilization();
  const start = performance.now();
  const writer = async (_: unknown, id: number) => {
    for (let n = 0; n < each; n++) {
      const sent = performance.now();
      await store.commit([{ key: `/registry/pods/default/writer-${id}-${n % 100}`, value }]);
      latencies.push(performance.now() - sent);
    }
  };
  await Promise.all(Array.from({ length: writers }, writer));
  const seconds = (performance.now() - start) / 1000;
  const used = process.cpuUsage(cpu);
  latencies.sort((a, b) => a - b);
  const total = each * writers;
  return {
    writers,
    rows: total,
    rowsPerSecond: Math.round(total / seconds),
    cpuMicrosPerRow: round((used.user + used.system) / total),
    mainThreadMicrosPerRow: round((performance.eventLoopUtilization(loop).active * 1000) / total),
    latencyMsP50: round(latencies[total >> 1] ?? 0),
    latencyMsP99: round(latencies[Math.floor(total * 0.99)] ?? 0),
  };
}

async function open(path: string): Promise<object> {
  const cpu = process.cpuUsage();
  const start = performance.now();
  await using store = await openSqliteStore(path, options);
  const ms = performance.now() - start;
  const used = process.cpuUsage(cpu);
  const { entries } = await store.list("");
  return { objects: entries.length, openMs: round(ms), openCpuMs: round((used.user + used.system) / 1000) };
}

const round = (n: number): number => Math.round(n * 100) / 100;

try {
  const path = join(directory, "write");
  const results: object[] = [];
  {
    await using store = await openSqliteStore(path, options);
    await write(store, 64, 5000); // Warm-up.
    for (const writers of [1, 8, 64])
      results.push(await write(store, writers, writers === 1 ? 2000 : Number(flags.rows)));
  }
  const full = join(directory, "open");
  {
    await using store = await openSqliteStore(full, options);
    await fill(store, Number(flags.objects), () => value);
  }
  const opened = [await open(full), await open(full)];
  const fileBytes = statSync(join(full, "state.db")).size;
  console.log(JSON.stringify({ valueBytes: value.length, write: results, open: opened, fileBytes }, undefined, 2));
} finally {
  rmSync(directory, { recursive: true, force: true });
}
