import { type ParseArgsConfig, parseArgs } from "node:util";
import { type DualRange, parseCidr6, parseDualRange } from "#lib/net/dual-range.ts";
import { parseCidr, parseIPv4 } from "#lib/net/ip.ts";
import { closest } from "#lib/text/closest.ts";
import { parseDuration } from "#schema/duration.ts";

/** One verb of the command line. It is imported only when it is used. */
export interface Command {
  readonly summary: string;
  /** Its positional arguments, as `--help` shows them: `KIND/NAME`. */
  readonly takes?: string;
  load(): Promise<{ readonly flags: Flags; run(args: readonly string[]): Promise<number> }>;
}

/** A flag as `parseArgs` takes it, and as `--help` shows it: `--port N`. */
export type Flag = NonNullable<ParseArgsConfig["options"]>[string] & { readonly help: string; readonly value?: string };
export type Flags = Readonly<Record<string, Flag>>;

/** Wrong usage, or a state of the machine that the user can fix. The message is shown without a stack. */
export class UserError extends Error {
  override readonly name = "UserError";
  /** What the program ends with. */
  readonly exitCode: number = 1;
}

/** The user pressed Ctrl-C. Shells stop their scripts for this exit code. */
export class Interruption extends UserError {
  override readonly exitCode = 130;
}

/** Parses the flags of one command. An unknown flag is the user's mistake. */
export function parseFlags<const O extends NonNullable<ParseArgsConfig["options"]>>(
  args: readonly string[],
  options: O,
) {
  try {
    return parseArgs({
      args: args.map((arg, index) => withValue(arg, args[index + 1], options)),
      options,
      allowPositionals: true,
      strict: true,
    });
  } catch (error) {
    // Node appends advice on positional arguments, which does not apply here.
    const message =
      error instanceof Error ? error.message.replace(/\. To specify a positional.*$/s, "") : String(error);
    throw new UserError(ambiguous(message) ?? withSuggestion(message, Object.keys(options)));
  }
}

/** Node's message has three lines, and does not say that a negative number is meant by it. */
function ambiguous(message: string): string | undefined {
  const flag = /^Option '(?:-\w, )?--([\w-]+).*' argument is ambiguous/.exec(message)?.[1];
  return flag && `--${flag} needs a value; one that starts with "-" is written --${flag}=VALUE`;
}

/** Names the flag that was probably meant instead of an unknown one. */
function withSuggestion(message: string, flags: readonly string[]): string {
  const unknown = /^Unknown option '--?([^']*)'/.exec(message)?.[1];
  const meant = unknown === undefined ? undefined : closest(unknown, flags);
  return meant === undefined ? message : `${message}: did you mean --${meant}?`;
}

/** `--flag` alone means true for a flag that takes true or false. */
function withValue(arg: string, next: string | undefined, options: NonNullable<ParseArgsConfig["options"]>): string {
  const flag = options[arg.slice(2)] as Flag | undefined;
  const isAlone = next === undefined || next.startsWith("-");
  return arg.startsWith("--") && flag?.value === "BOOL" && isAlone ? `${arg}=true` : arg;
}

/** undefined if the flag is not given. */
export function trueOrFalse(text: string | undefined, flag: string): boolean | undefined {
  if (text === undefined || text === "true" || text === "false")
    return text === undefined ? undefined : text === "true";
  throw new UserError(`--${flag} must be true or false, not ${JSON.stringify(text)}`);
}

/** The parts of a list that is separated by commas. */
export const listOf = (text: string): string[] =>
  text
    .split(",")
    .map((part) => part.trim())
    .filter(Boolean);

export function wholeNumber(text: string, flag: string, { min, max }: { min: number; max: number }): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= min && value <= max) return value;
  throw new UserError(`--${flag} must be a whole number from ${min} to ${max}, not ${JSON.stringify(text)}`);
}

/** How long events are kept, for the commands that start a server. */
export const eventFlags = {
  "event-ttl": { type: "string", value: "DURATION", default: "1h", help: "how long events are kept" },
} as const;

/** Seconds of a duration such as `90s` or `1h30m`. */
export function durationSeconds(text: string, flag: string): number {
  const seconds = Math.floor(Number(nanosOf(text)) / 1e9);
  if (seconds >= 1) return seconds;
  throw new UserError(`--${flag} must be a duration of at least 1s, such as 5m or 1h, not ${JSON.stringify(text)}`);
}

/** The same in milliseconds; 0 is allowed. */
export function durationMilliseconds(text: string, flag: string): number {
  const isZero = /^0(ns|us|µs|ms|s|m|h)?$/.test(text);
  const ms = Number(nanosOf(text)) / 1e6;
  if (isZero || ms > 0) return ms;
  throw new UserError(`--${flag} must be a duration such as 30s or 5m, not ${JSON.stringify(text)}`);
}

function nanosOf(text: string): bigint {
  try {
    return parseDuration(text);
  } catch {
    return 0n;
  }
}

/** A range of addresses: `10.96.0.0/16`. */
export function addressRange(text: string, flag: string, { maxBits }: { maxBits: number }): string {
  try {
    if (parseCidr(text).bits <= maxBits) return text;
  } catch {
    throw new UserError(`--${flag} must be a range of IPv4 addresses such as 10.0.0.0/16, not ${JSON.stringify(text)}`);
  }
  throw new UserError(`--${flag} must be a larger range: ${text} is smaller than a /${maxBits}`);
}

/** A range of IPv4, and one of IPv6 after a comma if the cluster has both families. */
export function dualRange(
  text: string,
  flag: string,
  { maxBits, minBits6, maxBits6 }: { maxBits: number; minBits6: number; maxBits6: number },
): DualRange {
  const [ipv4 = "", ...rest] = text.split(",");
  addressRange(ipv4.trim(), flag, { maxBits });
  try {
    const ranges = parseDualRange(text);
    const bits = ranges.ipv6 === undefined ? maxBits6 : parseCidr6(ranges.ipv6).bits;
    if (bits >= minBits6 && bits <= maxBits6) return ranges;
  } catch {
    const example = "10.0.0.0/16,fd00:10::/56";
    throw new UserError(
      `--${flag} may have one IPv6 range after the IPv4 one, as in ${example}, not ${JSON.stringify(text)}`,
    );
  }
  throw new UserError(
    `--${flag} must have an IPv6 range from /${minBits6} to /${maxBits6}, not ${rest.join(",").trim()}`,
  );
}

/** The address of a node, if it is given. */
export function checkNodeIp(text: string | undefined): void {
  if (text === undefined || parseIPv4(text) !== undefined) return;
  throw new UserError(`--node-ip must be an IPv4 address of this machine, not ${JSON.stringify(text)}`);
}

/** For commands that take only flags. `usage` names the flags that the user probably meant. */
export function refuseArguments(command: string, positionals: readonly string[], usage: string): void {
  if (positionals.length === 0) return;
  throw new UserError(`${command} takes flags only, not ${JSON.stringify(positionals[0])}: write ${usage}`);
}

/** For commands that take the name of one file. */
export function oneFile(command: string, positionals: readonly string[]): string {
  const [file, ...more] = positionals;
  if (file && more.length === 0) return file;
  throw new UserError(`name one file: orlop ${command} FILE`);
}
