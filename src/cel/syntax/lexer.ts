import type { Issue } from "./source.ts";

export type TokenKind = "identifier" | "quoted" | "int" | "uint" | "double" | "string" | "bytes" | "symbol" | "end";

export interface Token {
  readonly kind: TokenKind;
  readonly text: string;
  readonly offset: number;
}

const space = /[\t \r\n\f]+|\/\/[^\n]*/y;
const quotedIdentifier = /`[A-Za-z0-9_./ -]+`/y;
const double = /(?:\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)/y;
const integer = /(?:0x[0-9a-fA-F]+|\d+)/y;
const symbol = /==|!=|<=|>=|&&|\|\||[<>[\]{}().,\-!?:+*/%]/y;
const escapeSequence = String.raw`\\(?:[abfnrtv"'\\?\x60]|[0-3][0-7][0-7]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})`;
const string = new RegExp(
  [
    String.raw`[rR]"""[\s\S]*?"""|[rR]'''[\s\S]*?'''`,
    String.raw`[rR]"[^"\n\r]*"|[rR]'[^'\n\r]*'`,
    String.raw`"""(?:${escapeSequence}|[^\\])*?"""|'''(?:${escapeSequence}|[^\\])*?'''`,
    String.raw`"(?:${escapeSequence}|[^\\"\n\r])*"|'(?:${escapeSequence}|[^\\'\n\r])*'`,
  ].join("|"),
  "y",
);

function match(pattern: RegExp, source: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(source)?.[0];
}

/** As many as cel-go reports of one source. */
const maxIssues = 100;

/** Cuts a source into tokens, each when it is asked for. What is no token is reported and skipped. */
export class Lexer {
  readonly issues: Issue[] = [];
  readonly #source: string;
  #at = 0;

  constructor(source: string) {
    this.#source = source;
  }

  /** The next token; at the end of the source, or after too many issues, always the same one. */
  next(): Token {
    const source = this.#source;
    while (this.#at < source.length && this.issues.length < maxIssues) {
      const skipped = mayBeSpace(source.charCodeAt(this.#at)) ? match(space, source, this.#at) : undefined;
      if (skipped) {
        this.#at += skipped.length;
        continue;
      }
      const offset = this.#at;
      const token = tokenAt(source, offset);
      const text = token?.text ?? unrecognized(source, offset);
      this.#at += text.length;
      if (token) return token;
      this.issues.push({ offset, message: `Syntax error: token recognition error at: '${text}'` });
    }
    return { kind: "end", text: "<EOF>", offset: source.length };
  }
}

/** Space, or the slash of a comment. Most characters are neither, and patterns take longer. */
const mayBeSpace = (unit: number): boolean => unit <= 0x20 || unit === 0x2f;

/** The usual tokens are cut without a pattern: V8 interprets a pattern at first, and enters it at a cost later. */
function tokenAt(source: string, offset: number): Token | undefined {
  const first = source[offset] ?? "";
  if (loneSymbols.includes(first)) return { kind: "symbol", text: first, offset };
  if (first === '"' || first === "'") return stringAt(source, offset, first);
  if (isNamePart(first.charCodeAt(0)) && !isDigit(first))
    return prefixedString(source, offset) ?? nameAt(source, offset);
  if (first === "." || isDigit(first)) return numberAt(source, offset) ?? symbolAt(source, offset);
  return first === "`" ? make("quoted", match(quotedIdentifier, source, offset), offset) : symbolAt(source, offset);
}

/** They are part of no longer token. */
const loneSymbols = "[]{}(),?:+*%-";

const make = (kind: TokenKind, text: string | undefined, offset: number): Token | undefined =>
  text === undefined ? undefined : { kind, text, offset };
const symbolAt = (source: string, offset: number): Token | undefined =>
  make("symbol", match(symbol, source, offset), offset);

const isDigit = (character: string): boolean => character >= "0" && character <= "9";
const isNamePart = (unit: number): boolean =>
  (unit >= 0x61 && unit <= 0x7a) || (unit >= 0x41 && unit <= 0x5a) || (unit >= 0x30 && unit <= 0x39) || unit === 0x5f;

function nameAt(source: string, offset: number): Token {
  let end = offset + 1;
  while (isNamePart(source.charCodeAt(end))) end++;
  return { kind: "identifier", text: source.slice(offset, end), offset };
}

function stringAt(source: string, offset: number, quote: string): Token | undefined {
  const end = source.startsWith(quote.repeat(2), offset + 1) ? undefined : endOfPlainString(source, offset, quote);
  return make("string", end === undefined ? match(string, source, offset) : source.slice(offset, end), offset);
}

/** The end of a string without escape sequences. */
function endOfPlainString(source: string, offset: number, quote: string): number | undefined {
  for (let at = offset + 1; at < source.length; at++) {
    const character = source[at];
    if (character === quote) return at + 1;
    if (character === "\\" || character === "\n" || character === "\r") return undefined;
  }
  return undefined;
}

/** `r"…"`, `b"…"` and `br"…"`. */
function prefixedString(source: string, offset: number): Token | undefined {
  if (!"rRbB".includes(source[offset] ?? "")) return undefined;
  if (!/^[rRbB]{1,2}["']/.test(source.slice(offset, offset + 3))) return undefined;
  const raw = match(string, source, offset);
  if (raw !== undefined) return make("string", raw, offset);
  const content = /[bB]/.test(source[offset] ?? "") ? match(string, source, offset + 1) : undefined;
  return content === undefined ? undefined : make("bytes", source[offset] + content, offset);
}

function numberAt(source: string, offset: number): Token | undefined {
  const real = match(double, source, offset);
  if (real !== undefined) return make("double", real, offset);
  const whole = match(integer, source, offset);
  const suffix = whole === undefined ? undefined : source[offset + whole.length];
  return suffix === "u" || suffix === "U" ? make("uint", whole + suffix, offset) : make("int", whole, offset);
}

/** An open string takes the rest of its line with it. */
function unrecognized(source: string, at: number): string {
  const character = String.fromCodePoint(source.codePointAt(at) ?? 0);
  if (character !== '"' && character !== "'") return character;
  const line = source.indexOf("\n", at);
  return source.slice(at, line < 0 ? source.length : line);
}
