import { watch } from "node:fs";
import { Nudge } from "#lib/async/nudge.ts";

/** Nudges on every change in a directory, and when the signal fires. */
export function watchDirectory(dir: string, signal: AbortSignal): Nudge {
  const changes = new Nudge();
  const watcher = watch(dir, { signal, persistent: false }, () => changes.give());
  watcher.on("error", () => changes.give());
  signal.addEventListener("abort", () => changes.give(), { once: true });
  return changes;
}
