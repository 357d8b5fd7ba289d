import { writeSync } from "node:fs";

/** Messages are constant and in lower case; the facts go into fields. */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** A log that adds these fields to every line. */
  with(fields: LogFields): Log;
}
export type LogFields = Readonly<Record<string, unknown>>;

const levels = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof levels)[number];

/** Whether a log with the level `least` writes lines of this level. */
export const isWritten = (level: LogLevel, least: LogLevel): boolean => levels.indexOf(level) >= levels.indexOf(least);

/**
 * One JSON object per line, of bounded length whatever the fields are, and without characters that control a terminal.
 */
export function jsonLog(write: (line: string) => void, level: LogLevel = "info", base: LogFields = {}): Log {
  const at =
    (lineLevel: LogLevel) =>
    (message: string, fields: LogFields = {}): void => {
      if (!isWritten(lineLevel, level)) return;
      const line = { time: new Date().toISOString(), level: lineLevel, message, ...base, ...fields };
      write(`${escapeControls(JSON.stringify(bounded(line, { left: maxLineLength }, 0)))}\n`);
    };
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    with: (fields) => jsonLog(write, level, { ...base, ...fields }),
  };
}

/**
 * Writes to standard error. A line that cannot be written, for example on a full disk, is lost: logging must not end
 * the process.
 */
export function writeStandardError(line: string): void {
  try {
    writeSync(2, line);
  } catch {
    return; // There is nowhere left to report it.
  }
}

export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {}, with: () => silentLog };

/** Limits for the fields of one line: their length, items and depth. */
const maxLineLength = 16_384;
const maxTextLength = 4_096;
const maxItems = 100;
const maxDepth = 6;

/** A copy that is small enough to write. Errors have no enumerable fields, so their message is taken. */
function bounded(value: unknown, budget: { left: number }, depth: number): unknown {
  budget.left -= 8;
  if (typeof value === "string") return boundedText(value, budget);
  if (typeof value === "bigint") return boundedText(String(value), budget);
  if (typeof value === "symbol" || typeof value === "function") return typeof value;
  if (typeof value !== "object" || value === null) return value;
  if (budget.left <= 0 || depth >= maxDepth) return "…";
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "invalid date" : value.toISOString();
  if (ArrayBuffer.isView(value)) return `${value.byteLength} bytes`;
  if (value instanceof Error) {
    const { name, message, stack, cause } = value;
    return bounded({ name, message, stack, ...(cause === undefined ? {} : { cause }) }, budget, depth);
  }
  if (Array.isArray(value)) {
    const items = value.slice(0, maxItems).map((item) => bounded(item, budget, depth + 1));
    return value.length > maxItems ? [...items, `… of ${value.length}`] : items;
  }
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(value).slice(0, maxItems)) {
    copy[boundedText(key, budget)] = bounded((value as Readonly<Record<string, unknown>>)[key], budget, depth + 1);
  }
  return copy;
}

function boundedText(text: string, budget: { left: number }): string {
  const room = Math.max(0, Math.min(maxTextLength, budget.left));
  budget.left -= Math.min(text.length, room);
  return text.length > room ? `${text.slice(0, room)}… of ${text.length} characters` : text;
}

/**
 * JSON escapes only the old control characters. These are the newer ones, and those that change the direction of text.
 */
const controls = /[\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;
const escapeControls = (text: string): string =>
  text.replace(controls, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
