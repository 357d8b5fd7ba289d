import { readFile } from "node:fs/promises";
import { type Cursor, faultsIn } from "#api/cursor.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { parseYaml } from "#lib/yaml/yaml.ts";
import { check } from "#schema/check.ts";
import { type FieldError } from "#schema/field-error.ts";
import { decode } from "#schema/json/decode.ts";
import { type ObjectSchema } from "#schema/schema.ts";

/** A kind of configuration file that the server reads: YAML or JSON, with upstream's names. */
export interface ConfigKind<T> {
  readonly kind: string;
  /** `group/version` of every version that can be read. */
  readonly apiVersions: readonly string[];
  readonly schema: ObjectSchema<T>;
  validate?(at: Cursor<T>): void;
  /** The same for rules that are about several fields, or that load more code. */
  faults?(value: T): readonly FieldError[] | Promise<readonly FieldError[]>;
}

/** A configuration file cannot be used. One line that names the file, the field, and what is wrong with it. */
export class ConfigFileError extends Error {
  override readonly name = "ConfigFileError";
}

const maxChars = 4 * 1024 * 1024;
/** Nobody corrects more at a time. */
const maxShown = 5;

/** The text of a file that a flag names. */
export async function readConfigFile(path: string, flag: string): Promise<string> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (cause) {
    const advice = `check --${flag} and that this user may read the file`;
    throw new ConfigFileError(`cannot read ${path} (${messageOf(cause)}): ${advice}`, { cause });
  }
  if (text.length > maxChars) throw new ConfigFileError(`${path} is longer than ${maxChars} characters`);
  return text;
}

/** The text as a value of this kind, with its defaults. Fails with a ConfigFileError. */
export async function parseConfig<T extends object>(kind: ConfigKind<T>, text: string, path: string): Promise<T> {
  const raw = await parsed(text, path);
  checkType(kind, raw, path);
  const { value, unknown } = decoded(kind, raw, path);
  const inFields = faultsIn(value, (at) => kind.validate?.(at), check(kind.schema, value));
  const faults = [...inFields, ...((await kind.faults?.(value)) ?? [])];
  refuseIfAny(path, [
    ...unknown.map((field) => `${field}: there is no such field in ${kind.kind}`),
    ...faults.map(({ path: field, message }) => `${field}: ${message}`),
  ]);
  return value;
}

async function parsed(text: string, path: string): Promise<unknown> {
  try {
    const { value, duplicates } = await parseYaml(text);
    refuseIfAny(path, duplicates);
    return value;
  } catch (cause) {
    if (cause instanceof ConfigFileError) throw cause;
    throw new ConfigFileError(`${path}: is neither YAML nor JSON: ${messageOf(cause)}`, { cause });
  }
}

function checkType({ kind, apiVersions }: ConfigKind<unknown>, raw: unknown, path: string): void {
  const { kind: foundKind, apiVersion } = typeof raw === "object" && raw !== null ? (raw as Typed) : ({} as Typed);
  if (foundKind !== kind) throw new ConfigFileError(`${path}: kind: must be ${kind}, not ${shown(foundKind)}`);
  if (typeof apiVersion === "string" && apiVersions.includes(apiVersion)) return;
  throw new ConfigFileError(`${path}: apiVersion: must be ${apiVersions.join(" or ")}, not ${shown(apiVersion)}`);
}
interface Typed {
  readonly kind?: unknown;
  readonly apiVersion?: unknown;
}

function decoded<T extends object>({ schema }: ConfigKind<T>, raw: unknown, path: string) {
  try {
    return decode(schema, raw, { defaults: true });
  } catch (cause) {
    throw new ConfigFileError(`${path}: ${messageOf(cause)}`, { cause });
  }
}

function refuseIfAny(path: string, faults: readonly string[]): void {
  if (faults.length === 0) return;
  const more = faults.length > maxShown ? `; and ${faults.length - maxShown} more` : "";
  // Compilers of expressions show the place in lines of their own.
  const lines = faults.slice(0, maxShown).map((fault) => fault.split("\n").join(""));
  throw new ConfigFileError(`${path}: ${lines.join("; ")}${more}`);
}

const shown = (value: unknown): string => (value === undefined ? "absent" : JSON.stringify(value).slice(0, 100));
