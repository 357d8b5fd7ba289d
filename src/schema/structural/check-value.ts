import { equal } from "#lib/data/equal.ts";
import { isObject } from "#lib/data/json-object.ts";
import { isCompiled, type Re2, Re2Error, re2 } from "#lib/pattern/re2.ts";
import { sortedJson } from "#lib/text/json.ts";
import {
  type FieldError,
  FieldPath,
  invalidValue,
  maxFaults,
  requiredValue,
  root,
  tooLong,
  tooMany,
  typeInvalid,
  unsupportedValue,
} from "../field-error.ts";
import { itemsOf, type JsonSchema } from "../json-schema.ts";
import { compiledOf } from "./compiled.ts";
import { type Previous, previousItem, previousMember } from "./previous.ts";

/** How much time checks may take: several can share it. */
export interface Work {
  left: number;
}
export const someWork = (): Work => ({ left: maxWork });

export interface CheckOptions {
  /** The value before the change: what did not change may stay as it is, even if it is wrong by now. */
  readonly previous?: Previous | undefined;
  readonly work?: Work;
}

/** Every fault of a value of a custom resource, in upstream's words. */
export function checkValue(
  schema: JsonSchema,
  value: unknown,
  { previous, work = someWork() }: CheckOptions = {},
): FieldError[] {
  const check = new Check(work);
  check.node(schema, value, { path: root, previous });
  // Not everything was checked, so nothing else is certain.
  if (work.left < 0) return [invalidValue("<nil>", "", "it takes too long to check the object by its schema")];
  return check.faults.map((fault) => fault());
}

/**
 * Every item of a list is checked with every alternative of its schema, and every text with its pattern, so an object
 * could take very long. A unit is about a microsecond.
 */
const maxWork = 50_000;
const stepsPerUnit = 50;
const unitsPerInstruction = 5;
/** Characters that are counted, compared or quoted. */
const charsPerUnit = 200;
const namesPerUnit = 20;

interface Place {
  readonly path: FieldPath;
  readonly previous: Previous | undefined;
}
type Json = Readonly<Record<string, unknown>>;

/** One walk through a value. The number of things that are right decides which of several alternatives is meant. */
class Check {
  /** Made only when they are reported: most of those of alternatives are not. */
  readonly faults: (() => FieldError)[] = [];
  readonly #work: Work;
  passed = 0;

  constructor(work: Work) {
    this.#work = work;
  }

  node(schema: JsonSchema, value: unknown, place: Place): void {
    if (this.faults.length >= maxFaults || !this.#mayWork(1)) return;
    // What is the same as before is not looked at again.
    if (place.previous && equal(place.previous.value, value)) return;
    this.#type(schema, value, place.path);
    if (value === null) return this.#enum(schema, value, place.path);
    this.#alternatives(schema, value, place);
    if (typeof value === "string") this.#text(schema, value, place.path);
    else if (typeof value === "number") this.#number(schema, value, place.path);
    else if (Array.isArray(value)) this.#list(schema, value, place);
    this.#enum(schema, value, place.path);
    if (isObject(value)) this.#object(schema, value, place);
    this.passed++;
  }

  /** Whether there is time left for this much. If not, everything ends. */
  #mayWork(units: number): boolean {
    if (this.#work.left < 0) return false;
    this.#work.left -= units;
    return this.#work.left >= 0;
  }

  #add(fault: () => FieldError): void {
    if (this.faults.length < maxFaults) this.faults.push(fault);
  }

  /** The message quotes the value. */
  #invalid(path: FieldPath, value: unknown, detail: string): void {
    if (typeof value === "string" && !this.#mayWork(value.length / charsPerUnit)) return;
    this.#add(() => invalidValue(path, value, `${path} in body ${detail}`));
  }

