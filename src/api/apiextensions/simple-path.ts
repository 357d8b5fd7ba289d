import { type JsonSchema } from "#schema/json-schema.ts";

/** One step of a path: a field, or a key of a map, which is written in brackets. */
export interface PathStep {
  readonly name: string;
  readonly isKey: boolean;
}
export type FoundPath =
  | { readonly steps: readonly PathStep[]; readonly schema: JsonSchema }
  | { readonly fault: string };

/** Longer paths would only cost time. */
const maxPathChars = 4096;

/** Follows a path such as `.spec.color` or `.spec['some key']` through a schema. */
export function findPath(
  schema: JsonSchema,
  path: string,
  options: { brackets: boolean } = { brackets: true },
): FoundPath {
  if (path.length > maxPathChars) return { fault: `longer than ${maxPathChars} characters` };
  const steps: PathStep[] = [];
  let at = schema;
  for (let rest = path; rest !== ""; ) {
    const read = readStep(rest, options.brackets);
    if ("fault" in read) return read;
    rest = read.rest;
    const isKey = at.properties === undefined;
    const next = memberIn(at, read.name);
    if (!next) return { fault: "does not refer to a valid field" };
    steps.push({ name: read.name, isKey });
    at = next;
  }
  return { steps, schema: at };
}

function memberIn({ properties, additionalProperties }: JsonSchema, name: string): JsonSchema | undefined {
  if (properties) return Object.hasOwn(properties, name) ? properties[name] : undefined;
  return typeof additionalProperties === "object" ? additionalProperties : undefined;
}

type Step = { readonly name: string; readonly rest: string } | { readonly fault: string };

function readStep(text: string, brackets: boolean): Step {
  if (text.startsWith(".")) return readName(text.slice(1));
  if (text.startsWith("[")) return brackets ? readQuoted(text.slice(1)) : { fault: "array notation is not allowed" };
  return { fault: `expected [ or . but got: ${/^[^.[\]]*/.exec(text)?.[0] || text[0]}` };
}

function readName(text: string): Step {
  const name = /^(?:[.[\]]|[^.[\]]+)/.exec(text)?.[0];
  return name === undefined ? { fault: "unexpected end of JSON path" } : { name, rest: text.slice(name.length) };
}

/** `'some key']`; a quote within the key is escaped. */
function readQuoted(text: string): Step {
  if (text === "") return { fault: "unexpected end of JSON path" };
  const quoted = /^'((?:[^'\\]|\\.)*)'/s.exec(text);
  if (!quoted) return { fault: `expected single quoted string but got ${/^[^.[\]]*/.exec(text)?.[0] || text[0]}` };
  const rest = text.slice(quoted[0].length);
  if (rest === "") return { fault: "unexpected end of JSON path" };
  if (!rest.startsWith("]")) return { fault: `expected ] but got ${/^[^.[\]]*/.exec(rest)?.[0] || rest[0]}` };
  return { name: (quoted[1] ?? "").replace(/\\(['\\])/g, "$1"), rest: rest.slice(1) };
}
