import { type FunctionDeclaration, type Library, memberOverload, overload } from "#cel/declare/function.ts";
import { boolType, intType, stringType, structType, type Type } from "#cel/types/type.ts";
import { int64 } from "#cel/values/integer.ts";
import { CelError, type Integer, isError, OpaqueValue, type Value } from "#cel/values/value.ts";

const semverType: Type = structType("kubernetes.Semver", { field: () => undefined });

class SemverValue extends OpaqueValue {
  readonly type = semverType;
  readonly numbers: readonly Integer[];
  readonly prerelease: readonly string[];
  constructor(numbers: readonly Integer[], prerelease: readonly string[]) {
    super();
    this.numbers = numbers;
    this.prerelease = prerelease;
  }
  equals(other: OpaqueValue): boolean {
    return other instanceof SemverValue && compare(this, other) === 0;
  }
}

const shape = /^(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?(?:\+([0-9A-Za-z.-]+))?$/;
const isNumeric = (text: string): boolean => /^\d+$/.test(text);
const maxText = 256;

function parse(text: string, isTolerant: boolean): SemverValue | CelError {
  const wrong = new CelError(text === "" ? "Version string empty" : "Invalid semantic version");
  const found = text.length <= maxText ? shape.exec(isTolerant ? (completed(text) ?? "") : text) : null;
  if (!found) return wrong;
  const [, major = "", minor = "", patch = "", prerelease, build] = found;
  const numerals = [major, minor, patch];
  const labels = prerelease?.split(".") ?? [];
  const parts = [...labels, ...(build?.split(".") ?? [])];
  const hasLeadingZero = [...numerals, ...labels.filter(isNumeric)].some((part) => /^0\d/.test(part));
  if (hasLeadingZero || parts.includes("")) return wrong;
  const numbers = numerals.map((numeral) => int64.check(BigInt(numeral)));
  return numbers.some(isError) ? wrong : new SemverValue(numbers as Integer[], labels);
}

/** The value of a semantic version, or why it is none. */
export const semverOf = (text: string): Value => parse(text, false);

/** A version with its prefix `v` and leading zeros removed, and missing numbers added. */
function completed(text: string): string | undefined {
  const [major = "", minor, ...rest] = text.replace(/^v/, "").split(".");
  const parts = [major, ...(minor === undefined ? [] : [minor]), ...(rest.length > 0 ? [rest.join(".")] : [])];
  const clean = parts.map((part) => (part.length > 1 ? part.replace(/^0+(?=\d)/, "") : part));
  if (clean.length < 3 && /[+-]/.test(clean.at(-1) ?? "")) return undefined;
  while (clean.length < 3) clean.push("0");
  return clean.join(".");
}

const order = (a: Integer | string, b: Integer | string): number => (a < b ? -1 : a > b ? 1 : 0);

/** A version is after its prereleases, and numbers come before words. Build metadata does not count. */
function compare(a: SemverValue, b: SemverValue): number {
  for (const [index, number] of a.numbers.entries()) {
    const result = order(number, b.numbers[index] ?? 0);
    if (result !== 0) return result;
  }
  if (a.prerelease.length === 0 || b.prerelease.length === 0) {
    return order(Math.min(1, b.prerelease.length), Math.min(1, a.prerelease.length));
  }
  const shared = Math.min(a.prerelease.length, b.prerelease.length);
  for (let index = 0; index < shared; index++) {
    const result = compareLabels(a.prerelease[index] ?? "", b.prerelease[index] ?? "");
    if (result !== 0) return result;
  }
  return order(a.prerelease.length, b.prerelease.length);
}

function compareLabels(a: string, b: string): number {
  if (isNumeric(a) && isNumeric(b)) return order(BigInt(a), BigInt(b));
  if (isNumeric(a) !== isNumeric(b)) return isNumeric(a) ? -1 : 1;
  return order(a, b);
}

const v = semverType;
const of = (value: Value | undefined): SemverValue => value as SemverValue;
const declare = (name: string, ...overloads: FunctionDeclaration["overloads"]): FunctionDeclaration => ({
  name,
  overloads,
});
const number = (name: string, index: number): FunctionDeclaration =>
  declare(
    name,
    memberOverload(`semver_${name}`, [v], intType, (_, version) => of(version).numbers[index] ?? 0),
  );

export const semverLibrary: Library = {
  types: [semverType],
  functions: [
    declare(
      "semver",
      overload("string_to_semver", [stringType], v, (_, text) => parse(text as string, false)),
      overload("string_bool_to_semver", [stringType, boolType], v, (_, text, tolerant) =>
        parse(text as string, tolerant as boolean),
      ),
    ),
    declare(
      "isSemver",
      overload("is_semver_string", [stringType], boolType, (_, text) => !isError(parse(text as string, false))),
      overload(
        "is_semver_string_bool",
        [stringType, boolType],
        boolType,
        (_, text, tolerant) => !isError(parse(text as string, tolerant as boolean)),
      ),
    ),
    declare(
      "isGreaterThan",
      memberOverload("semver_is_greater_than", [v, v], boolType, (_, a, b) => compare(of(a), of(b)) > 0),
    ),
    declare(
      "isLessThan",
      memberOverload("semver_is_less_than", [v, v], boolType, (_, a, b) => compare(of(a), of(b)) < 0),
    ),
    declare(
      "compareTo",
      memberOverload("semver_compare_to", [v, v], intType, (_, a, b) => compare(of(a), of(b))),
    ),
    number("major", 0),
    number("minor", 1),
    number("patch", 2),
  ],
};
