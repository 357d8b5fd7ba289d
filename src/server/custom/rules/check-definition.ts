import { type CustomResourceDefinition } from "#api/apiextensions/definition-fields.ts";
import { type Cursor, faultsIn } from "#api/cursor.ts";
import { inTurns, type Steps } from "#lib/async/turns.ts";
import { equal } from "#lib/data/equal.ts";
import { Re2Error, re2 } from "#lib/pattern/re2.ts";
import { type FieldError, forbiddenValue } from "#schema/field-error.ts";
import { itemsOf, type JsonSchema, type ValidationRule } from "#schema/json-schema.ts";
import { type CompiledRule, type CompiledRules, hintsOf, rulesInSteps } from "./compile-rules.ts";
import { hasRules } from "./has-rules.ts";

/** What is wrong with the patterns and rules of a definition. Compiling them takes a while, so others get their turn. */
export async function definitionFaults(
  definition: CustomResourceDefinition,
  old: CustomResourceDefinition | undefined,
): Promise<FieldError[]> {
  const faults: FieldError[] = [];
  const { versions } = definition.spec;
  const [first] = versions;
  const isShared = versions.every(({ schema }) => equal(schema, first?.schema));
  for (const [index, { name, schema }] of (isShared ? versions.slice(0, 1) : versions).entries()) {
    const json = schema?.openAPIV3Schema;
    const before = old?.spec.versions.find((version) => version.name === name)?.schema?.openAPIV3Schema;
    // What was accepted once is not checked again.
    if (!json || (before && equal(before, json))) continue;
    const path = isShared ? ["validation"] : [`versions[${index}]`, "schema"];
    await inTurns(checkSchema(json, ["spec", ...path, "openAPIV3Schema"], faults));
  }
  return faults;
}

/** More patterns than any schema has; compiling many more would take minutes. */
const maxPatterns = 5_000;
const maxRules = 1_000;

function* checkSchema(json: JsonSchema, path: readonly string[], faults: FieldError[]): Steps<void> {
  let at: Cursor<JsonSchema> | undefined;
  faultsIn(
    json,
    (root) => {
      at = root.under(...path);
    },
    faults,
  );
  if (!at) return;
  const totals: Totals = { cost: 0, expensive: [], patterns: new Set(), rules: 0 };
  yield* checkPatterns(at, totals);
  if (hasRules(json)) yield* checkNode(at, { totals, cardinality: 1, isResource: true, uncorrelatable: undefined });
  if (totals.cost <= maxDefinitionCost) return;
  for (const expensive of totals.expensive) {
    const why = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
    at.add(() => forbiddenValue(expensive.path, why));
  }
  const what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
  at.forbidden(costText(what, totals.cost, maxDefinitionCost));
}

/** What has been found in one schema so far. */
interface Totals {
  cost: number;
  /** The most expensive rules. */
  expensive: { readonly path: string; readonly cost: number }[];
  readonly patterns: Set<string>;
  rules: number;
}

function* checkPatterns(at: Cursor<JsonSchema>, totals: Totals): Steps<void> {
  if (at.isFull) return;
  const { value: schema } = at;
  if (schema.pattern !== undefined && !totals.patterns.has(schema.pattern)) {
    totals.patterns.add(schema.pattern);
    if (totals.patterns.size > maxPatterns) return at.field("pattern").forbidden(`more than ${maxPatterns} patterns`);
    checkPattern(at.field("pattern").as(schema.pattern));
    yield;
  }
  for (const child of childrenAt(at)) yield* checkPatterns(child, totals);
  for (const name of ["allOf", "anyOf", "oneOf"] as const) {
    for (const [index, one] of (schema[name] ?? []).entries()) {
      yield* checkPatterns(at.field(name).key(index, one), totals);
    }
  }
  if (schema.not) yield* checkPatterns(at.under("not").as(schema.not), totals);
}

function checkPattern(at: Cursor<string>): void {
  try {
    re2(at.value);
  } catch (error) {
    if (!(error instanceof Re2Error)) throw error;
    at.invalid(`must be a valid regular expression, but isn't: ${error.message}`);
  }
}

function* childrenAt(at: Cursor<JsonSchema>): Iterable<Cursor<JsonSchema>> {
  const { properties = {}, additionalProperties } = at.value;
  const items = itemsOf(at.value);
  if (items) yield at.under("items").as(items);
  for (const [name, property] of Object.entries(properties)) yield at.under("properties").key(name, property);
  if (typeof additionalProperties === "object") yield at.under("additionalProperties").as(additionalProperties);
}

