import { messageOf } from "#lib/text/message-of.ts";

// Reads the parts of a file or of options: each function throws an error that names the place.

export function checked(where: string, check: () => unknown): void {
  try {
    check();
  } catch (error) {
    throw new Error(`${where}: ${messageOf(error)}`, { cause: error });
  }
}

export function fields(value: unknown, where: string, names?: readonly string[]): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new Error(`${where} must be an object`);
  const wrong = names && Object.keys(value).find((name) => !names.includes(name));
  if (wrong !== undefined) throw new Error(`${where} has no field ${JSON.stringify(wrong)}: use ${names?.join(", ")}`);
  return value as Record<string, unknown>;
}

export function textFields(value: unknown, where: string): Record<string, string> {
  const all = fields(value, where);
  const wrong = Object.entries(all).find(([, text]) => typeof text !== "string");
  if (wrong) throw new Error(`${where}.${wrong[0]} must be a string, not ${JSON.stringify(wrong[1])}`);
  return all as Record<string, string>;
}

export function list(value: unknown, where: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw new Error(`${where} must be a list`);
}

export const texts = (value: unknown, where: string): readonly string[] =>
  list(value, where).map((text) => {
    if (typeof text === "string") return text;
    throw new Error(`${where} must be a list of strings, not of ${JSON.stringify(text)}`);
  });

export function text(value: unknown, where: string): string {
  if (typeof value === "string") return value;
  throw new Error(`${where} must be a string, not ${JSON.stringify(value)}`);
}

export function wholeNumber(value: unknown, where: string, { min, max }: { min: number; max: number }): number {
  if (typeof value === "number" && Number.isInteger(value) && value >= min && value <= max) return value;
  throw new Error(`${where} must be a whole number from ${min} to ${max}, not ${JSON.stringify(value)}`);
}

export const milliseconds = (value: unknown, where: string): number => {
  if (typeof value === "number" && value >= 0 && value <= maxMs) return value;
  throw new Error(`${where} must be milliseconds, not ${JSON.stringify(value)}`);
};
const maxMs = 2 ** 31 - 1;

export function oneOf<T extends string>(value: unknown, where: string, all: readonly T[]): T {
  const known = all.find((one) => one === value);
  if (known !== undefined) return known;
  throw new Error(`${where} must be one of ${all.join(", ")}, not ${JSON.stringify(value)}`);
}

/** Those of the fields that are given, each read in its way. */
export function readFields<T extends object>(
  value: unknown,
  where: string,
  readers: { readonly [K in keyof T]-?: (value: unknown, where: string) => T[K] },
): Partial<T> {
  const given = fields(value, where, Object.keys(readers));
  const read = Object.entries(readers) as [string, (value: unknown, where: string) => unknown][];
  const found = read.flatMap(([name, reader]) =>
    given[name] === undefined ? [] : [[name, reader(given[name], `${where}.${name}`)]],
  );
  return Object.fromEntries(found) as Partial<T>;
}
