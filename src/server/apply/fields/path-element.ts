import { BoundedCache } from "#lib/data/bounded-cache.ts";
import { compareText } from "#lib/data/compare-text.ts";

/**
 * A step of a path, in the text form of FieldsV1, which is also how field sets hold it:
 *
 *   f:name               a field of an object, or an entry of a map
 *   k:{"name":"web"}     the item of a list that has these keys
 *   v:"text"             the item of a set with this value
 *   i:3                  an item by its index
 */
export type PathElement = string;

export const fieldElement = (name: string): PathElement => `f:${name}`;
export const valueElement = (value: unknown): PathElement => `v:${encode(value)}`;
/** `keys` must be sorted by name. */
export function keyElement(keys: readonly (readonly [name: string, value: unknown])[]): PathElement {
  let text = "";
  for (const [name, value] of keys) text += `${text ? "," : ""}${JSON.stringify(name)}:${encode(value)}`;
  return `k:{${text}}`;
}

/** JSON as Go writes it: characters that could end an HTML script are escaped. */
export function encode(value: unknown): string {
  const text = JSON.stringify(value);
  return unsafe.test(text) ? text.replace(unsafeAll, escape16) : text;
}
const unsafe = /[<>&\u2028\u2029]/;
const unsafeAll = /[<>&\u2028\u2029]/g;
const escape16 = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;

type Parsed =
  | { readonly rank: 0; readonly name: string }
  | { readonly rank: 1; readonly keys: readonly (readonly [string, unknown])[] }
  | { readonly rank: 2; readonly value: unknown }
  | { readonly rank: 3; readonly index: number };

/** Undefined for an element of an unknown kind; throws if it is malformed. */
export function parseElement(element: PathElement): Parsed | undefined {
  if (element.length < 2) throw new Error("key must be 2 characters long:");
  if (element[1] !== ":") throw new Error(`missing colon: ${element}`);
  const text = element.slice(2);
  switch (element[0]) {
    case "f":
      return { rank: 0, name: text };
    case "k": {
      const keys: unknown = JSON.parse(text);
      if (typeof keys !== "object" || keys === null) throw new Error(`not an object: ${text}`);
      return { rank: 1, keys: Object.entries(keys).toSorted(([a], [b]) => compareText(a, b)) };
    }
    case "v":
      return { rank: 2, value: JSON.parse(text) };
    case "i":
      if (!/^[+-]?\d+$/.test(text)) throw new Error(`not a number: ${text}`);
      return { rank: 3, index: Number(text) };
    default:
      return undefined;
  }
}

/** The canonical spelling of an element. */
export function canonicalElement(parsed: Parsed): PathElement {
  if (parsed.rank === 0) return fieldElement(parsed.name);
  if (parsed.rank === 1) return keyElement(parsed.keys);
  return parsed.rank === 2 ? valueElement(parsed.value) : `i:${parsed.index}`;
}

/** The form in messages: `.spec`, `[name="web"]`, `[="text"]`, `[3]`. */
export function showElement(element: PathElement): string {
  const parsed = parsedOf(element);
  if (parsed.rank === 0) return `.${parsed.name}`;
  if (parsed.rank === 1) return `[${parsed.keys.map(([name, value]) => `${name}=${showValue(value)}`).join(",")}]`;
  return parsed.rank === 2 ? `[=${showValue(parsed.value)}]` : `[${parsed.index}]`;
}
function showValue(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(showValue).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  return Object.entries(value)
    .map(([key, item]) => `${key}=${showValue(item)}`)
    .join("");
}

/** Fields before keys before values before indexes; "." before all. Each element is parsed only once. */
export function sortElements(elements: readonly PathElement[]): PathElement[] {
  // The code of "." is less than that of "f", so these are in the order of their text.
  if (elements.every(isFieldOrSelf) || areSortedByText(elements)) return elements.toSorted();
  // A long list would push everything else out of the cache.
  const parse = elements.length > maxCached ? parseKnown : parsedOf;
  const hasSelf = elements.includes(".");
  const items = elements.filter((element) => element !== ".").map((element) => ({ element, parsed: parse(element) }));
  const sorted = items.sort((a, b) => compareParsed(a.parsed, b.parsed)).map(({ element }) => element);
  return hasSelf ? [".", ...sorted] : sorted;
}
const isFieldOrSelf = (element: PathElement): boolean => element === "." || element.charCodeAt(0) === field;
const field = "f".charCodeAt(0);
const maxCached = 64;

/** Whether all are items with the same key, whose plain texts have the order of their values. */
function areSortedByText(elements: readonly PathElement[]): boolean {
  const prefix = plainItem.exec(elements.find((element) => element !== ".") ?? "")?.[1];
  if (prefix === undefined) return false;
  return elements.every((element) => element === "." || plainItem.exec(element)?.[1] === prefix);
}
/** Without escapes, and without characters that come before the closing quote. */
const plainItem = /^(k:\{"[^"\\]*":"|v:")[#-[\]-~]*"\}?$/;

function compareParsed(a: Parsed, b: Parsed): number {
  if (a.rank === 0 && b.rank === 0) return compareText(a.name, b.name);
  if (a.rank === 1 && b.rank === 1) return compareKeys(a.keys, b.keys);
  if (a.rank === 2 && b.rank === 2) return compareValues(a.value, b.value);
  if (a.rank === 3 && b.rank === 3) return a.index - b.index;
  return a.rank - b.rank;
}
function compareKeys(a: readonly (readonly [string, unknown])[], b: typeof a): number {
  for (const [index, [name, value]] of a.entries()) {
    const other = b[index];
    if (!other) return 1;
    const order = compareText(name, other[0]) || compareValues(value, other[1]);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}
const valueRanks = ["number", "string", "boolean", "object"];
function compareValues(a: unknown, b: unknown): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a === "string" && typeof b === "string") return compareText(a, b);
  const ranks = valueRanks.indexOf(typeof a) - valueRanks.indexOf(typeof b);
  return ranks || compareText(JSON.stringify(a), JSON.stringify(b));
}

/** The same few keys are compared repeatedly. */
const known = new BoundedCache<Parsed>({ entries: 4096, chars: 512 * 1024, keyChars: 512 });
function parsedOf(element: PathElement): Parsed {
  let parsed = known.get(element);
  if (parsed) return parsed;
  parsed = parseKnown(element);
  known.set(element, parsed);
  return parsed;
}
const parseKnown = (element: PathElement): Parsed => parseElement(element) ?? { rank: 0, name: element };
