import { type FunctionDeclaration, type Library, memberOverload, overload } from "#cel/declare/function.ts";
import { boolType, intType, stringType, structType, type Type } from "#cel/types/type.ts";
import { int64 } from "#cel/values/integer.ts";
import { CelError, type Integer, isError, OpaqueValue, type Value } from "#cel/values/value.ts";
import { goQuote } from "#lib/text/go-quote.ts";

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

const isNumeric = (text: string): boolean => /^\d+$/.test(text);
const maxText = 256;

function parse(text: string, isTolerant: boolean): SemverValue | CelError {
  if (text.length > maxText) return new CelError(`Version string has more than ${maxText} characters`);
  const whole = isTolerant ? completed(text) : text;
  if (whole === undefined) return new CelError("short version cannot contain PreRelease/Build meta data");
  if (whole === "") return new CelError("Version string empty");
  const [, major, minor, last = ""] = /^([^.]*)\.([^.]*)\.(.*)$/s.exec(whole) ?? [];
  if (major === undefined || minor === undefined) return new CelError("No Major.Minor.Patch elements found");
  const [, patch = "", prerelease, build] = /^([^+-]*)(?:-([^+]*))?(?:\+(.*))?$/s.exec(last) ?? [];
  const [labels, builds] = [prerelease?.split(".") ?? [], build?.split(".") ?? []];
  const parts = { major, minor, patch };
  const numbers = Object.entries(parts).map(([name, numeral]) => numberOf(name, numeral));
  const fault = numbers.find(isError) ?? firstFault(labels, labelFault) ?? firstFault(builds, buildFault);
  return fault ?? new SemverValue(numbers as Integer[], labels);
}

function numberOf(name: string, numeral: string): Integer | CelError {
  if (!/^\d*$/.test(numeral)) return new CelError(`Invalid character(s) found in ${name} number ${goQuote(numeral)}`);
  if (/^0./.test(numeral)) {
    const title = `${name[0]?.toUpperCase()}${name.slice(1)}`;
    return new CelError(`${title} number must not contain leading zeroes ${goQuote(numeral)}`);
  }
  if (numeral === "") return new CelError('strconv.ParseUint: parsing "": invalid syntax');
  const number = int64.check(BigInt(numeral));
  return isError(number) ? new CelError(`strconv.ParseUint: parsing ${goQuote(numeral)}: value out of range`) : number;
}

function firstFault(parts: readonly string[], faultIn: (part: string) => string | undefined): CelError | undefined {
  const [fault] = parts.flatMap((part) => faultIn(part) ?? []);
  return fault === undefined ? undefined : new CelError(fault);
}

function labelFault(label: string): string | undefined {
  if (label === "") return "Prerelease is empty";
  if (!isNumeric(label))
    return isWord(label) ? undefined : `Invalid character(s) found in prerelease ${goQuote(label)}`;
  return /^0./.test(label) ? `Numeric PreRelease version must not contain leading zeroes ${goQuote(label)}` : undefined;
}

function buildFault(part: string): string | undefined {
  if (part === "") return "Build meta data is empty";
  return isWord(part) ? undefined : `Invalid character(s) found in build meta data ${goQuote(part)}`;
}

const isWord = (text: string): boolean => /^[0-9A-Za-z-]+$/.test(text);

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
