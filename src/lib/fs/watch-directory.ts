import { watch } from "node:fs";
import { Nudge } from "#lib/async/nudge.ts";

/** Tells of changes in a directory, and of the signal. */
export function watchDirectory(dir: string, signal: AbortSignal): Nudge {
  const changes = new Nudge();
  const watcher = watch(dir, { signal, persistent: false }, () => changes.give());
  watcher.on("error", () => changes.give());
  signal.addEventListener("abort", () => changes.give(), { once: true });
  return changes;
}
