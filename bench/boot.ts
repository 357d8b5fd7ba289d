import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fillDataDir } from "./lib/fill-store.ts";
import { startServer } from "./lib/server-process.ts";
import { usageOf } from "./lib/usage.ts";

export interface Boot {
  /** From an empty directory to /readyz; the best of three. */
  readonly emptyMs: number;
  /** The same with objects from an earlier run. */
  readonly filledMs: number;
  readonly objects: number;
  readonly residentMiB: number;
  readonly idlePercent: number;
}

const settleMs = 2000;

export async function measureBoot({ objects, idleMs }: { objects: number; idleMs: number }): Promise<Boot> {
  const empty = [await bootIn(tempDir), await bootIn(tempDir), await bootIn(tempDir)];
  const idle = await measureIdle(idleMs);
  using filled = tempDir();
  await fillDataDir(filled.path, objects);
  await using server = await startServer(filled.path);
  return { emptyMs: Math.min(...empty), filledMs: server.readyMs, objects, ...idle };
}

async function bootIn(makeDir: typeof tempDir): Promise<number> {
  using dir = makeDir();
  await using server = await startServer(dir.path);
  return server.readyMs;
}

/** Measures an idle server. */
async function measureIdle(idleMs: number): Promise<Pick<Boot, "residentMiB" | "idlePercent">> {
  using dir = tempDir();
  await using server = await startServer(dir.path);
  await sleep(settleMs);
  const before = usageOf(server.pid);
  await sleep(idleMs);
  const { cpuMs } = usageOf(server.pid);
  return { residentMiB: before.residentMiB, idlePercent: ((cpuMs - before.cpuMs) / idleMs) * 100 };
}

export interface TempDir extends Disposable {
  readonly path: string;
}

export function tempDir(): TempDir {
  const directory = mkdtempSync(path.join(tmpdir(), "orlop-bench-"));
  return { path: directory, [Symbol.dispose]: () => rmSync(directory, { recursive: true, force: true }) };
}
