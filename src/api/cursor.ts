import {
  duplicateValue,
  type FieldError,
  forbiddenValue,
  invalidTogether,
  invalidValue,
  maxFaults,
  notFoundValue,
  requiredValue,
  tooLong,
  tooMany,
  typeInvalid,
  unsupportedValue,
} from "#schema/field-error.ts";
import { type Schema } from "#schema/schema.ts";
import { semanticEqual } from "./meta/equal.ts";
import { type Rule } from "./meta/names.ts";

/** What the checks of an object have found. */
interface Findings {
  readonly faults: FieldError[];
  readonly warnings: string[];
  /** Number of faults, including those that are not kept. */
  count: number;
  /** Of the texts that are kept. */
  characters: number;
}

/** As of faults: nobody reads more than these. */
const maxWarnings = 200;
/** A fault may show a list of thousands of items. After so much text, no more faults or warnings are kept. */
const maxCharacters = 1 << 20;

type Name<T> = keyof T & string;
/** Names of the fields that hold a list. */
type ListName<T> = { [K in Name<T>]: NonNullable<T[K]> extends readonly unknown[] ? K : never }[Name<T>];
/** Names of the fields that hold a map. */
type MapName<T> = { [K in Name<T>]: NonNullable<T[K]> extends Readonly<Record<string, unknown>> ? K : never }[Name<T>];
type ItemOf<L> = NonNullable<L> extends readonly (infer I)[] ? I : never;
type ValueOf<M> = NonNullable<M> extends Readonly<Record<string, infer V>> ? V : never;

/**
 * A place in an object that is being checked: its value, its path, and where the faults go. The rules of all kinds are
 * written with it:
 *
 *     at.field("name").rule(dns1123Label);
 *     at.each("tolerations", validateToleration);
 *     if (spec.hostNetwork) at.field("hostNetwork").forbidden("when `hostUsers` is false");
 *
 * The text of a path is made only for a fault, so a sound object costs little.
 */
export class Cursor<out T = unknown> {
  readonly value: T;
  readonly #findings: Findings;
  /** The cursor that this one was made from, and the step between them; none at the top. */
  #from: Cursor | undefined;
  #step: string | number = "";
  /** An index or a key, which is written in brackets. */
  #isKey = false;

