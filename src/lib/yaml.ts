import type { Document, DocumentOptions, ParseOptions, ScalarTag, SchemaOptions, Tags, YAMLMap } from "yaml";

/** A text that is not YAML, or YAML that JSON cannot say. */
export class YamlError extends Error {
  override readonly name = "YamlError";
}

export interface ParsedYaml {
  /** Plain JSON. */
  readonly value: unknown;
  /** Keys that stand twice in one mapping, the last of which won: `line 4: key "a" already set in map`. */
  readonly duplicates: string[];
}

/** How often one text may repeat parts of itself through aliases. */
const maxAliases = 100;

/**
 * Reads one YAML document as Kubernetes does: `yes` and `on` are true, `0644` is octal, `1:30` and dates are strings,
 * keys become strings. More than one document is refused.
 */
export async function parseYaml(text: string): Promise<ParsedYaml> {
  const yaml = await load();
  const document = guarded(() => yaml.parseDocument(text, readOptions));
  const [error] = document.errors;
  if (error) throw new YamlError(`yaml: line ${error.linePos?.[0].line ?? 1}: ${firstLine(error.message)}`);
  const value: unknown = guarded(() => document.toJS({ maxAliasCount: maxAliases }));
  return { value: value ?? null, duplicates: guarded(() => duplicatesIn(yaml, document, text)) };
}

/** Keys in order of their names, lists not indented, and no string that an old reader could take for something else. */
export async function formatYaml(value: unknown): Promise<string> {
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

/** The parser recurses: a text that nests too deep ends its stack, not ours. */
function guarded<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (error instanceof YamlError) throw error;
    if (error instanceof RangeError) throw new YamlError("yaml: exceeded max depth", { cause: error });
    throw new YamlError(`yaml: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

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
};
const writeOptions: DocumentOptions & SchemaOptions = { schema: "core", compat: "yaml-1.1" };

function duplicatesIn(yaml: typeof import("yaml"), document: Document.Parsed, text: string): string[] {
  const found: string[] = [];
  const lineAt = (offset: number): number => text.slice(0, offset).split("\n").length;
  const lookAt = (node: YAMLMap): void => {
    const seen = new Set<string>();
    for (const { key } of node.items) {
      const name = yaml.isScalar(key) ? String(key.value) : String(key);
      if (seen.has(name) && yaml.isNode(key)) {
        found.push(`line ${lineAt(key.range?.[0] ?? 0)}: key ${JSON.stringify(name)} already set in map`);
      }
      seen.add(name);
    }
  };
  yaml.visit(document, { Map: (_key, node) => lookAt(node) });
  return found;
}
