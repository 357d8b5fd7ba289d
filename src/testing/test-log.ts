import { jsonLog, type Log, silentLog, writeStandardError } from "#lib/process/log.ts";

const levels = ["debug", "info", "warn", "error"] as const;

/** The log of a test: silent, unless the environment names a level, as in `LOG=warn`. */
export function testLog(): Log {
  const level = levels.find((one) => one === process.env.LOG);
  return level ? jsonLog(writeStandardError, level) : silentLog;
}
