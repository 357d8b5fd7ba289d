import type { Issue } from "./source.ts";

export type TokenKind = "identifier" | "quoted" | "int" | "uint" | "double" | "string" | "bytes" | "symbol" | "end";

export interface Token {
  readonly kind: TokenKind;
  readonly text: string;
  readonly offset: number;
}

const space = /[\t \r\n\f]+|\/\/[^\n]*/y;
const identifier = /[A-Za-z_][A-Za-z0-9_]*/y;
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

/** Cuts a source into tokens. What is no token is reported and skipped. */
export function tokenize(source: string): { tokens: Token[]; issues: Issue[] } {
  const tokens: Token[] = [];
  const issues: Issue[] = [];
  let at = 0;
  while (at < source.length) {
    const skipped = match(space, source, at);
    if (skipped) {
      at += skipped.length;
      continue;
    }
    const token = tokenAt(source, at);
    if (token) {
      tokens.push(token);
      at += token.text.length;
      continue;
    }
    const unknown = unrecognized(source, at);
    issues.push({ offset: at, message: `Syntax error: token recognition error at: '${unknown}'` });
    at += unknown.length;
  }
  tokens.push({ kind: "end", text: "<EOF>", offset: source.length });
  return { tokens, issues };
}

function tokenAt(source: string, offset: number): Token | undefined {
  const token = (kind: TokenKind, text: string): Token => ({ kind, text, offset });
  const text = match(string, source, offset);
  if (text) return token("string", text);
  const first = source[offset];
  const bytes = first === "b" || first === "B" ? match(string, source, offset + 1) : undefined;
  if (bytes) return token("bytes", first + bytes);
  const real = match(double, source, offset);
  if (real) return token("double", real);
  const whole = match(integer, source, offset);
  if (whole) {
    const suffix = source[offset + whole.length];
    return suffix === "u" || suffix === "U" ? token("uint", whole + suffix) : token("int", whole);
  }
  const name = match(identifier, source, offset);
  if (name) return token("identifier", name);
  const quoted = match(quotedIdentifier, source, offset);
  if (quoted) return token("quoted", quoted);
  const operator = match(symbol, source, offset);
  return operator ? token("symbol", operator) : undefined;
}

/** An open string takes the rest of its line with it. */
function unrecognized(source: string, at: number): string {
  const character = String.fromCodePoint(source.codePointAt(at) ?? 0);
  if (character !== '"' && character !== "'") return character;
  const line = source.indexOf("\n", at);
  return source.slice(at, line < 0 ? source.length : line);
}
