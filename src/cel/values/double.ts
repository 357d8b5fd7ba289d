/** A double as Go's %g writes it: the shortest digits, with an exponent below -4 and from 6 on. */
export function renderDouble(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "+Inf" : "-Inf";
  if (Object.is(value, -0)) return "-0";
  const exponent = value === 0 ? 0 : Number(value.toExponential().split("e")[1]);
  if (exponent >= -4 && exponent < 6) return plainDouble(value);
  return value.toExponential().replace(/e([+-])(\d)$/, "e$10$2");
}

/** The shortest digits without an exponent. */
export function plainDouble(value: number): string {
  const text = String(value);
  const [digits = "", exponentText] = text.split("e");
  if (exponentText === undefined) return text;
  const exponent = Number(exponentText);
  const [, sign = "", whole = "", fraction = ""] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(digits) ?? [];
  if (exponent < 0) return `${sign}0.${"0".repeat(-exponent - whole.length)}${whole}${fraction}`;
  return sign + whole + fraction + "0".repeat(exponent - fraction.length);
}

const goFloat =
  /^[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|inf(?:inity)?|nan|0[xX](?:[\da-fA-F]+\.?[\da-fA-F]*|\.[\da-fA-F]+)[pP][+-]?\d+)$/i;

/** Reads a double as Go does, or returns undefined. A number too large for a double is refused. */
export function parseDouble(text: string): number | undefined {
  if (text.length > 400 || !goFloat.test(text)) return undefined;
  const word = text.toLowerCase().replace(/^[+-]/, "");
  const sign = text.startsWith("-") ? -1 : 1;
  if (word.startsWith("inf")) return sign * Number.POSITIVE_INFINITY;
  if (word === "nan") return Number.NaN;
  const value = word.startsWith("0x") ? sign * parseHexadecimal(word.slice(2)) : Number(text);
  return Number.isFinite(value) ? value : undefined;
}

function parseHexadecimal(text: string): number {
  const [mantissa = "", exponent = "0"] = text.split("p");
  const [whole = "", fraction = ""] = mantissa.split(".");
  return Number.parseInt(whole + fraction, 16) * 2 ** (Number(exponent) - 4 * fraction.length);
}
