import { goQuote } from "../text/go-quote.ts";
import { type Meter, TemplateFault } from "./faults.ts";
import { show, textOf, typeOf, type Value } from "./values.ts";

const verb = /%([-+# 0]*)(\d*)(?:\.(\d+))?([a-zA-Z%])/g;
const maxWidth = 1000;

/** Formats as Go's fmt does, for the verbs that make sense for data: v s q d x X o b c t f e g. */
export function sprintf(format: string, values: readonly Value[], meter: Meter): string {
  let next = 0;
  const text = format.replace(
    verb,
    (_, flags: string, width: string, precision: string | undefined, letter: string) => {
      if (letter === "%") return "%";
      if (Number(width) > maxWidth || Number(precision ?? 0) > maxWidth) throw new TemplateFault("printf: too wide");
      const value = values[next++];
      const body = value === undefined ? `%!${letter}(MISSING)` : formatted(letter, value, { flags, precision });
      meter.spend(body.length >> 3);
      return padded(body, flags, Number(width));
    },
  );
  const extra = values.slice(next).map((value) => `${typeOf(value)}=${show(value)}`);
  return extra.length > 0 ? `${text}%!(EXTRA ${extra.join(", ")})` : text;
}

interface Shape {
  readonly flags: string;
  readonly precision: string | undefined;
}

function formatted(letter: string, value: Value, shape: Shape): string {
  const wrong = `%!${letter}(${typeOf(value)}=${show(value)})`;
  switch (letter) {
    case "v":
      return value === null ? "<nil>" : show(value);
    case "s": {
      const text = textOf(value);
      return text === undefined
        ? typeof value === "object" && value !== null
          ? show(value)
          : wrong
        : cut(text, shape);
    }
    case "q": {
      const text = textOf(value);
      return text === undefined ? wrong : goQuote(cut(text, shape));
    }
    case "t":
      return typeof value === "boolean" ? String(value) : wrong;
    case "c":
      return isCodePoint(value) ? String.fromCodePoint(value) : wrong;
    default:
      return numeric(letter, value, shape) ?? wrong;
  }
}

const isCodePoint = (value: Value): value is number =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= 0x10ffff;

const cut = (text: string, { precision }: Shape): string =>
  precision === undefined ? text : [...text].slice(0, Number(precision)).join("");

const bases: Readonly<Record<string, number>> = { d: 10, x: 16, X: 16, o: 8, b: 2 };

function numeric(letter: string, value: Value, { flags, precision }: Shape): string | undefined {
  if (typeof value !== "number") return undefined;
  const sign = flags.includes("+") && value >= 0 ? "+" : "";
  const base = bases[letter];
  if (base !== undefined) {
    if (!Number.isInteger(value)) return undefined;
    const digits = value.toString(base);
    return sign + (letter === "X" ? digits.toUpperCase() : digits);
  }
  const places = Math.min(100, Number(precision ?? 6));
  if (letter === "f" || letter === "F") return sign + value.toFixed(places);
  if (letter === "e") return sign + value.toExponential(places).replace(/e([-+])(\d)$/, "e$10$2");
  return letter === "g" ? sign + String(value) : undefined;
}

function padded(text: string, flags: string, width: number): string {
  if (flags.includes("-")) return text.padEnd(width);
  if (!flags.includes("0")) return text.padStart(width);
  const [, sign = "", digits = ""] = /^([-+]?)([\s\S]*)$/.exec(text) ?? [];
  return sign + digits.padStart(width - sign.length, "0");
}
