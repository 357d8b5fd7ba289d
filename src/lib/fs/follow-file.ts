import { hash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { type Clock } from "#lib/async/clock.ts";

export interface FollowFileOptions {
  readonly clock: Clock;
  /** How often the file is read. */
  readonly everyMs: number;
  /** What it holds now. */
  readonly text: string;
  /** Takes over a new text. If it returns false, it is called again after the next reading. */
  changed(text: string): Promise<boolean>;
}

/**
 * Reads a file again and again, and calls back with its text whenever that has changed. It is read rather than watched,
 * because files that come from a mounted volume are replaced by links in another directory. Only a hash of the text is
 * kept, because it may contain keys.
 */
export async function followFile(path: string, options: FollowFileOptions, signal: AbortSignal): Promise<void> {
  const { clock, everyMs } = options;
  let taken = hash("sha256", options.text);
  for (;;) {
    await clock.sleep(everyMs, signal);
    const text = await readFile(path, "utf8").catch(() => undefined);
    // A file that is being replaced is read the next time.
    if (text === undefined) continue;
    const current = hash("sha256", text);
    if (current !== taken && (await options.changed(text))) taken = current;
  }
}
