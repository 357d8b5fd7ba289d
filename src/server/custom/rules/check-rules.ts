import { type Outcome } from "#cel/compile.ts";
import { describeNames } from "#cel/describe-names.ts";
import { valueFor } from "#cel/values/data.ts";
import { noValue, OptionalValue, type Value } from "#cel/values/value.ts";
import { perCallLimit } from "#cel-kubernetes/environment.ts";
import { type Steps } from "#lib/async/turns.ts";
import { equal } from "#lib/data/equal.ts";
import { isObject } from "#lib/data/json-object.ts";
import {
  duplicateValue,
  type FieldError,
  forbiddenValue,
  invalidTogether,
  invalidValue,
  maxFaults,
  requiredValue,
} from "#schema/field-error.ts";
import { itemsOf, type JsonSchema, type ValidationRule } from "#schema/json-schema.ts";
import { previousItem } from "#schema/structural/previous.ts";
import { because } from "#server/refusal.ts";
import { type CompiledRule, type CompiledRules, rulesOf } from "./compile-rules.ts";
import { hasRules } from "./has-rules.ts";

/**
 * Every rule of the schema that a value breaks. `old` is the value before the change; undefined for a new one. All rules of an
 * object may cost ten times as much as one, so there are steps between them.
 */
export function* checkRules(
  schema: JsonSchema,
  value: unknown,
  { old, definition = "" }: { readonly old?: unknown; readonly definition?: string } = {},
): Steps<FieldError[]> {
  const check = new RuleCheck(definition);
  const places: Place[] = [];
  const whole = { schema, value, old, path: "", isResource: true, isSame: () => false, isUpdate: old !== undefined };
  findPlaces(places, whole);
  for (const place of places) yield* check.run(place);
  return check.faults;
}

interface Place {
  readonly schema: JsonSchema;
  readonly value: unknown;
  readonly old: unknown;
  readonly path: string;
  /** It has kind and metadata, whatever its schema says. */
  readonly isResource: boolean;
  /** Whether the value, or the last one around it that can be compared, is the same as before. */
  isSame(): boolean;
  readonly isUpdate: boolean;
}
type Json = Readonly<Record<string, unknown>>;

/** What all rules of one object may cost together. */
const objectBudget = 10_000_000;
/** The same for work that costs do not see, such as patterns. Upstream has no such limit. */
const objectWork = 5_000_000;
/** Cost and work of about a millisecond. */
const longStep = 100_000;
const outOfBudget = "validation failed due to running out of cost budget, no further validation rules will be run";

/** Adds every value that has rules, from the outside in. */
function findPlaces(places: Place[], place: Place): void {
  const { schema, value } = place;
  if (value === null || value === undefined || !hasRules(schema)) return;
  if (schema["x-kubernetes-validations"]?.length) places.push(place);
  if (Array.isArray(value)) findInItems(places, place, value);
  else if (typeof value === "object") findInMembers(places, place, value as Json);
}

function findInItems(places: Place[], place: Place, list: readonly unknown[]): void {
  const items = itemsOf(place.schema);
  if (!items) return;
  const before = Array.isArray(place.old) ? { value: place.old } : undefined;
  for (const [index, value] of list.entries()) {
    const previous = before && previousItem(place.schema, before, value);
    findPlaces(places, innerPlace(place, items, { value, previous, path: `${place.path}[${index}]` }));
  }
}

function findInMembers(places: Place[], place: Place, object: Json): void {
  const { properties = {}, additionalProperties } = place.schema;
  const old = isObject(place.old) ? place.old : undefined;
  for (const [name, value] of Object.entries(object)) {
    const isField = Object.hasOwn(properties, name);
    const schema = isField ? properties[name] : additionalProperties;
    if (typeof schema !== "object") continue;
    const previous = old && Object.hasOwn(old, name) ? { value: old[name] } : undefined;
    const path = isField ? joined(place.path, name) : `${place.path}[${name}]`;
    findPlaces(places, innerPlace(place, schema, { value, previous, path }));
  }
}

function innerPlace(
  place: Place,
  schema: JsonSchema,
  { value, previous, path }: { value: unknown; previous: { readonly value: unknown } | undefined; path: string },
): Place {
  const isResource = schema["x-kubernetes-embedded-resource"] === true;
  const isSame = previous && place.isUpdate ? once(() => equal(previous.value, value)) : place.isSame;
  return { ...place, schema, value, old: previous?.value, path, isResource, isSame };
}

/** All items of an atomic list ask whether the list is the same, and it may be long. */
function once(test: () => boolean): () => boolean {
  let known: boolean | undefined;
  return () => {
    known ??= test();
    return known;
  };
}

/** One check of an object: all its rules share a budget. */
class RuleCheck {
  readonly faults: FieldError[] = [];
  /** The name of the CustomResourceDefinition. */
  readonly #definition: string;
  #budget = objectBudget;
  #work = objectWork;
  #isOver = false;
  #sinceStep = 0;

  constructor(definition: string) {
    this.#definition = definition;
  }

