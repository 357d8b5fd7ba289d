/** Unions, keys and filters hold paths, which can only do so a few times. */
const maxDepth = 8;

/**
 * What is wrong with the syntax of a JSONPath template such as `{.spec.items[0].name}`, in the words of Kubernetes'
 * parser; undefined if nothing is. Takes time in proportion to its length.
 */
export function jsonPathFault(template: string, depth = 0): string | undefined {
  if (depth > maxDepth) return "nested too deeply";
  const at: Scan = { text: template, position: 0, depth, isAfterDescent: false };
  try {
    while (enterAction(at)) readAction(at);
    return undefined;
  } catch (error) {
    if (error instanceof PathFault) return error.message;
    throw error;
  }
}

class PathFault extends Error {}

interface Scan {
  readonly text: string;
  readonly depth: number;
  position: number;
  /** Whether the last step was `..`. */
  isAfterDescent: boolean;
}

/** Skips the text before the next `{`. */
function enterAction(at: Scan): boolean {
  const open = at.text.indexOf("{", at.position);
  at.position = open + 1;
  at.isAfterDescent = false;
  return open >= 0;
}

/** Reads up to the `}` that ends the action. */
function readAction(at: Scan): void {
  for (;;) {
    if (take(at, "}")) return;
    if (take(at, "[?(")) readFilter(at);
    else if (take(at, "..")) readDescent(at);
    else readStep(at);
  }
}

function take(at: Scan, text: string): boolean {
  if (!at.text.startsWith(text, at.position)) return false;
  at.position += text.length;
  return true;
}

function readDescent(at: Scan): void {
  if (at.isAfterDescent) throw new PathFault("invalid multiple recursive descent");
  at.isAfterDescent = true;
  if (/^[\p{L}\p{Nd}_]/u.test(at.text.slice(at.position, at.position + 2))) readName(at);
}

function readStep(at: Scan): void {
  const character = String.fromCodePoint(at.text.codePointAt(at.position) ?? 0x0a);
  if (character === "\n" || character === "\r") throw new PathFault("unclosed action");
  if (" @$".includes(character)) at.position++;
  else if (character === "[") readArray(at);
  else if (character === '"' || character === "'") readQuote(at, character);
  else if (take(at, ".")) readName(at);
  else if (/[+\-\p{Nd}]/u.test(character)) readNumber(at);
  else if (/[\p{L}_]/u.test(character)) readName(at);
  else {
    const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
    throw new PathFault(`unrecognized character in action: U+${code} '${character}'`);
  }
}

/** A name ends before a space or a character that begins something else, unless that is escaped. */
function readName(at: Scan): void {
  match(at, /(?:\\[\s\S]|[^\\ \t\r\n.,[\]$@{}])*\\?/y);
  at.isAfterDescent = false;
}

function readNumber(at: Scan): void {
  const number = match(at, /[+-]?[.\p{Nd}]*/uy);
  if (!/^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)$/.test(number)) throw new PathFault(`cannot parse number ${number}`);
  at.isAfterDescent = false;
}

const escaped = "\\\\(?:[abfnrtv\\\\]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]{3}|QUOTE)";
const quoted = {
  '"': new RegExp(`^"(?:[^"\\\\]|${escaped.replace("QUOTE", '"')})*"$`),
  "'": new RegExp(`^'(?:[^'\\\\]|${escaped.replace("QUOTE", "'")})*'$`),
};

function readQuote(at: Scan, quote: '"' | "'"): void {
  const start = at.position;
  let end = start;
  do end = at.text.indexOf(quote, end + 1);
  while (end > 0 && at.text[end - 1] === "\\");
  const text = at.text.slice(start, end + 1);
  if (end < 0 || text.includes("\n")) throw new PathFault("unterminated quoted string");
  if (!quoted[quote].test(text)) throw new PathFault(`unquote string ${text} error invalid syntax`);
  at.position = end + 1;
  at.isAfterDescent = false;
}

function readArray(at: Scan): void {
  const end = at.text.indexOf("]", at.position);
  const inside = at.text.slice(at.position + 1, end);
  if (end < 0 || inside.includes("\n")) throw new PathFault("unterminated array");
  at.position = end + 1;
  at.isAfterDescent = false;
  const parts = inside.split(",");
  if (parts.length > 1) {
    for (const part of parts) readInner(at, `[${part.trim()}]`);
    return;
  }
  const key = /^'([^']*)'$/.exec(inside)?.[1];
  if (key !== undefined) readInner(at, `.${key}`);
  else if (inside !== "*") checkSlice(inside);
}

/** `first:end:step`, each of which can be left out. */
function checkSlice(text: string): void {
  if (!/^-?[0-9]*(:-?[0-9]*)?(:-?[0-9]*)?$/.test(text)) throw new PathFault(`invalid array index ${text}`);
  const bad = text.split(":").find((part) => part === "-" || part.length > 19);
  if (bad !== undefined) throw new PathFault(`array index ${bad} is not a number`);
}

function readFilter(at: Scan): void {
  const end = filterEnd(at);
  const text = at.text.slice(at.position, end);
  at.position = end + 1;
  if (!take(at, "]")) throw new PathFault("unclosed array expect ]");
  const [, left, right] = /^([^!<>=]+)[!<>=]+(.+)$/s.exec(text) ?? [];
  for (const path of left === undefined || right === undefined ? [text] : [left, right]) readInner(at, path);
  at.isAfterDescent = false;
}

/** Where the `)` of a filter is. One between the first two quotes does not count. */
function filterEnd({ text, position }: Scan): number {
  let quote = "";
  let isClosed = false;
  for (let index = position; index < text.length && text[index] !== "\n"; index++) {
    const character = text[index] ?? "";
    if (character === ")" && (quote === "" || isClosed)) return index;
    if (character !== '"' && character !== "'") continue;
    if (quote === "") quote = character;
    else if (character === quote && text[index - 1] !== "\\") isClosed = true;
  }
  throw new PathFault("unterminated filter");
}

function readInner({ depth }: Scan, path: string): void {
  const fault = jsonPathFault(`{${path}}`, depth + 1);
  if (fault !== undefined) throw new PathFault(fault);
}

/** Reads what the sticky pattern matches here. */
function match(at: Scan, pattern: RegExp): string {
  pattern.lastIndex = at.position;
  const found = pattern.exec(at.text)?.[0] ?? "";
  at.position += found.length;
  return found;
}
