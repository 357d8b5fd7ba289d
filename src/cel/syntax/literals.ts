import { int64, uint64 } from "../values/integer.ts";
import { CelError, Double, isError, Uint, type Value } from "../values/value.ts";

const simple: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
};

const escapeSequence = /\\(?:([0-3][0-7][0-7])|[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([\s\S]))/g;

/** The content between the quotes of a token, and whether it is taken as it stands. */
function contentOf(token: string): { text: string; isRaw: boolean } {
  const isRaw = /^[rR]/.test(token);
  const quoted = isRaw ? token.slice(1) : token;
  const width = /^("""|''')/.test(quoted) && quoted.length >= 6 ? 3 : 1;
  return { text: quoted.slice(width, -width).replaceAll("\r\n", "\n").replaceAll("\r", "\n"), isRaw };
}

export function stringLiteral(token: string): string | CelError {
  const { text, isRaw } = contentOf(token);
  if (isRaw || !text.includes("\\")) return text;
  let wrong = false;
  const value = text.replace(
    escapeSequence,
    (_, octal?: string, hex?: string, short?: string, long?: string, other?: string) => {
      if (other !== undefined) return simple[other] ?? other;
      const code = octal ? Number.parseInt(octal, 8) : Number.parseInt(hex ?? short ?? long ?? "", 16);
      const isCharacter = code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
      if (!isCharacter) wrong = true;
      return isCharacter ? String.fromCodePoint(code) : "";
    },
  );
  return wrong ? new CelError("invalid unicode code point") : value;
}

/** In bytes `\xff` and `\377` are one byte; everything else is encoded as UTF-8. */
export function bytesLiteral(token: string): Uint8Array | CelError {
  const { text, isRaw } = contentOf(token.slice(1));
  if (isRaw || !text.includes("\\")) return Buffer.from(text);
  const parts: Uint8Array[] = [];
  let end = 0;
  for (const found of text.matchAll(escapeSequence)) {
    const [whole, octal, hex, short, long, other] = found;
    parts.push(Buffer.from(text.slice(end, found.index)));
    end = found.index + whole.length;
    if (other !== undefined) parts.push(Buffer.from(simple[other] ?? other));
    else if (short || long) return new CelError("unicode escape sequence in bytes literal");
    else parts.push(Uint8Array.of(octal ? Number.parseInt(octal, 8) : Number.parseInt(hex ?? "", 16)));
  }
  parts.push(Buffer.from(text.slice(end)));
  return Buffer.concat(parts);
}

export function numberLiteral(kind: "int" | "uint" | "double", text: string): Value {
  if (kind === "double") {
    const value = Number(text);
    return Number.isFinite(value) ? new Double(value) : new CelError("invalid double literal");
  }
  const digits = kind === "uint" ? text.slice(0, -1) : text;
  const [sign, magnitude] = digits.startsWith("-") ? [-1n, digits.slice(1)] : [1n, digits];
  const [prefix, numerals] = magnitude.startsWith("0x") ? ["0x", magnitude.slice(2)] : ["", magnitude];
  const significant = numerals.replace(/^0+(?=.)/, "");
  // Converting a long numeral takes quadratic time, and it would not fit anyway.
  if (significant.length > 20) return new CelError(`invalid ${kind} literal`);
  const value = sign * BigInt(prefix + significant);
  const checked = kind === "uint" ? uint64.check(value) : int64.check(value);
  if (isError(checked)) return new CelError(`invalid ${kind} literal`);
  return kind === "uint" ? new Uint(checked) : checked;
}
