import type { Document, DocumentOptions, ParseOptions, ScalarTag, SchemaOptions, Tags, YAMLMap } from "yaml";
import { messageOf } from "../text/message-of.ts";
import { type YamlAnswer, YamlPool } from "./yaml-pool.ts";

/** Text that is not YAML, or YAML that JSON cannot express. */
export class YamlError extends Error {
  override readonly name = "YamlError";
}

export interface ParsedYaml {
  /** Plain JSON. */
  readonly value: unknown;
  /** Duplicate keys of a mapping, where the last one won: `line 4: key "a" already set in map`. */
  readonly duplicates: string[];
}

/** How often aliases may repeat parts of one text. */
const maxAliases = 100;

/** Longer texts are parsed and written outside the event loop: hostile ones take 5 µs per character. */
const longFrom = 8 << 10;

/**
 * Reads one YAML document as Kubernetes does: `yes` and `on` are true, `0644` is octal, `1:30` and dates are strings,
 * keys become strings. More than one document is refused.
 */
export async function parseYaml(text: string): Promise<ParsedYaml> {
  const yaml = await load();
  const document = guarded(() => yaml.parseDocument(text, readOptions));
  const [error] = document.errors;
  if (error && isTooDeep(error)) throw new YamlError("yaml: exceeded max depth");
  if (error) throw new YamlError(`yaml: line ${lineAt(text, error.pos[0])}: ${firstLine(error.message)}`);
  const value: unknown = guarded(() => document.toJS({ maxAliasCount: maxAliases }));
  return { value: value ?? null, duplicates: guarded(() => duplicatesIn(yaml, document, text)) };
}

/**
 * Like `parseYaml`, but returns JSON in UTF-8, for text from any caller. Long text is parsed in a thread; `owner` is
 * the caller. Throws YamlBusyError if too many are waiting.
 */
export async function yamlToJson(text: string, owner: string): Promise<YamlJson> {
  if (text.length < longFrom) {
    const { value, duplicates } = await parseYaml(text);
    return { bytes: jsonOf(value), duplicates };
  }
  const answer = await pool.run({ task: "read", text, owner });
  return { bytes: bytesOf(answer), duplicates: answer.duplicates ?? [] };
}

export interface YamlJson {
  readonly bytes: Uint8Array;
  /** See `ParsedYaml`. */
  readonly duplicates: readonly string[];
}

/** Throws if an anchor contains itself, because JSON cannot express that. */
export const jsonOf = (value: unknown): Uint8Array => Buffer.from(guarded(() => JSON.stringify(value)));

/** Keys in order of their names, lists not indented, and every string quoted that an old parser could misread. */
export async function formatYaml(value: unknown, owner = ""): Promise<string> {
  const text = JSON.stringify(value) ?? "null";
  if (text.length < longFrom) return await formatYamlHere(value);
  return Buffer.from(bytesOf(await pool.run({ task: "write", text, owner }))).toString();
}

const pool = new YamlPool();

function bytesOf({ bytes, fault }: YamlAnswer): Uint8Array {
  if (!bytes) throw new YamlError(fault ?? "yaml: unreadable");
  return bytes;
}

/** Like `formatYaml`, but always in this thread. */
export async function formatYamlHere(value: unknown): Promise<string> {
  const yaml = await load();
  return yaml.stringify(value, {
    ...writeOptions,
    sortMapEntries: true,
    indentSeq: false,
    lineWidth: 0,
    aliasDuplicateObjects: false,
  });
}

const load = () => import("yaml");
const firstLine = (message: string): string => message.replace(/ at line [0-9]+.*$/s, "").split("\n", 1)[0] ?? "";

/** The parser recurses, so text that is nested too deeply overflows the stack. That must be an error of the text. */
function guarded<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (error instanceof YamlError) throw error;
    if (isTooDeep(error)) throw new YamlError("yaml: exceeded max depth", { cause: error });
    throw new YamlError(`yaml: ${messageOf(error)}`, { cause: error });
  }
}

/** The stack overflow may also arrive as one of the parser's own errors, which only has its message. */
const isTooDeep = (error: unknown): boolean =>
  error instanceof RangeError || (error instanceof Error && error.message.startsWith("Maximum call stack size"));

/** A plain scalar that reads as something other than a string. */
const scalar = (tag: string, test: RegExp, resolve: (text: string) => unknown): ScalarTag => ({
  tag: `tag:yaml.org,2002:${tag}`,
  default: true,
  test,
  resolve,
});

const scalars: Tags = [
  scalar("null", /^(?:~|[Nn]ull|NULL)?$/, () => null),
  scalar("bool", /^(?:[Yy]|[Yy]es|YES|[Tt]rue|TRUE|[Oo]n|ON)$/, () => true),
  scalar("bool", /^(?:[Nn]|[Nn]o|NO|[Ff]alse|FALSE|[Oo]ff|OFF)$/, () => false),
  scalar("int", /^[-+]?(?:0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO]?[0-7_]+|[1-9][0-9_]*|0)$/, integer),
  scalar("float", /^[-+]?(?:\.[0-9]+|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?$/, float),
  scalar("float", /^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/, (text) => {
    throw new YamlError(`json: unsupported value: ${text}`);
  }),
];

function integer(text: string): number {
  const digits = text.replaceAll("_", "").replace(/^[-+]/, "");
  const size = /^0[0-7]+$/.test(digits) ? Number.parseInt(digits, 8) : Number(digits);
  return text.startsWith("-") ? -size : size;
}

function float(text: string): number {
  return Number(text.replaceAll("_", ""));
}

const readOptions: ParseOptions & DocumentOptions & SchemaOptions = {
  schema: "failsafe",
  customTags: scalars,
  merge: true,
  uniqueKeys: false,
  logLevel: "error",
  stringKeys: false,
  // Pretty errors each quote their line: a long line with many errors would take hours.
  prettyErrors: false,
};
const writeOptions: DocumentOptions & SchemaOptions = { schema: "core", compat: "yaml-1.1" };

const lineAt = (text: string, offset: number): number => {
  let line = 1;
  for (let at = text.indexOf("\n"); at >= 0 && at < offset; at = text.indexOf("\n", at + 1)) line++;
  return line;
};

/** More would not be read anyway. */
const maxDuplicates = 100;

function duplicatesIn(yaml: typeof import("yaml"), document: Document.Parsed, text: string): string[] {
  const found: string[] = [];
  const lookAt = (node: YAMLMap): void => {
    const seen = new Set<string>();
    for (const { key } of node.items) {
      const name = yaml.isScalar(key) ? String(key.value) : String(key);
      if (seen.has(name) && yaml.isNode(key) && found.length < maxDuplicates) {
        found.push(`line ${lineAt(text, key.range?.[0] ?? 0)}: key ${JSON.stringify(name)} already set in map`);
      }
      seen.add(name);
    }
  };
  yaml.visit(document, { Map: (_key, node) => lookAt(node) });
  return found;
}
