/** An expression that cannot be read. */
export class JqError extends Error {
  override readonly name = "JqError";
}

export interface Token {
  readonly type: "number" | "text" | "name" | "field" | "sign" | "end";
  /** The sign or the name; of a text, what it says. */
  readonly text: string;
  /** Where it begins, from 1. */
  readonly at: number;
}

const space = /(?:\s|#[^\n]*)+/y;
const kinds = [
  ["number", /(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?/y],
  ["text", /"(?:[^"\\]|\\[\s\S])*"/y],
  ["field", /\.[A-Za-z_]\w*/y],
  ["name", /[A-Za-z_]\w*(?:::\w+)*/y],
  ["sign", /\/\/=?|\|=|[-+*/%]=|==|!=|<=|>=|\.\.|\?\/\/|[-+*/%=<>|,()[\]{}:;?.$@]/y],
] as const;

export const maxLength = 10_000;

/** Splits an expression. The last token is the end. */
export function tokensOf(source: string): readonly Token[] {
  if (source.length > maxLength) throw new JqError(`is longer than ${maxLength} characters`);
  const tokens: Token[] = [];
  let at = skipSpace(source, 0);
  while (at < source.length) {
    const token = tokenAt(source, at);
    tokens.push(token.token);
    at = skipSpace(source, token.end);
  }
  return [...tokens, { type: "end", text: "", at: source.length + 1 }];
}

function skipSpace(source: string, at: number): number {
  space.lastIndex = at;
  return space.test(source) ? space.lastIndex : at;
}

function tokenAt(source: string, at: number): { readonly token: Token; readonly end: number } {
  for (const [type, pattern] of kinds) {
    pattern.lastIndex = at;
    const found = pattern.exec(source)?.[0];
    if (found === undefined) continue;
    const text = type === "text" ? textOf(found, at + 1) : type === "field" ? found.slice(1) : found;
    return { token: { type, text, at: at + 1 }, end: at + found.length };
  }
  throw new JqError(`cannot be read from character ${at + 1} on: ${JSON.stringify(source.slice(at, at + 20))}`);
}

function textOf(quoted: string, at: number): string {
  if (/(?<!\\)(?:\\\\)*\\\(/.test(quoted)) throw unsupported("\\( … ) within a text", at);
  try {
    return JSON.parse(quoted.replace(/[\n\t\r]/g, (control) => JSON.stringify(control).slice(1, -1))) as string;
  } catch (error) {
    throw new JqError(`has a text with a wrong escape at character ${at}`, { cause: error });
  }
}

export const unsupported = (what: string, at: number): JqError =>
  new JqError(`uses ${what} at character ${at}, which is not supported`);
