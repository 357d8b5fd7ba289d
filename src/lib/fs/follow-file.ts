import { readFile } from "node:fs/promises";
import { type Clock } from "#lib/async/clock.ts";

export interface FollowFileOptions {
  readonly clock: Clock;
  /** How often the file is read. */
  readonly everyMs: number;
  /** What it holds now. */
  readonly text: string;
  changed(text: string): Promise<void>;
}

/**
 * Reads a file again and again, and calls back with its text whenever that has changed. It is read rather than watched,
 * because files that come from a mounted volume are replaced by links in another directory.
 */
export async function followFile(path: string, options: FollowFileOptions, signal: AbortSignal): Promise<void> {
  const { clock, everyMs } = options;
  let { text } = options;
  for (;;) {
    await clock.sleep(everyMs, signal);
    // A file that is being replaced is read the next time.
    const current = await readFile(path, "utf8").catch(() => text);
    if (current === text) continue;
    text = current;
    await options.changed(text);
  }
}
