import type { LogOptions } from "#kubelet/runtime/runtime.ts";
import type { Clock } from "#lib/async/clock.ts";
import type { LogEntry } from "./behaviour.ts";

/** A line at the time at which it was printed. */
export interface PrintedLine {
  readonly atMs: number;
  readonly text: string;
  readonly stream: "stdout" | "stderr";
}

/** When a program ran. */
export interface Lifetime {
  readonly startedAt: number;
  /** 0: it still runs. */
  readonly finishedAt: number;
}

/** A line that is repeated for long is kept this often, as a log that is rotated keeps its end. */
const maxRepeated = 10_000;

/** The lines that a program has printed by now, after `sinceMs`, in order. No line is held in memory in between. */
export function printedLines(
  entries: readonly LogEntry[],
  { startedAt, finishedAt }: Lifetime,
  { fromMs = Number.NEGATIVE_INFINITY, nowMs }: { readonly fromMs?: number; readonly nowMs: number },
): readonly PrintedLine[] {
  const end = finishedAt > 0 ? Math.min(finishedAt, nowMs) : nowMs;
  const lines = entries.flatMap(({ text, afterMs = 0, everyMs, stream = "stdout" }) => {
    const first = startedAt + afterMs;
    if (first > end) return [];
    if (everyMs === undefined) return first < fromMs ? [] : [{ atMs: first, text, stream }];
    const last = Math.floor((end - first) / everyMs);
    const begin = Math.max(0, last - maxRepeated + 1, Math.ceil((fromMs - first) / everyMs));
    return Array.from({ length: Math.max(0, last - begin + 1) }, (_, index) => {
      return { atMs: first + (begin + index) * everyMs, text, stream };
    });
  });
  return lines.toSorted((one, other) => one.atMs - other.atMs);
}

/** When the next line after this time is printed, if any is. */
export function nextLineMs(entries: readonly LogEntry[], startedAt: number, afterMs: number): number | undefined {
  const times = entries.flatMap(({ afterMs: delay = 0, everyMs }) => {
    const first = startedAt + delay;
    if (first > afterMs) return [first];
    return everyMs === undefined ? [] : [first + (Math.floor((afterMs - first) / everyMs) + 1) * everyMs];
  });
  return times.length === 0 ? undefined : Math.min(...times);
}

export interface SimulatedLog {
  readonly entries: readonly LogEntry[];
  readonly clock: Clock;
  lifetime(): Lifetime;
}

/** Reads a log as `readLog` reads a file. */
export async function* readSimulatedLog(log: SimulatedLog, options: LogOptions): AsyncGenerator<Buffer, void> {
  const { entries, clock } = log;
  const { tailLines, limitBytes = Number.POSITIVE_INFINITY, followUntil, signal } = options;
  let left = limitBytes;
  let readMs = clock.now();
  const printed = printedLines(entries, log.lifetime(), { nowMs: readMs });
  let lines = tailLines === undefined ? printed : printed.slice(Math.max(0, printed.length - tailLines));
  for (;;) {
    const text = Buffer.from(renderLines(lines, options));
    if (text.length > 0) yield text.subarray(0, left);
    left -= text.length;
    const { startedAt, finishedAt } = log.lifetime();
    const isOver = finishedAt > 0 && finishedAt <= readMs;
    if (left <= 0 || !followUntil || followUntil.aborted || isOver) return;
    await lineOrEnd(clock, nextLineMs(entries, startedAt, readMs), [followUntil, signal]);
    signal?.throwIfAborted();
    const fromMs = readMs + 1;
    readMs = clock.now();
    lines = printedLines(entries, log.lifetime(), { fromMs, nowMs: readMs });
  }
}

function renderLines(lines: readonly PrintedLine[], { stream, sinceMs, timestamps }: LogOptions): string {
  let text = "";
  for (const line of lines) {
    if ((stream && line.stream !== stream) || (sinceMs !== undefined && line.atMs < sinceMs)) continue;
    text += `${timestamps ? `${new Date(line.atMs).toISOString()} ` : ""}${line.text}\n`;
  }
  return text;
}

/** Waits until the next line is due, or until one of the signals fires. */
function lineOrEnd(clock: Clock, atMs: number | undefined, signals: readonly (AbortSignal | undefined)[]) {
  return new Promise<void>((resolve) => {
    const done = (): void => {
      cancel();
      for (const one of signals) one?.removeEventListener("abort", done);
      resolve();
    };
    const cancel = atMs === undefined ? () => {} : clock.after(Math.max(0, atMs - clock.now()), done);
    for (const one of signals) one?.addEventListener("abort", done, { once: true });
    if (signals.some((one) => one?.aborted)) done();
  });
}