interface Position {
  readonly totals: Totals;
  /** How many values of this schema an object can have; undefined if nothing limits them. */
  readonly cardinality: number | undefined;
  readonly isResource: boolean;
  /** The schema around this one whose items cannot be compared with the previous ones. */
  readonly uncorrelatable: string | undefined;
}

function* checkNode(at: Cursor<JsonSchema>, position: Position): Steps<void> {
  const { value: schema } = at;
  if (at.isFull || !hasRules(schema)) return;
  if (schema["x-kubernetes-validations"]?.length) {
    position.totals.rules += schema["x-kubernetes-validations"].length;
    if (position.totals.rules > maxRules)
      return at.field("x-kubernetes-validations").forbidden(`more than ${maxRules} rules`);
    yield* checkRulesOf(at, position);
  }
  for (const child of childrenAt(at)) {
    const isItem = child.value === itemsOf(schema);
    const loses = isItem && schema["x-kubernetes-list-type"] !== "map";
    yield* checkNode(child, {
      totals: position.totals,
      cardinality: childCardinality(schema, position.cardinality),
      isResource: child.value["x-kubernetes-embedded-resource"] === true,
      uncorrelatable: position.uncorrelatable ?? (loses ? String(at) : undefined),
    });
  }
}

function childCardinality(schema: JsonSchema, cardinality: number | undefined): number | undefined {
  const isMap = schema.type === "object" && schema.additionalProperties !== undefined;
  const most = schema.type === "array" ? schema.maxItems : isMap ? schema.maxProperties : 1;
  return cardinality === undefined || most === undefined ? undefined : cardinality * most;
}

const maxRequestBytes = 3 * 1024 * 1024;
const maxRuleCost = 10_000_000;
const maxDefinitionCost = 100_000_000;

function* checkRulesOf(at: Cursor<JsonSchema>, position: Position): Steps<void> {
  const compiled = yield* rulesInSteps(at.value, position.isResource);
  if (compiled === "no type") return;
  for (const [index, rule] of compiled.rules.entries()) {
    checkRule(at.field("x-kubernetes-validations").key(index, rule.rule), { compiled, rule, position });
    yield;
  }
}

function checkRule(
  at: Cursor<CompiledRule["rule"]>,
  { compiled, rule, position }: { compiled: CompiledRules; rule: CompiledRule; position: Position },
): void {
  const { declared } = compiled;
  const times = position.cardinality ?? Math.floor(maxRequestBytes / (declared.minBytes + 1));
  const place = at.field("rule");
  const cost = (rule.program?.estimateCost(hintsOf(compiled)).max ?? 0) * times;
  observe(place, position.totals, { cost, what: "estimated rule cost" });
  if (rule.fault !== undefined) place.invalid(rule.fault, shown(rule.rule));
  if (rule.messageFault !== undefined) at.under("messageExpression").invalid(rule.messageFault, shown(rule.rule));
  if (rule.message) {
    const messageCost = rule.message.estimateCost(hintsOf(compiled)).max;
    observe(at.under("messageExpression"), position.totals, {
      cost: messageCost,
      what: "estimated messageExpression cost",
    });
  }
  if (rule.usesOldSelf && position.uncorrelatable !== undefined) {
    const where = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${position.uncorrelatable}`;
    place.invalid(where);
  }
  if (!rule.usesOldSelf && rule.fault === undefined && rule.rule.optionalOldSelf !== undefined) {
    at.field("optionalOldSelf").invalid("may not be set if oldSelf is not used in rule");
  }
}

/** A rule as upstream shows it: with the names of its Go type, and the fields that are not set. */
const shown = (rule: ValidationRule): object => ({
  Rule: rule.rule,
  Message: rule.message ?? "",
  MessageExpression: rule.messageExpression ?? "",
  Reason: rule.reason ?? null,
  FieldPath: rule.fieldPath ?? "",
  OptionalOldSelf: rule.optionalOldSelf ?? null,
});

function observe(at: Cursor, totals: Totals, { cost, what }: { readonly cost: number; readonly what: string }): void {
  if (cost > maxRuleCost) at.forbidden(costText(what, cost, maxRuleCost));
  totals.cost += cost;
  if (cost < maxDefinitionCost / 100) return;
  totals.expensive = [...totals.expensive, { path: String(at), cost }].sort((a, b) => b.cost - a.cost).slice(0, 4);
}

function costText(what: string, cost: number, limit: number): string {
  const factor = cost / limit;
  const text = factor > 100 ? "more than 100x" : factor < 1.5 ? `${factor.toFixed(6)}x` : `${factor.toFixed(1)}x`;
  return `${what} exceeds budget by factor of ${text} (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)`;
}
