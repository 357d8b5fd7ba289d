import { writeSync } from "node:fs";

/** Constant message in lower case, facts in fields. */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** A log whose every line has these fields too. */
  with(fields: LogFields): Log;
}
export type LogFields = Readonly<Record<string, unknown>>;

const levels = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof levels)[number];

/** One JSON object a line. */
export function jsonLog(write: (line: string) => void, level: LogLevel = "info", base: LogFields = {}): Log {
  const at =
    (lineLevel: LogLevel) =>
    (message: string, fields: LogFields = {}): void => {
      if (levels.indexOf(lineLevel) < levels.indexOf(level)) return;
      write(
        `${JSON.stringify({ time: new Date().toISOString(), level: lineLevel, message, ...base, ...fields }, plain)}\n`,
      );
    };
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    with: (fields) => jsonLog(write, level, { ...base, ...fields }),
  };
}

/** To standard error. A line that cannot be written, as on a full disk, is lost: it must not end what it tells about. */
export function writeStandardError(line: string): void {
  try {
    writeSync(2, line);
  } catch {
    return; // There is nowhere left to say it.
  }
}

export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {}, with: () => silentLog };

/** Errors have no enumerable fields: say what they say. */
function plain(_key: string, value: unknown): unknown {
  if (!(value instanceof Error)) return value;
  return { name: value.name, message: value.message, stack: value.stack, cause: value.cause };
}
