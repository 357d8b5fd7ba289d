import { watch } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";
import { dirname } from "node:path";
import type { LogOptions } from "#kubelet/runtime/runtime.ts";
import { Nudge } from "#lib/async/nudge.ts";
import { type LogLine, parseLogLine } from "./log-line.ts";

/** The text of a container's log. A file that is rotated meanwhile is read to its end, and then the new one. */
export async function* readLog(path: string, options: LogOptions = {}): AsyncGenerator<Buffer, void> {
  let left = options.limitBytes ?? Number.POSITIVE_INFINITY;
  const unfinished = new Set<LogLine["stream"]>();
  for await (const lines of readLines(path, options)) {
    const text = Buffer.concat(lines.flatMap((line) => renderLine(line, options, unfinished)));
    if (text.length === 0) continue;
    yield text.length > left ? text.subarray(0, left) : text;
    left -= text.length;
    if (left <= 0) return;
  }
}

const newline = 0x0a;
const lineEnd = Buffer.from("\n");

/** A long line is written in parts, and only the first gets a time. `unfinished` holds streams that are within a line. */
function renderLine(line: Buffer, options: LogOptions, unfinished: Set<LogLine["stream"]>): Buffer[] {
  const { timestamps, sinceMs, stream } = options;
  const parsed = parseLogLine(line);
  if (!parsed || (stream && parsed.stream !== stream)) return [];
  if (sinceMs !== undefined && Date.parse(parsed.time) < sinceMs) return [];
  const begins = !unfinished.has(parsed.stream);
  if (parsed.isFull) unfinished.delete(parsed.stream);
  else unfinished.add(parsed.stream);
  const time = timestamps && begins ? [Buffer.from(`${parsed.time} `)] : [];
  return [...time, parsed.content, ...(parsed.isFull ? [lineEnd] : [])];
}

/** The lines of the file, in batches. */
async function* readLines(path: string, options: LogOptions): AsyncGenerator<Buffer[], void> {
  await using changes = options.followUntil ? watchChanges(path, options) : undefined;
  let file = await open(path, "r");
  try {
    let position = options.tailLines === undefined ? 0 : await tailStart(file, options.tailLines);
    let rest: Buffer = Buffer.alloc(0);
    for (;;) {
      options.signal?.throwIfAborted();
      // Checked before reading, so that everything written before the end is read.
      const isOver = options.followUntil?.aborted ?? true;
      const chunk = await readChunk(file, position);
      position += chunk.length;
      if (chunk.length > 0) {
        const lines = cutLines(Buffer.concat([rest, chunk]));
        rest = lines.rest;
        yield lines.whole;
        continue;
      }
      const next = await openIfReplaced(path, file);
      if (next && (await readChunk(file, position)).length > 0) {
        // The last lines of the old file, written before the new one existed.
        await next.close();
        continue;
      }
      if (next) {
        await file.close();
        file = next;
        position = 0;
        rest = Buffer.alloc(0);
        continue;
      }
      if (isOver || !changes) return;
      await changes.nudge.taken();
    }
  } finally {
    await file.close();
  }
}

const chunkSize = 64 * 1024;
/** The runtime writes entries of at most 16 KiB; anything longer is not a log entry. */
const maxLine = 1 << 20;

async function readChunk(file: FileHandle, position: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(chunkSize), 0, chunkSize, position);
  return buffer.subarray(0, bytesRead);
}

function cutLines(text: Buffer): { whole: Buffer[]; rest: Buffer } {
  const whole: Buffer[] = [];
  let start = 0;
  for (let end = text.indexOf(newline); end >= 0; end = text.indexOf(newline, start)) {
    whole.push(text.subarray(start, end));
    start = end + 1;
  }
  const rest = text.subarray(start);
  return { whole, rest: rest.length > maxLine ? Buffer.alloc(0) : rest };
}

/** Where the last lines of a file begin. Reads from the end, only as far as needed. */
async function tailStart(file: FileHandle, lines: number): Promise<number> {
  const { size } = await file.stat();
  if (lines <= 0) return size;
  let found = 0;
  for (let end = size; end > 0; ) {
    const start = Math.max(0, end - chunkSize);
    const { buffer } = await file.read(Buffer.alloc(end - start), 0, end - start, start);
    for (let at = buffer.length - 1; at >= 0; at--) {
      if (buffer[at] !== newline || start + at === size - 1) continue;
      if (++found === lines) return start + at + 1;
    }
    end = start;
  }
  return 0;
}

async function openIfReplaced(path: string, file: FileHandle): Promise<FileHandle | undefined> {
  const [held, there] = await Promise.all([file.stat(), stat(path).catch(() => undefined)]);
  return there && there.ino !== held.ino ? await open(path, "r") : undefined;
}

interface Changes extends AsyncDisposable {
  /** Notified when something may have been written, and at the end. */
  readonly nudge: Nudge;
}

function watchChanges(path: string, { followUntil, signal }: LogOptions): Changes {
  const nudge = new Nudge();
  const note = () => nudge.give();
  // Watches the directory, because rotation replaces the file itself.
  const watcher = watch(dirname(path), note);
  watcher.on("error", note);
  const signals = [followUntil, signal].filter((one) => one !== undefined);
  for (const one of signals) one.addEventListener("abort", note, { once: true });
  return {
    nudge,
    async [Symbol.asyncDispose]() {
      watcher.close();
      for (const one of signals) one.removeEventListener("abort", note);
    },
  };
}
