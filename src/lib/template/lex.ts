import { type Place, TemplateError } from "./faults.ts";

export interface Token extends Place {
  readonly type: "text" | "number" | "name" | "field" | "variable" | "sign";
  /** Of a text, what it says; of a field or variable, its name. */
  readonly text: string;
  /** Whether a space comes before it. */
  readonly isApart: boolean;
}

/** Text to copy, or the inside of `{{ … }}`. */
export type Piece =
  | (Place & { readonly type: "copy"; readonly text: string })
  | (Place & { readonly type: "action"; readonly tokens: readonly Token[] });

const action = /\{\{(-(?=\s))?\s*(?:\/\*[\s\S]*?\*\/\s*?(\s-)?\}\}|)/y;

/** Splits a template. `{{- ` and ` -}}` take the white space beside them away. */
export function piecesOf(source: string): readonly Piece[] {
  const pieces: Piece[] = [];
  const placeAt = placesIn(source);
  let at = 0;
  let trimsNext = false;
  while (at < source.length) {
    const found = source.indexOf("{{", at);
    const end = found < 0 ? source.length : found;
    action.lastIndex = end;
    const open = found < 0 ? null : action.exec(source);
    pieces.push({
      type: "copy",
      text: trimmed(source.slice(at, end), trimsNext, open?.[1] !== undefined),
      ...placeAt(at),
    });
    if (!open) break;
    const isComment = open[0].endsWith("}}");
    const inside = isComment
      ? { tokens: [], end: action.lastIndex, trims: open[2] !== undefined }
      : tokensFrom(source, action.lastIndex, placeAt);
    if (!isComment) pieces.push({ type: "action", tokens: inside.tokens, ...placeAt(end) });
    at = inside.end;
    trimsNext = inside.trims;
  }
  return pieces;
}

const trimmed = (text: string, start: boolean, end: boolean): string => {
  const first = start ? text.trimStart() : text;
  return end ? first.trimEnd() : first;
};

/** Finds the line and column of an offset; offsets only grow. */
function placesIn(source: string): (at: number) => Place {
  let line = 1;
  let start = 0;
  return (at) => {
    for (let next = source.indexOf("\n", start); next >= 0 && next < at; next = source.indexOf("\n", start)) {
      line++;
      start = next + 1;
    }
    return { line, column: at - start + 1 };
  };
}

const space = /\s+/y;
const close = /\}\}/y;
const trimmedClose = /\s-\}\}/y;
const kinds = [
  ["raw", /`[^`]*`/y],
  ["quoted", /"(?:[^"\\\n]|\\[^\n])*"/y],
  ["character", /'(?:[^'\\\n]|\\[^\n]{1,10}?)'/y],
  ["number", /[-+]?(?:0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)/y],
  ["field", /\.[\p{L}_][\p{L}\p{Nd}_]*/uy],
  ["variable", /\$[\p{L}\p{Nd}_]*/uy],
  ["name", /[\p{L}_][\p{L}\p{Nd}_]*/uy],
  ["sign", /:=|[=|(),.]/y],
] as const;

interface Inside {
  readonly tokens: readonly Token[];
  readonly end: number;
  readonly trims: boolean;
}

function tokensFrom(source: string, from: number, placeAt: (at: number) => Place): Inside {
  const tokens: Token[] = [];
  let at = from;
  for (;;) {
    if (matched(trimmedClose, source, at)) return { tokens, end: trimmedClose.lastIndex, trims: true };
    const isApart = matched(space, source, at);
    if (isApart) at = space.lastIndex;
    if (matched(close, source, at)) return { tokens, end: close.lastIndex, trims: false };
    if (at >= source.length) throw new TemplateError("{{ without }}", placeAt(source.length));
    const { token, end } = tokenAt(source, at, placeAt(at));
    tokens.push({ ...token, isApart });
    at = end;
  }
}

function matched(pattern: RegExp, source: string, at: number): boolean {
  pattern.lastIndex = at;
  return pattern.test(source);
}

function tokenAt(source: string, at: number, place: Place): { token: Omit<Token, "isApart">; end: number } {
  for (const [kind, pattern] of kinds) {
    pattern.lastIndex = at;
    const found = pattern.exec(source)?.[0];
    if (found === undefined) continue;
    return { token: { ...place, ...tokenOf(kind, found, place) }, end: at + found.length };
  }
  throw new TemplateError(`unexpected ${JSON.stringify(source.slice(at, at + 1))}`, place);
}

function tokenOf(kind: (typeof kinds)[number][0], found: string, place: Place): Pick<Token, "type" | "text"> {
  switch (kind) {
    case "raw":
      return { type: "text", text: found.slice(1, -1) };
    case "quoted":
      return { type: "text", text: unquoted(found, place) };
    case "character": {
      const code = unquoted(`"${found.slice(1, -1).replace(/^"$/, '\\"').replace(/^\\'$/, "'")}"`, place).codePointAt(
        0,
      );
      return { type: "number", text: String(code ?? 0) };
    }
    case "field":
    case "variable":
      return { type: kind, text: found.slice(1) };
    default:
      return { type: kind, text: found };
  }
}

const escapes: Readonly<Record<string, string>> = {
  a: "\u0007",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  "\\": "\\",
  '"': '"',
  "'": "'",
};

/** Reads a text as Go writes it. */
function unquoted(quoted: string, place: Place): string {
  const inner = quoted.slice(1, -1);
  return inner.replace(/\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]{3}|[\s\S])/g, (_, code: string) => {
    const plain = escapes[code];
    if (plain !== undefined) return plain;
    const point = /^[0-7]{3}$/.test(code) ? Number.parseInt(code, 8) : Number.parseInt(code.slice(1), 16);
    if (code.length === 1 || !(point <= 0x10ffff)) throw new TemplateError(`wrong escape \\${code}`, place);
    return String.fromCodePoint(point);
  });
}
