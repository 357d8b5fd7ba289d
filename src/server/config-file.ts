import { readFile } from "node:fs/promises";
import { messageOf } from "#lib/text/message-of.ts";
import { parseYaml } from "#lib/text/yaml.ts";
import { type FieldError } from "#schema/field-error.ts";
import { decode } from "#schema/json/decode.ts";
import { type ObjectSchema } from "#schema/schema.ts";

/** A configuration file that the server cannot start with. The message names the file, the field and the remedy. */
export class ConfigFileError extends Error {
  override readonly name = "ConfigFileError";
}

/** What a configuration file contains, and the flag that names it. */
export interface ConfigKind<T> {
  readonly flag: string;
  readonly kind: string;
  /** The versions in which it is read; they have the same fields. */
  readonly apiVersions: readonly string[];
  readonly schema: ObjectSchema<T>;
  /** What the schema does not say. */
  validate(config: T): readonly FieldError[];
}

/** Longer files are a mistake. */
const maxFileBytes = 4 << 20;

export async function readConfigFile<T>(path: string, kind: ConfigKind<T>): Promise<T> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (cause) {
    const remedy = `check ${kind.flag} and that this user may read it`;
    throw new ConfigFileError(`cannot read ${path} (${messageOf(cause)}): ${remedy}`, { cause });
  }
  return await parseConfigFile(text, path, kind);
}

/** YAML or JSON, decoded strictly: a misspelled field would otherwise be a rule that is silently missing. */
export async function parseConfigFile<T>(text: string, path: string, kind: ConfigKind<T>): Promise<T> {
  const refuse = (why: string): ConfigFileError =>
    new ConfigFileError(`${path}: ${why}: correct the file that ${kind.flag} names`);
  if (text.length > maxFileBytes) throw refuse(`it is longer than ${maxFileBytes} characters`);
  const { value, unknown } = await decoded(text, kind).catch((error: unknown) => {
    throw refuse(messageOf(error));
  });
  if (unknown[0] !== undefined) throw refuse(`unknown field ${JSON.stringify(unknown[0])}`);
  const [fault] = kind.validate(value);
  if (fault) throw refuse(`${fault.path}: ${fault.message}`);
  return value;
}

async function decoded<T>(text: string, { kind, apiVersions, schema }: ConfigKind<T>) {
  const { value: raw, duplicates } = await parseYaml(text);
  if (duplicates[0] !== undefined) throw new Error(duplicates[0]);
  const found = raw as { readonly kind?: unknown; readonly apiVersion?: unknown } | null;
  if (typeof found !== "object" || found === null || found.kind !== kind) {
    throw new Error(`kind must be ${kind}, not ${JSON.stringify(found?.kind ?? null)}`);
  }
  if (!apiVersions.includes(String(found.apiVersion))) {
    throw new Error(`apiVersion must be ${apiVersions.join(" or ")}, not ${JSON.stringify(found.apiVersion ?? null)}`);
  }
  return decode(schema, raw, { defaults: true });
}
