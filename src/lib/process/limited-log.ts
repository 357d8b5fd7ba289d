import { type Clock } from "#lib/async/clock.ts";
import { isWritten, jsonLog, type Log, type LogFields, type LogLevel } from "./log.ts";

export interface LogLimits {
  /** Lines with the same message, and lines in total, within each period. */
  readonly same: number;
  readonly all: number;
  readonly whileMs: number;
}

export interface LimitedLogOptions {
  readonly clock: Clock;
  /** Lines below this level are dropped, and do not count. */
  readonly level: LogLevel;
  readonly limits?: LogLimits;
}

const defaultLimits: LogLimits = { same: 100, all: 2_000, whileMs: 10_000 };

/**
 * A `jsonLog` that limits how often it writes the same message, and says how many lines it left out: a flood would push
 * everything else out of the files that are kept. Logs made by `with` share the limits.
 */
export function limitedLog(
  write: (line: string) => void,
  { clock, level, limits = defaultLimits }: LimitedLogOptions,
): Log {
  const log = jsonLog(write, level);
  return wrapped(log, new Counts(log, clock, limits), level);
}

function wrapped(log: Log, counts: Counts, least: LogLevel): Log {
  const at =
    (level: LogLevel) =>
    (message: string, fields?: LogFields): void => {
      if (isWritten(level, least) && counts.allows(`${level} ${message}`)) log[level](message, fields);
    };
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    with: (fields) => wrapped(log.with(fields), counts, least),
  };
}

class Counts {
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #limits: LogLimits;
  /** Lines of this period by level and message. Messages are constants, so there are few. */
  readonly #written = new Map<string, number>();
  readonly #leftOut = new Map<string, number>();
  #all = 0;
  #isCounting = false;

  constructor(log: Log, clock: Clock, limits: LogLimits) {
    this.#log = log;
    this.#clock = clock;
    this.#limits = limits;
  }

  allows(key: string): boolean {
    if (!this.#isCounting) {
      this.#isCounting = true;
      this.#clock.after(this.#limits.whileMs, () => this.#startOver());
    }
    const written = this.#written.get(key) ?? 0;
    if (written >= this.#limits.same || this.#all >= this.#limits.all) {
      this.#leftOut.set(key, (this.#leftOut.get(key) ?? 0) + 1);
      return false;
    }
    this.#written.set(key, written + 1);
    this.#all++;
    return true;
  }

  #startOver(): void {
    const leftOut = [...this.#leftOut];
    this.#written.clear();
    this.#leftOut.clear();
    this.#all = 0;
    this.#isCounting = false;
    for (const [line, lines] of leftOut) this.#log.warn("lines were left out", { line, lines });
  }
}