  *run(place: Place): Steps<void> {
    if (this.#isOver) return;
    const compiled = rulesOf(place.schema, place.isResource);
    if (compiled === "no type") return;
    if (this.#budget <= 0) return this.#stop(place, outOfBudget);
    const variables = variablesOf(compiled, place.value, place.old);
    for (const rule of compiled.rules) {
      if (this.#isOver || this.faults.length >= maxFaults) return;
      this.#runRule(place, rule, variables);
      if (this.#sinceStep < longStep) continue;
      this.#sinceStep = 0;
      yield;
    }
  }

  #runRule(place: Place, compiled: CompiledRule, { plain, optional }: VariableSets): void {
    const { rule, program, fault, usesOldSelf } = compiled;
    if (fault !== undefined || !program) return this.#invalid(place, `rule compile error: ${fault ?? ""}`);
    const hasOld = place.old !== undefined && place.old !== null;
    if (usesOldSelf && !hasOld && !rule.optionalOldSelf) return;
    const variables = rule.optionalOldSelf ? optional : plain;
    const outcome = program.evaluate(variables, perCallLimit);
    if (!this.#pay(outcome)) return this.#stop(place, outOfBudget);
    if (outcome.error !== undefined) return this.#failed(place, rule, outcome);
    if (outcome.value === true) return;
    // What was wrong before may stay so while it does not change.
    if (!usesOldSelf && place.isSame()) return;
    const detail = this.#messageOf(place, compiled, variables);
    if (detail === undefined) return;
    const cause = { by: `rule of the CustomResourceDefinition ${this.#definition}`.trim(), expression: rule.rule };
    this.faults.push(
      because(faultOf(place, compiled, detail), { ...cause, values: describeNames(program, variables) }),
    );
  }

  /** Whether there was enough left for it. An evaluation that was stopped is reported as such, and is the last one. */
  #pay(outcome: Outcome): boolean {
    const isStopped = outcome.error !== undefined && outcome.isOverBudget;
    this.#sinceStep += outcome.cost + outcome.work;
    this.#budget -= outcome.cost;
    if (!isStopped) this.#work -= outcome.work;
    return this.#budget >= 0 && this.#work >= 0;
  }

  #failed(place: Place, rule: ValidationRule, { error = "", isOverBudget }: Outcome & { isOverBudget?: true }): void {
    const about = textOf(rule);
    if (isOverBudget) {
      const why = "no further validation rules will be run due to call cost exceeds limit for rule";
      return this.#stop(place, `'${error}': ${why}: ${about}`);
    }
    if (error.startsWith("no such overload")) {
      const why = "call arguments did not match a supported operator, function or macro signature for rule";
      return this.#invalid(place, `'${error}': ${why}: ${about}`);
    }
    this.#invalid(place, `${error} evaluating rule: ${about}`);
  }

  /** The text for a value that breaks a rule. undefined: making it took too long, and everything ends. */
  #messageOf(place: Place, { rule, message }: CompiledRule, variables: Variables): string | undefined {
    const usual = rule.message ? rule.message.trim() : `failed rule: ${textOf(rule)}`;
    if (!message) return usual;
    const outcome = message.evaluate(variables, perCallLimit);
    const about = JSON.stringify(rule.messageExpression);
    if (!this.#pay(outcome)) {
      this.#stop(
        place,
        `messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run`,
      );
      return undefined;
    }
    if (outcome.error !== undefined && outcome.isOverBudget) {
      const why = "no further validation rules will be run due to call cost exceeds limit for messageExpression";
      this.#stop(place, `${why}: ${about}`);
      return undefined;
    }
    const text = typeof outcome.value === "string" ? outcome.value.trim() : "";
    return text === "" || text.includes("\n") || Buffer.byteLength(text) > maxMessageBytes ? usual : text;
  }

  #invalid(place: Place, detail: string): void {
    this.faults.push(invalidValue(place.path || "<nil>", place.schema.type ?? "", detail));
  }

  #stop(place: Place, detail: string): void {
    this.#isOver = true;
    this.#invalid(place, detail);
  }
}

const maxMessageBytes = 5 * 1024;

const textOf = (rule: ValidationRule): string => (rule.message || rule.rule).trim();
const joined = (path: string, name: string): string => (path ? `${path}.${name}` : name);

function faultOf({ schema, value, path }: Place, { rule, path: below }: CompiledRule, detail: string): FieldError {
  const at = `${path}${below}`.replace(/^\./, "") || "<nil>";
  const isWhole = schema.type === "object" || schema.type === "array";
  switch (rule.reason) {
    case "FieldValueForbidden":
      return forbiddenValue(at, detail);
    case "FieldValueRequired":
      return requiredValue(at, detail);
    case "FieldValueDuplicate":
      return isWhole
        ? { path: at, reason: "FieldValueDuplicate", message: "Duplicate value" }
        : duplicateValue(at, value);
    default:
      return isWhole ? invalidTogether(at, detail) : invalidValue(at, value, detail);
  }
}

type Variables = ReadonlyMap<string, Value>;

/** The variables of the rules of one value. For some rules the previous value is optional. */
interface VariableSets {
  readonly plain: Variables;
  readonly optional: Variables;
}

function variablesOf({ declared }: CompiledRules, value: unknown, old: unknown): VariableSets {
  const self = valueFor(declared.type, value);
  if (old === undefined || old === null) {
    return { plain: namesOf(self), optional: namesOf(self, noValue) };
  }
  const oldSelf = valueFor(declared.type, old);
  return { plain: namesOf(self, oldSelf), optional: namesOf(self, new OptionalValue(oldSelf)) };
}

const namesOf = (self: Value, oldSelf?: Value): Variables =>
  new Map(
    oldSelf === undefined
      ? [["self", self]]
      : [
          ["self", self],
          ["oldSelf", oldSelf],
        ],
  );
