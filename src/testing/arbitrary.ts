import { formatQuantity, type QuantityFormat } from "#schema/quantity.ts";
import { type Field, type ObjectSchema, resolve, type Schema, type StringOptions } from "#schema/schema.ts";

/** Pseudo-random numbers, the same for the same seed. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = (seed >>> 0) + 0x9e37_79b9;
  }

  /** An integer from 0 up to, but not including, `below`. */
  below(below: number): number {
    this.#state = (this.#state + 0x6d2b_79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  }

  chance(percent: number): boolean {
    return this.below(100) < percent;
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)] as T;
  }
}

/** Beyond this depth only required fields are generated, so that recursive schemas end. */
const maxDepth = 7;

/** A value as `decode()` would return it: in normal form, with no zero value where zero means absent. */
export function arbitrary(schema: Schema, random: Random, depth = 0): unknown {
  const at = resolve(schema);
  switch (at.type) {
    case "object":
      return arbitraryObject(at, random, depth);
    case "list":
      return repeat(1 + random.below(2), () => arbitrary(at.item, random, depth + 1));
    case "map":
      return Object.fromEntries(
        repeat(1 + random.below(2), () => [random.pick(keys), arbitrary(at.value, random, depth + 1)]),
      );
    case "any":
      if (at.options.either) {
        const { object, other } = at.options.either;
        return arbitrary(depth < maxDepth && random.chance(50) ? object : other, random, depth + 1);
      }
      return { text: arbitraryText({}, random), list: [random.below(100), null, true], deep: { empty: {} } };
    case "string":
      return arbitraryText(at.options, random);
    case "boolean":
      return true;
    case "int32":
    case "int64":
    case "double":
      return arbitraryNumber(at.type, at.options, random);
    default:
      return formats[at.type](random);
  }
}

function arbitraryObject(schema: ObjectSchema<unknown>, random: Random, depth: number): object {
  const out: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(schema.fields)) {
    if (isThere(field, random, depth)) out[name] = arbitrary(field.schema, random, depth + 1);
  }
  return out;
}

/** `kind` and `apiVersion` are omitted: they have no tag, and the schema already implies them. */
function isThere({ mode, tag }: Field, random: Random, depth: number): boolean {
  if (tag === 0) return false;
  if (mode === "required") return true;
  return depth < maxDepth && random.chance(depth < 3 ? 60 : 30);
}

const repeat = <T>(count: number, make: () => T): T[] => Array.from({ length: count }, make);

const keys = ["app", "app.kubernetes.io/name", "cpu", "memory", "ä", "a b", "0", "null", "true", "__proto__"];
const texts = [
  "a",
  "web-1",
  "grüße",
  "世界 🌍",
  "two\nlines\n",
  " space ",
  "yes",
  "0644",
  "1e3",
  "~",
  "#no",
  "a: b",
  '"',
  "\\",
  "\u0001",
];

function arbitraryText({ values, rule }: StringOptions, random: Random): string {
  if (values) return random.pick(values);
  const sound = rule ? texts.filter((text) => rule(text) === undefined) : texts;
  return random.pick(sound.length > 0 ? sound : texts);
}

function arbitraryNumber(
  type: "int32" | "int64" | "double",
  { min, max }: { readonly min?: number; readonly max?: number },
  random: Random,
): number {
  if (type === "double") return 1.5 + random.below(100);
  const wide = type === "int64" ? [-1, 2 ** 40, Number.MAX_SAFE_INTEGER, -(2 ** 35)] : [-1, 2 ** 31 - 1, -(2 ** 31)];
  const numbers = [1, 7, 127, 128, 300, 65_535, 70_000, ...wide, min ?? 1, max ?? 2];
  const sound = numbers.filter((n) => n !== 0 && n >= (min ?? n) && n <= (max ?? n));
  return sound.length > 0 ? random.pick(sound) : (min ?? 1);
}

const digits = (value: number, length: number): string => String(value).padStart(length, "0");
const second = (random: Random): string =>
  `${digits(1950 + random.below(200), 4)}-${digits(1 + random.below(12), 2)}-${digits(1 + random.below(28), 2)}T` +
  `${digits(random.below(24), 2)}:${digits(random.below(60), 2)}:${digits(random.below(60), 2)}`;

const formats = {
  bytes: (random: Random): string => Buffer.from(random.pick(texts)).toString("base64"),
  time: (random: Random): string => `${second(random)}Z`,
  microTime: (random: Random): string => `${second(random)}.${digits(random.below(1_000_000), 6)}Z`,
  duration: (random: Random): string => random.pick(["0s", "1m0s", "-1h30m0.5s", "100ms", "2h0m0.000000001s", "25µs"]),
  quantity(random: Random): string {
    const format = random.pick<QuantityFormat>(["decimal", "binary", "exponent"]);
    return formatQuantity({
      nanos: BigInt(1 + random.below(5000)) * random.pick([1n, 10n ** 6n, 10n ** 9n, 1024n * 10n ** 9n]),
      format,
    });
  },
  intOrString: (random: Random): number | string => random.pick<number | string>([0, 80, -1, "http", "25%", ""]),
};