  #type(schema: JsonSchema, value: unknown, path: FieldPath): void {
    const types = compiledOf(schema).types;
    if (types.length === 0) return;
    const found = typeOf(value);
    const isInteger = found === "integer" && types.includes("number");
    if ((value === null && schema.nullable) || types.includes(found) || isInteger) {
      this.passed++;
      return;
    }
    this.#add(() =>
      typeInvalid(path, found, `${path} in body must be of type ${types.join(",")}: ${JSON.stringify(found)}`),
    );
  }

  #enum(schema: JsonSchema, value: unknown, path: FieldPath): void {
    const { allowed } = compiledOf(schema);
    if (!allowed || allowed.plain.has(value) || !this.#mayWork(0)) return;
    const isPlain = typeof value !== "object" || value === null;
    const text = isPlain ? "" : sortedJson(value);
    if (!this.#mayWork(text.length / charsPerUnit) || (!isPlain && allowed.texts.has(text))) return;
    // The message has all of them.
    const chars = allowed.chars + (typeof value === "string" ? value.length : text.length);
    if (!this.#mayWork(chars / charsPerUnit)) return;
    const shown = () => allowed.list.map((one) => (typeof one === "string" ? one : JSON.stringify(one)));
    this.#add(() => unsupportedValue(path, value, shown()));
  }

  #text(schema: JsonSchema, value: string, path: FieldPath): void {
    const { maxLength, minLength, pattern } = schema;
    if (maxLength !== undefined && this.#isLonger(value, maxLength)) {
      this.#add(() => tooLong(path, maxLength));
    } else if (minLength !== undefined && !this.#isLonger(value, minLength - 1)) {
      this.#invalid(path, value, `should be at least ${minLength} chars long`);
    } else if (pattern) this.#pattern(pattern, value, path);
    const hasFormat = compiledOf(schema).format;
    if (!hasFormat || !this.#mayWork(value.length / charsPerUnit) || hasFormat(value)) return;
    if (!this.#mayWork((2 * value.length) / charsPerUnit)) return;
    const { format } = schema;
    this.#add(() => typeInvalid(path, value, `${path} in body must be of type ${format}: ${JSON.stringify(value)}`));
  }

  /** Whether a text has more characters than this. Each has one or two code units, so usually none has to be looked at. */
  #isLonger(text: string, count: number): boolean {
    if (text.length <= count) return false;
    if (text.length > 2 * count) return true;
    return this.#mayWork(text.length / charsPerUnit) && charactersIn(text) > count;
  }

  #pattern(pattern: string, value: string, path: FieldPath): void {
    const isNew = !isCompiled(pattern);
    const compiled = compiledPattern(pattern);
    if (compiled instanceof Re2Error) {
      return this.#invalid(path, value, `should match '${pattern}, but pattern is invalid: ${compiled.message}'`);
    }
    const units = compiled.stepsFor(value) / stepsPerUnit + (isNew ? compiled.size * unitsPerInstruction : 0);
    if (!this.#mayWork(units) || compiled.matches(value)) return;
    this.#invalid(path, value, `should match '${pattern}'`);
  }

  #number(schema: JsonSchema, value: number, path: FieldPath): void {
    const { maximum, minimum, multipleOf } = schema;
    const range = compiledOf(schema).range;
    if (range && !range.holds(value)) {
      this.#add(() =>
        invalidValue(
          "<nil>",
          "",
          `Checked value must be of type ${range.type} with format ${schema.format} in ${path}`,
        ),
      );
    }
    if (multipleOf !== undefined && !isMultiple(value, multipleOf)) {
      this.#invalid(path, value, `should be a multiple of ${multipleOf}`);
    }
    if (minimum !== undefined && (schema.exclusiveMinimum ? value <= minimum : value < minimum)) {
      this.#invalid(path, value, `should be greater than ${schema.exclusiveMinimum ? "" : "or equal to "}${minimum}`);
    }
    if (maximum !== undefined && (schema.exclusiveMaximum ? value >= maximum : value > maximum)) {
      this.#invalid(path, value, `should be less than ${schema.exclusiveMaximum ? "" : "or equal to "}${maximum}`);
    }
  }

  #list(schema: JsonSchema, value: readonly unknown[], { path, previous }: Place): void {
    const { minItems, maxItems } = schema;
    const items = itemsOf(schema);
    if (items) {
      for (const [index, item] of value.entries()) {
        this.node(items, item, { path: path.index(index), previous: previousItem(schema, previous, item) });
      }
    }
    if (minItems !== undefined && value.length < minItems) {
      this.#invalid(path, value.length, `should have at least ${minItems} items`);
    }
    if (maxItems !== undefined && value.length > maxItems) this.#add(() => tooMany(path, value.length, maxItems));
  }

  #object(schema: JsonSchema, value: Json, { path, previous }: Place): void {
    const { minProperties, maxProperties, properties = {}, additionalProperties, required = [] } = schema;
    const names = Object.keys(value);
    if (minProperties !== undefined && names.length < minProperties) {
      this.#invalid(path, names.length, `should have at least ${minProperties} properties`);
    }
    if (maxProperties !== undefined && names.length > maxProperties) {
      this.#add(() => tooMany(path, names.length, maxProperties));
    }
    for (const name of names) {
      const isKnown = Object.hasOwn(properties, name);
      const member = isKnown ? properties[name] : additionalProperties;
      if (member === false) this.#forbidden(path, name);
      if (typeof member !== "object") continue;
      this.node(member, value[name], {
        path: path.child(name),
        previous: previousMember(previous, name, path === root),
      });
    }
    this.#required(required, value, path);
  }

  #required(required: readonly string[], value: Json, path: FieldPath): void {
    let looked = 0;
    for (const name of required) {
      if (this.faults.length >= maxFaults) break;
      looked++;
      if (!Object.hasOwn(value, name)) this.#add(() => requiredValue(path.child(name)));
    }
    this.#mayWork(looked / namesPerUnit);
  }

  #forbidden(path: FieldPath, name: string): void {
    this.#add(() => invalidValue(path, name, `${path}.${name} in body is a forbidden property`));
  }

  #alternatives(schema: JsonSchema, value: unknown, place: Place): void {
    const { anyOf, oneOf, allOf, not } = schema;
    if (anyOf) this.#anyOf(anyOf, value, place);
    if (oneOf) this.#oneOf(oneOf, value, place);
    if (allOf) this.#allOf(allOf, value, place);
    if (not && this.#try(not, value, place).faults.length === 0) {
      this.#about(() => `${quoted(place)} must not validate the schema (not)`);
    }
  }

  /** Such a fault is about the whole, so upstream gives it no path. */
  #about(detail: () => string): void {
    this.#add(() => invalidValue("<nil>", "", detail()));
  }

  #try(schema: JsonSchema, value: unknown, place: Place): Check {
    const check = new Check(this.#work);
    check.node(schema, value, { path: place.path, previous: undefined });
    return check;
  }

  #anyOf(schemas: readonly JsonSchema[], value: unknown, place: Place): void {
    const tried: Check[] = [];
    for (const schema of schemas) {
      const check = this.#try(schema, value, place);
      if (check.faults.length === 0) return;
      tried.push(check);
    }
    this.#about(() => `${quoted(place)} must validate at least one schema (anyOf)`);
    this.#take(best(tried));
  }

  #oneOf(schemas: readonly JsonSchema[], value: unknown, place: Place): void {
    const tried = schemas.map((schema) => this.#try(schema, value, place));
    const valid = tried.filter(({ faults }) => faults.length === 0).length;
    if (valid === 1) return;
    const found = valid === 0 ? "Found none valid" : `Found ${valid} valid alternatives`;
    this.#about(() => `${quoted(place)} must validate one and only one schema (oneOf). ${found}`);
    if (valid === 0) this.#take(best(tried));
  }

  #allOf(schemas: readonly JsonSchema[], value: unknown, place: Place): void {
    const tried = schemas.map((schema) => this.#try(schema, value, place));
    for (const check of tried) this.#take(check);
    const valid = tried.filter(({ faults }) => faults.length === 0).length;
    if (valid === schemas.length) return;
    this.#about(() => `${quoted(place)} must validate all the schemas (allOf)${valid === 0 ? ". None validated" : ""}`);
  }

  #take(check: Check | undefined): void {
    for (const fault of check?.faults ?? []) this.#add(fault);
  }
}

function compiledPattern(pattern: string): Re2 | Re2Error {
  try {
    return re2(pattern);
  } catch (error) {
    if (error instanceof Re2Error) return error;
    throw error;
  }
}

const quoted = ({ path }: Place): string => JSON.stringify(String(path));

/** The alternative that fits best: its faults are probably what the user wants to know. */
const best = (tried: readonly Check[]): Check | undefined =>
  tried.reduce<Check | undefined>((found, check) => (found && found.passed >= check.passed ? found : check), undefined);

function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value;
}

function charactersIn(text: string): number {
  let count = text.length;
  for (let at = 1; at < text.length; at++) {
    if (!isLow(text.charCodeAt(at)) || !isHigh(text.charCodeAt(at - 1))) continue;
    count--;
    at++;
  }
  return count;
}

const isHigh = (code: number): boolean => (code & 0xfc00) === 0xd800;
const isLow = (code: number): boolean => (code & 0xfc00) === 0xdc00;

function isMultiple(value: number, factor: number): boolean {
  if (factor <= 0) return false;
  const times = factor < 1 ? (1 / factor) * value : value / factor;
  return Math.abs(times - Math.round(times)) < 1e-9 * Math.max(1, Math.abs(times));
}