  constructor(value: T, findings: Findings) {
    this.value = value;
    this.#findings = findings;
  }
  toString(): string {
    const before = this.#from?.toString() ?? "";
    if (this.#isKey) return `${before}[${this.#step}]`;
    return before === "" ? String(this.#step) : `${before}.${this.#step}`;
  }

  field<K extends Name<T>>(name: K): Cursor<T[K]> {
    return this.#child(this.value[name], name);
  }
  /** The field, if it holds something: not undefined, "", 0 or false. */
  set<K extends Name<T>>(name: K): Cursor<NonNullable<T[K]>> | undefined {
    const value = this.value[name];
    return value ? this.#child(value, name) : undefined;
  }
  /** Visits the field if it is there. */
  on<K extends Name<T>>(name: K, visit: (at: Cursor<NonNullable<T[K]>>) => void): void {
    const value = this.value[name];
    if (value !== undefined && value !== null) visit(this.#child(value, name));
  }
  /** Visits every item of the list that the field holds. */
  each<K extends ListName<T>>(name: K, visit: (at: Cursor<ItemOf<T[K]>>, index: number) => void): void {
    const list = this.value[name] as readonly ItemOf<T[K]>[] | undefined;
    if (!list?.length) return;
    const at = this.field(name);
    for (let index = 0; index < list.length; index++) visit(at.key(index, list[index] as ItemOf<T[K]>), index);
  }
  /** Visits every value of the map that the field holds, with its key. */
  eachKey<K extends MapName<T>>(name: K, visit: (at: Cursor<ValueOf<T[K]>>, key: string) => void): void {
    const map = this.value[name] as Readonly<Record<string, ValueOf<T[K]>>> | undefined;
    if (!map) return;
    const at = this.field(name);
    for (const [key, value] of Object.entries(map)) visit(at.key(key, value), key);
  }
  /**
   * Visits the one field of these that is set. Adds a fault if none is, and one for each further field. `type` says what
   * they are, as in "volume".
   */
  exactlyOne<K extends Name<T>>(names: readonly K[], type: string, visit: (name: K) => void): void {
    // Few of the names are there, so it is quicker to look at what is there.
    const found: K[] = [];
    for (const name of Object.keys(this.value as object) as K[]) {
      if (names.includes(name) && this.value[name] !== undefined) found.push(name);
    }
    if (found.length > 1) found.sort((a, b) => names.indexOf(a) - names.indexOf(b));
    const [first] = found;
    if (first === undefined) this.missing(`must specify a ${type} type`);
    else visit(first);
    for (let at = 1; at < found.length; at++) {
      this.field(found[at] as K).forbidden(`may not specify more than 1 ${type} type`);
    }
  }
  /** A path that differs from the names of fields. The value stays the same. */
  under(...names: readonly string[]): Cursor<T> {
    let at: Cursor<T> = this;
    for (const name of names) at = at.#child(this.value, name);
    return at;
  }
  /** The same place with another value, which stands for the one that is there. */
  as<V>(value: V): Cursor<V> {
    const at = new Cursor(value, this.#findings);
    at.#from = this.#from;
    at.#step = this.#step;
    at.#isKey = this.#isKey;
    return at;
  }
  /** `[key]` of a map or a list. */
  key<V>(key: string | number, value: V): Cursor<V> {
    const at = this.#child(value, key);
    at.#isKey = true;
    return at;
  }
  #child<V>(value: V, step: string | number): Cursor<V> {
    const at = new Cursor(value, this.#findings);
    at.#from = this;
    at.#step = step;
    return at;
  }

  /** Number of faults so far. A caller compares it to see whether a check found any. */
  get faultCount(): number {
    return this.#findings.count;
  }
  /** Whether no further fault is kept, so that looking for more of them is a waste of time. */
  get isFull(): boolean {
    return this.#findings.count >= maxFaults || this.#findings.characters >= maxCharacters;
  }
  /** Adds every fault that the rule finds in the value, or in another text that stands for it. */
  rule(rule: Rule, value: unknown = this.value): void {
    if (typeof value !== "string") return;
    for (const detail of rule.all(value)) this.invalid(detail, value);
  }
  /** Adds a fault if the value is missing. Returns whether it is there. */
  required(detail?: string): boolean {
    const { value } = this;
    const isThere = value !== undefined && value !== "" && !(Array.isArray(value) && value.length === 0);
    if (!isThere) this.missing(detail);
    return isThere;
  }
  oneOf(values: readonly string[]): void {
    if (!values.some((value) => value === this.value)) this.unsupported(values);
  }
  atLeast(min: number): void {
    if (Number(this.value ?? 0) < min) this.invalid(`must be greater than or equal to ${min}`);
  }
  /** Adds a fault if the value has changed. */
  immutable(schema: Schema, old: T): void {
    if (!semanticEqual(schema, this.value, old)) this.invalid("field is immutable");
  }
  /** Adds a fault if the value was seen before, and remembers it. */
  unique(seen: Set<unknown>): void {
    if (seen.has(this.value)) this.duplicate();
    seen.add(this.value);
  }

  /** Adds a fault, unless there is no detail. */
  invalid(detail: string | undefined, shown: unknown = this.value): void {
    if (detail !== undefined) this.add(() => invalidValue(this, shown, detail));
  }
  /** The same for a fault of several fields together, which shows no value. */
  contradictory(detail: string): void {
    this.add(() => invalidTogether(this, detail));
  }
  forbidden(detail: string): void {
    this.add(() => forbiddenValue(this, detail));
  }
  missing(detail?: string): void {
    this.add(() => requiredValue(this, detail));
  }
  duplicate(shown: unknown = this.value, detail?: string): void {
    this.add(() => duplicateValue(this, shown, detail));
  }
  notFound(): void {
    this.add(() => notFoundValue(this, this.value));
  }
  unsupported(values: readonly string[], shown: unknown = this.value): void {
    this.add(() => unsupportedValue(this, shown, values));
  }
  wrongType(detail: string): void {
    this.add(() => typeInvalid(this, this.value, detail));
  }
  tooLong(max: number): void {
    this.add(() => tooLong(this, max));
  }
  tooMany(actual: number, max: number): void {
    this.add(() => tooMany(this, actual, max));
  }
  /** Adds a fault. It is only built if it is kept. */
  add(make: () => FieldError): void {
    const { faults } = this.#findings;
    const { isFull } = this;
    this.#findings.count++;
    if (isFull) return;
    const fault = make();
    this.#findings.characters += fault.path.length + fault.message.length;
    faults.push(fault);
  }
  /** A warning about something that is allowed but probably not intended. A text that is made is only made if it is kept. */
  warn(text: string | (() => string)): void {
    this.note(() => `${this}: ${typeof text === "string" ? text : text()}`);
  }
  /** The same without the path. */
  note(text: string | (() => string)): void {
    const { warnings } = this.#findings;
    if (warnings.length >= maxWarnings || this.#findings.characters >= maxCharacters) return;
    const made = typeof text === "string" ? text : text();
    this.#findings.characters += made.length;
    warnings.push(made);
  }
}

/** Every fault that the checks find in the value. */
export function faultsIn<T>(value: T, visit: (at: Cursor<T>) => void, faults: FieldError[] = []): FieldError[] {
  visit(new Cursor(value, { faults, warnings: [], count: 0, characters: 0 }));
  return faults;
}

/** Every warning that the checks have about the value. */
export function warningsIn<T>(value: T, visit: (at: Cursor<T>) => void): string[] {
  const warnings: string[] = [];
  visit(new Cursor(value, { faults: [], warnings, count: 0, characters: 0 }));
  return warnings;
}
