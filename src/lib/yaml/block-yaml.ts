import { compareText } from "../data/compare-text.ts";

/**
 * Writes JSON as YAML, one member or element a line, keys in order, all texts quoted. Unlike `formatYaml` it needs no
 * library and does not wait, for data that is nested at most as deep as a request may be.
 */
export function blockYaml(value: unknown): string {
  const json: unknown = JSON.parse(JSON.stringify(value) ?? "null");
  return `${linesOf(json).join("\n")}\n`;
}

function linesOf(value: unknown): readonly string[] {
  if (isEmptyOrScalar(value)) return [JSON.stringify(value)];
  if (Array.isArray(value)) return value.flatMap(elementOf);
  const entries = Object.entries(value as object).toSorted(([a], [b]) => compareText(a, b));
  return entries.flatMap(([key, one]) => memberOf(JSON.stringify(key), one));
}

const isEmptyOrScalar = (value: unknown): boolean =>
  typeof value !== "object" || value === null || Object.keys(value).length === 0;

/** Its first line follows the dash. */
function elementOf(value: unknown): readonly string[] {
  const [first = "", ...rest] = linesOf(value);
  return [`- ${first}`, ...rest.map((line) => `  ${line}`)];
}

const memberOf = (key: string, value: unknown): readonly string[] =>
  isEmptyOrScalar(value)
    ? [`${key}: ${JSON.stringify(value)}`]
    : [`${key}:`, ...linesOf(value).map((line) => `  ${line}`)];
