/**
 * Loaded with `--import` before a program: takes away what only Linux has. The platform is macOS, files below /proc and /sys are
 * missing, and no program can be started. Each attempt is also said on stderr, for callers that would hide the error.
 */
import childProcess from "node:child_process";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import os from "node:os";

Object.defineProperty(process, "platform", { value: "darwin" });
os.platform = () => "darwin";
os.type = () => "Darwin" as never;

const say = (what: string): void => void process.stderr.write(`LINUX ONLY: ${what}\n`);

function refuse(what: string): never {
  say(what);
  throw Object.assign(new Error(`ENOENT: no such file or directory: ${what}`), { code: "ENOENT" });
}

const isLinuxOnly = (file: unknown): boolean => /^\/(?:proc|sys|run|dev\/shm)(?:\/|$)/.test(String(file));

type AnyFunction = (...args: unknown[]) => unknown;
type Functions = Record<string, unknown>;

/** Replaces the functions whose first parameter is a path. */
function guard(object: Functions, prefix: string): void {
  for (const [name, original] of Object.entries(object)) {
    if (typeof original !== "function" || /^[A-Z_]/.test(name)) continue;
    object[name] = Object.assign(function (this: unknown, ...args: unknown[]) {
      if (isLinuxOnly(args[0])) return refuse(`${prefix}${name}(${String(args[0])})`);
      return (original as AnyFunction).apply(this, args);
    }, original);
  }
}

guard(fs as unknown as Functions, "fs.");
guard(fs.promises as unknown as Functions, "fs.promises.");
for (const name of ["spawn", "spawnSync", "exec", "execSync", "execFile", "execFileSync", "fork"]) {
  (childProcess as unknown as Functions)[name] = (file: unknown) => refuse(`${name}(${String(file)})`);
}
syncBuiltinESMExports();
