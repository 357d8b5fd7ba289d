import { Buffer, isUtf8 } from "node:buffer";
import { maxKeyChars } from "#lib/text/long-text.ts";
import { DecodeError, maxDepth, maxValues, TooManyValues } from "./decode-error.ts";
import { explainSyntax } from "./json-fault.ts";

export interface ParsedJson {
  readonly value: unknown;
  /** The text itself, for `duplicateKeys`. */
  readonly text: string;
}

/** Parses a body. Throws DecodeError with Go's message. */
export function parseJson(bytes: Uint8Array): ParsedJson {
  if (!isUtf8(bytes)) throw new DecodeError("invalid UTF-8 in JSON text");
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
  if (hasLongKey(text)) throw new DecodeError(`a key is longer than ${maxKeyChars} characters`);
  if (mayBeMany(bytes) && valuesIn(text) > maxValues) throw new TooManyValues();
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new DecodeError(explainSyntax(text), { cause: error });
  }
  // V8 parses without recursion, but the code that reads the value recurses and needs the limit.
  if (mayBeDeep(bytes) && depthOf(text) > maxDepth) throw new DecodeError("exceeded max depth");
  return { value, text };
}

/** Scans strings only in long text. Must be called before the text is parsed. */
function hasLongKey(text: string): boolean {
  if (text.length <= maxKeyChars) return false;
  for (let start = text.indexOf('"'); start >= 0; ) {
    const end = endOfString(text, start);
    if (end - start > maxKeyChars && isKey(text, end)) return true;
    start = text.indexOf('"', end + 1);
  }
  return false;
}

/**
 * Every value but the first follows a comma or a bracket. Those inside strings are excluded only if there are too many.
 */
function mayBeMany(bytes: Uint8Array): boolean {
  if (bytes.length <= maxValues) return false;
  let found = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] as number;
    if (byte === comma || (byte & 0xdf) === openList) found++;
  }
  return found >= maxValues;
}

function valuesIn(text: string): number {
  let found = 1;
  for (let at = 0; at < text.length && found <= maxValues; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) at = endOfString(text, at);
    else if (code === comma || code === openObject || code === openList) found++;
  }
  return found;
}

/** Text with fewer brackets than the limit cannot be too deep, and almost no text has that many. */
function mayBeDeep(bytes: Uint8Array): boolean {
  if (bytes.length < 2 * maxDepth) return false;
  let opened = 0;
  // `[` and `{` differ in one bit.
  for (let at = 0; at < bytes.length; at++) if (((bytes[at] as number) & 0xdf) === 0x5b) opened++;
  return opened > maxDepth;
}

function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) at = endOfString(text, at);
    else if (code === openObject || code === openList) deepest = Math.max(deepest, ++depth);
    else if (code === closeObject || code === closeList) depth--;
  }
  return deepest;
}

const quote = 0x22;
const backslash = 0x5c;
const colon = 0x3a;
const comma = 0x2c;
const openObject = 0x7b;
const closeObject = 0x7d;
const openList = 0x5b;
const closeList = 0x5d;
/** As many as upstream lists. */
const maxReported = 100;

/**
 * The dotted paths of duplicate keys: `spec.containers[0].image`. `text` is valid JSON, and `keyCount` is the number of
 * keys in the parsed value, which has no duplicates.
 */
export function duplicateKeys(text: string, keyCount: number): string[] {
  return colonsAfterQuotes(text) === keyCount ? [] : findDuplicates(text);
}

/** At least the number of keys in the text; more only if a string contains such a colon. */
function colonsAfterQuotes(text: string): number {
  let count = 0;
  for (let at = text.indexOf(":"); at >= 0; at = text.indexOf(":", at + 1)) {
    let before = at - 1;
    while (isSpace(text.charCodeAt(before))) before--;
    if (text.charCodeAt(before) === quote) count++;
  }
  return count;
}

const isSpace = (code: number): boolean => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;

interface Level {
  /** The keys of an object; undefined for a list, which has an index instead. */
  readonly keys: Set<string> | undefined;
  readonly path: string;
  /** The last key seen. */
  key: string;
  index: number;
}

function findDuplicates(text: string): string[] {
  const found = new Set<string>();
  const levels: Level[] = [];
  for (let at = 0; at < text.length && found.size < maxReported; at++) {
    const code = text.charCodeAt(at);
    const level = levels.at(-1);
    if (code === quote) {
      const end = endOfString(text, at);
      if (level?.keys && isKey(text, end)) noteKey(level, level.keys, JSON.parse(text.slice(at, end + 1)), found);
      at = end;
    } else if (code === openObject || code === openList) levels.push(enter(level, code === openObject));
    else if (code === closeObject || code === closeList) levels.pop();
    else if (code === comma && level) level.index++;
  }
  return [...found];
}

function noteKey(level: Level, keys: Set<string>, key: string, found: Set<string>): void {
  level.key = key;
  if (keys.has(key)) found.add(pathIn(level));
  keys.add(key);
}

function enter(outer: Level | undefined, isObject: boolean): Level {
  return { keys: isObject ? new Set() : undefined, path: outer ? pathIn(outer) : "", key: "", index: 0 };
}

/** The beginning of a very long path: in deep objects with long keys, a hundred of them would be hundreds of MB. */
function pathIn({ keys, path, key, index }: Level): string {
  const whole = keys ? (path ? `${path}.${key}` : key) : `${path}[${index}]`;
  return whole.length > maxPathChars ? whole.slice(0, maxPathChars) : whole;
}
const maxPathChars = 1024;

function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let before = end;
    while (text.charCodeAt(before - 1) === backslash) before--;
    if ((end - before) % 2 === 0) return end;
  }
  return text.length;
}

function isKey(text: string, end: number): boolean {
  let at = end + 1;
  while (isSpace(text.charCodeAt(at))) at++;
  return text.charCodeAt(at) === colon;
}
