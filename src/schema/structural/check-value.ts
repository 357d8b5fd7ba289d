import { equal } from "#lib/data/equal.ts";
import { re2 } from "#lib/text/re2.ts";
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

/**
 * Every fault of a value of a custom resource, in upstream's words. `previous` is the value before the change: what did
 * not change may stay as it is, even if it is wrong by now.
 */
export function checkValue(schema: JsonSchema, value: unknown, previous?: Previous): FieldError[] {
  const check = new Check({ left: maxVisits });
  check.node(schema, value, { path: root, previous });
  return check.faults;
}

/** Every item of a list is checked with every alternative of its schema, so an object can take very long. */
const maxVisits = 100_000;

interface Place {
  readonly path: FieldPath;
  readonly previous: Previous | undefined;
}
type Json = Readonly<Record<string, unknown>>;

/** One walk through a value. The number of things that are right decides which of several alternatives is meant. */
class Check {
  readonly faults: FieldError[] = [];
  readonly #visits: { left: number };
  passed = 0;

  constructor(visits: { left: number }) {
    this.#visits = visits;
  }

  node(schema: JsonSchema, value: unknown, place: Place): void {
    if (this.faults.length >= maxFaults || this.#visits.left < 0) return;
    if (this.#visits.left-- === 0) return this.#about("it takes too long to check all alternatives of the schema");
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

  #add(fault: FieldError): void {
    if (this.faults.length < maxFaults) this.faults.push(fault);
  }

  #invalid(path: FieldPath, value: unknown, detail: string): void {
    this.#add(invalidValue(path, value, `${path} in body ${detail}`));
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
    this.#add(typeInvalid(path, found, `${path} in body must be of type ${types.join(",")}: ${JSON.stringify(found)}`));
  }

  #enum({ enum: allowed }: JsonSchema, value: unknown, path: FieldPath): void {
    if (!allowed || allowed.length === 0 || allowed.some((one) => equal(one, value))) return;
    const shown = allowed.map((one) => (typeof one === "string" ? one : JSON.stringify(one)));
    this.#add(unsupportedValue(path, value, shown));
  }

  #text(schema: JsonSchema, value: string, path: FieldPath): void {
    const { maxLength, minLength, pattern } = schema;
    // A text has at most as many characters as it has code units.
    if (maxLength !== undefined && value.length > maxLength && charactersIn(value) > maxLength) {
      this.#add(tooLong(path, maxLength));
    } else if (minLength !== undefined && (value.length < minLength || charactersIn(value) < minLength)) {
      this.#invalid(path, value, `should be at least ${minLength} chars long`);
    } else if (pattern) this.#pattern(pattern, value, path);
    const hasFormat = compiledOf(schema).format;
    if (!hasFormat || hasFormat(value)) return;
    const { format } = schema;
    this.#add(typeInvalid(path, value, `${path} in body must be of type ${format}: ${JSON.stringify(value)}`));
  }

  #pattern(pattern: string, value: string, path: FieldPath): void {
    const found = re2(pattern).matches(value);
    if (found === true) return;
    const why = found === "too long" ? ", but it is too long for that" : "";
    this.#invalid(path, value, `should match '${pattern}'${why}`);
  }

  #number(schema: JsonSchema, value: number, path: FieldPath): void {
    const { maximum, minimum, multipleOf } = schema;
    const range = compiledOf(schema).range;
    if (range && !range.holds(value)) {
      this.#add(
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
    if (maxItems !== undefined && value.length > maxItems) this.#add(tooMany(path, value.length, maxItems));
  }

  #object(schema: JsonSchema, value: Json, { path, previous }: Place): void {
    const { minProperties, maxProperties, properties = {}, additionalProperties, required = [] } = schema;
    const names = Object.keys(value);
    if (minProperties !== undefined && names.length < minProperties) {
      this.#invalid(path, names.length, `should have at least ${minProperties} properties`);
    }
    if (maxProperties !== undefined && names.length > maxProperties) {
      this.#add(tooMany(path, names.length, maxProperties));
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
    for (const name of required) if (!Object.hasOwn(value, name)) this.#add(requiredValue(path.child(name)));
  }

  #forbidden(path: FieldPath, name: string): void {
    this.#add(invalidValue(path, name, `${path}.${name} in body is a forbidden property`));
  }

  #alternatives(schema: JsonSchema, value: unknown, place: Place): void {
    const { anyOf = [], oneOf = [], allOf = [], not } = schema;
    const path = JSON.stringify(String(place.path));
    if (anyOf.length > 0) this.#anyOf(anyOf, value, { ...place, text: path });
    if (oneOf.length > 0) this.#oneOf(oneOf, value, { ...place, text: path });
    if (allOf.length > 0) this.#allOf(allOf, value, { ...place, text: path });
    if (not && this.#try(not, value, place).faults.length === 0)
      this.#about(`${path} must not validate the schema (not)`);
  }

  /** Such a fault is about the whole, so upstream gives it no path. */
  #about(detail: string): void {
    this.#add(invalidValue("<nil>", "", detail));
  }

  #try(schema: JsonSchema, value: unknown, place: Place): Check {
    const check = new Check(this.#visits);
    check.node(schema, value, { path: place.path, previous: undefined });
    return check;
  }

  #anyOf(schemas: readonly JsonSchema[], value: unknown, place: Place & { readonly text: string }): void {
    const tried: Check[] = [];
    for (const schema of schemas) {
      const check = this.#try(schema, value, place);
      if (check.faults.length === 0) return;
      tried.push(check);
    }
    this.#about(`${place.text} must validate at least one schema (anyOf)`);
    this.#take(best(tried));
  }

  #oneOf(schemas: readonly JsonSchema[], value: unknown, place: Place & { readonly text: string }): void {
    const tried = schemas.map((schema) => this.#try(schema, value, place));
    const valid = tried.filter(({ faults }) => faults.length === 0).length;
    if (valid === 1) return;
    const found = valid === 0 ? "Found none valid" : `Found ${valid} valid alternatives`;
    this.#about(`${place.text} must validate one and only one schema (oneOf). ${found}`);
    if (valid === 0) this.#take(best(tried));
  }

  #allOf(schemas: readonly JsonSchema[], value: unknown, place: Place & { readonly text: string }): void {
    const tried = schemas.map((schema) => this.#try(schema, value, place));
    for (const check of tried) this.#take(check);
    const valid = tried.filter(({ faults }) => faults.length === 0).length;
    if (valid === schemas.length) return;
    this.#about(`${place.text} must validate all the schemas (allOf)${valid === 0 ? ". None validated" : ""}`);
  }

  #take(check: Check | undefined): void {
    for (const fault of check?.faults ?? []) this.#add(fault);
  }
}

/** The alternative that fits best: its faults are probably what the user wants to know. */
const best = (tried: readonly Check[]): Check | undefined =>
  tried.reduce<Check | undefined>((found, check) => (found && found.passed >= check.passed ? found : check), undefined);

function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value;
}

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function charactersIn(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

function isMultiple(value: number, factor: number): boolean {
  if (factor <= 0) return false;
  const times = factor < 1 ? (1 / factor) * value : value / factor;
  return Math.abs(times - Math.round(times)) < 1e-9 * Math.max(1, Math.abs(times));
}
