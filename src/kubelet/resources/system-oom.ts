import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import os from "node:os";
import type { Clock } from "#lib/async/clock.ts";
import { isAbort } from "#lib/async/tasks.ts";
import type { Log } from "#lib/process/log.ts";
import { errorCode } from "#lib/text/error-code.ts";
import { KernelOoms } from "./kernel-oom.ts";

export interface SystemOomDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** Called with the message of the event. */
  happened(message: string): void;
  /** The kernel's log; `/dev/kmsg` by default. */
  readonly file?: string;
}

const everyMs = 5000;
/** How many records are read at a time. What is left is read the next time. */
const maxRecords = 2000;
const maxRecordBytes = 8192;

/** Reports when the machine as a whole, not only a pod, ran out of memory. Runs until the signal. */
export async function watchSystemOom(deps: SystemOomDeps, signal: AbortSignal): Promise<void> {
  const { clock, log, happened, file = "/dev/kmsg" } = deps;
  try {
    await using records = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
    // What the kernel wrote before is not news.
    const ooms = new KernelOoms(os.uptime() * 1e6);
    for (;;) {
      for (const message of await readRecords(records, ooms)) happened(message);
      await clock.sleep(everyMs, signal);
    }
  } catch (error) {
    if (isAbort(error, signal)) throw error;
    // The node runs without these events.
    log.warn("no events when the machine runs out of memory: the kernel's log cannot be read", { error });
  }
}

async function readRecords(records: FileHandle, ooms: KernelOoms): Promise<string[]> {
  const found: string[] = [];
  const buffer = Buffer.alloc(maxRecordBytes);
  for (let count = 0; count < maxRecords; count++) {
    try {
      const { bytesRead } = await records.read(buffer, 0, buffer.length, null);
      if (bytesRead === 0) break;
      found.push(...ooms.read(buffer.toString("utf8", 0, bytesRead)));
    } catch (error) {
      if (errorCode(error) === "EAGAIN") break;
      // The kernel has overwritten records that were not read.
      if (errorCode(error) !== "EPIPE") throw error;
    }
  }
  return found;
}
