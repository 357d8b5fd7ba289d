/**
 * Makes the next starts of this checkout fast: builds its bundle unless the current one has what the sources say, and starts
 * a server once, which keeps the code that V8 compiled for it.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { linkSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { findBundle } from "#lib/bundle/find-bundle.ts";
import { checkoutBundle, codeFolder } from "#lib/bundle/places.ts";
import { readPidFile } from "#lib/process/pid-file.ts";
import { writeBundle } from "./bundle.ts";

const root = path.resolve(import.meta.dirname, "..");
const source = path.join(root, "src");
const out = checkoutBundle(root);
const pollMs = 50;
const maxWarmUpMs = 30_000;
/** Whoever holds the lock for longer is not a builder: another process may have the number of one that died. */
const maxBuildMs = 120_000;

mkdirSync(path.dirname(out), { recursive: true });
{
  using _lock = await takeLock(`${out}.lock`);
  if (!findBundle(out, source)) await writeBundle({ source, extension: ".ts", entries: ["cli/start/start.ts"], out });
  const bundle = findBundle(out, source);
  if (bundle) await warmUp(path.join(codeFolder(root), bundle.manifest.folder));
}

/** Only one process builds at a time. One that was killed leaves its lock, which the next one takes over. */
async function takeLock(file: string): Promise<Disposable> {
  // Written before it becomes the lock, so that nobody reads half of it.
  const own = `${file}.${process.pid}`;
  writeFileSync(own, `${process.pid}\n`);
  for (;;) {
    try {
      linkSync(own, file);
      rmSync(own);
      return { [Symbol.dispose]: () => rmSync(file, { force: true }) };
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
    }
    if (performance.now() > maxBuildMs) process.exit(0);
    if (isHeld(file)) await sleep(pollMs);
    else removeLock(file, `${own}.old`);
  }
}

function isHeld(file: string): boolean {
  const holder = readPidFile(file);
  if (holder === undefined) return false;
  try {
    process.kill(holder, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

/** Removes the lock of a process that is dead, unless another process was faster and has it now. */
function removeLock(file: string, aside: string): void {
  try {
    renameSync(file, aside);
    if (isHeld(aside)) linkSync(aside, file);
    rmSync(aside);
  } catch {
    // Somebody else has removed it or taken it.
    rmSync(aside, { force: true });
  }
}

/** Runs a server until it has kept its code, which it does as soon as it is idle. */
async function warmUp(folder: string): Promise<void> {
  if (hasCode(folder)) return;
  const dataDir = mkdtempSync(path.join(tmpdir(), "orlop-warm-up-"));
  const args = ["server", "--data-dir", dataDir, "--port", "0"];
  // It runs the bundle, whatever this process was told to do, and starts no further preparation.
  const env = { ...process.env, ORLOP_SOURCES: "", ORLOP_REFRESH: "" };
  const server = spawn(path.join(root, "orlop"), args, { stdio: "ignore", env });
  const ended = once(server, "exit");
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
    process.once(signal, () => {
      server.kill();
      process.exit(1);
    });
  }
  const end = performance.now() + maxWarmUpMs;
  while (!hasCode(folder) && server.exitCode === null && performance.now() < end) await sleep(pollMs);
  server.kill();
  await ended;
  rmSync(dataDir, { recursive: true, force: true });
}

function hasCode(folder: string): boolean {
  try {
    return readdirSync(folder).some((name) => name.startsWith("server-") && name.endsWith(".code"));
  } catch {
    return false;
  }
}
