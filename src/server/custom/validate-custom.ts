import { type Cursor } from "#api/cursor.ts";
import { qualifiedName } from "#api/meta/names.ts";
import { type ApiObject, type Resource } from "#api/resource.ts";
import { type Steps } from "#lib/async/turns.ts";
import { isObject } from "#lib/data/json-object.ts";
import { type FieldError, invalidValue } from "#schema/field-error.ts";
import { showGo } from "#schema/json/show-go.ts";
import { type JsonSchema, memberOf } from "#schema/json-schema.ts";
import { checkLists } from "#schema/structural/check-lists.ts";
import { checkValue } from "#schema/structural/check-value.ts";
import { checkRules } from "./rules/check-rules.ts";
import { hasRules } from "./rules/has-rules.ts";
import { validateEmbedded } from "./validate-embedded.ts";

type Part = Pick<Resource, "subresources" | "plural" | "group">;

/** The faults of a custom resource, by its own schema. Its rules come last and in steps. */
export function validateCustom(
  resource: Part,
  json: JsonSchema,
  at: Cursor<ApiObject>,
  old: ApiObject | undefined,
): Steps<void> | undefined {
  const { value } = at;
  const faults = checkValue(json, value, { previous: old && { value: old } });
  addAll(at, faults);
  validateScale(resource, at, { spec: true });
  validateEmbedded(at, json);
  // A list that had twins before may keep them.
  if (!old || checkLists(json, old).length === 0) addAll(at, checkLists(json, value));
  return validateRules(at, json, { faults, old, definition: definitionOf(resource) });
}

const definitionOf = ({ plural, group }: Part): string => `${plural}.${group}`;

const blocking: ReadonlySet<string> = new Set([
  "FieldValueNotSupported",
  "FieldValueRequired",
  "FieldValueTooLong",
  "FieldValueTooMany",
  "FieldValueTypeInvalid",
]);

/** Rules expect values of the right types, so they are not checked for an object that has others. */
function validateRules(
  at: Cursor<ApiObject>,
  json: JsonSchema,
  { faults, ...rest }: { faults: readonly FieldError[]; old: ApiObject | undefined; definition: string },
): Steps<void> | undefined {
  if (!hasRules(json)) return undefined;
  if (!faults.some(({ reason }) => blocking.has(reason))) return addBroken(at, checkRules(json, at.value, rest));
  const why =
    "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";
  at.add(() => invalidValue("<nil>", null, why));
  return undefined;
}

function* addBroken(at: Cursor, checking: Steps<FieldError[]>): Steps<void> {
  addAll(at, yield* checking);
}

/** The same for a change of the status alone. */
export function validateCustomStatus(
  resource: Part,
  json: JsonSchema,
  at: Cursor<ApiObject>,
  old: ApiObject,
): Steps<void> | undefined {
  const { status } = at.value as { status?: unknown };
  const schema = memberOf(json, "status");
  const before = (old as { status?: unknown }).status;
  const previous = before === undefined ? undefined : { value: before };
  const faults = schema && status !== undefined ? checkValue(schema, status, { previous }) : [];
  addAll(at, faults, "status");
  validateScale(resource, at, { spec: false });
  if (checkLists(json, old).length === 0) addAll(at, checkLists(json, at.value));
  return validateRules(at, json, { faults, old, definition: definitionOf(resource) });
}

function addAll(at: Cursor, faults: readonly FieldError[], prefix = ""): void {
  for (const fault of faults) {
    const path = prefix && fault.path !== "<nil>" ? [prefix, fault.path].filter(Boolean).join(".") : fault.path;
    at.add(() => (path === fault.path ? fault : { ...fault, path }));
  }
}

const maxReplicas = 2 ** 31 - 1;

/** The numbers that the scale subresource shows. */
function validateScale({ subresources }: Part, at: Cursor<ApiObject>, parts: { readonly spec: boolean }): void {
  const paths = subresources.find(({ scale }) => scale)?.scale;
  if (!paths) return;
  if (parts.spec) validateReplicas(at, paths.specReplicas);
  validateReplicas(at, paths.statusReplicas);
  const { labelSelector } = paths;
  if (!labelSelector) return;
  const found = find(at.value, labelSelector);
  if (!found || (typeof found.value === "string" && !found.isOnTheWay)) return;
  at.add(() => invalidValue(labelSelector, "", describe(found, "string")));
}

function validateReplicas(at: Cursor<ApiObject>, path: string): void {
  const found = find(at.value, path);
  if (!found) return;
  const { value } = found;
  if (found.isOnTheWay || typeof value !== "number" || !Number.isInteger(value)) {
    at.add(() => invalidValue(path, 0, describe(found, "int64")));
  } else if (value < 0) at.add(() => invalidValue(path, value, "should be a non-negative integer"));
  else if (value > maxReplicas) {
    at.add(() => invalidValue(path, value, `should be less than or equal to ${maxReplicas}`));
  }
}

interface Found {
  readonly value: unknown;
  /** Where upstream's accessor noticed the value. */
  readonly path: string;
  /** There should be an object here, with the value in it. */
  readonly isOnTheWay: boolean;
}

function find(object: unknown, path: string): Found | undefined {
  const steps = path.replace(/^\./, "").split(".");
  let at = object;
  for (const [index, step] of steps.entries()) {
    if (at === null) return undefined;
    if (!isObject(at)) return { value: at, path: `.${steps.slice(0, index + 1).join(".")}`, isOnTheWay: true };
    if (!Object.hasOwn(at, step)) return undefined;
    at = at[step];
  }
  return { value: at, path: `.${steps.join(".")}`, isOnTheWay: false };
}

/** In the words of upstream's accessors. */
const describe = ({ value, path, isOnTheWay }: Found, wanted: string): string =>
  `${path} accessor error: ${showGo(value)} is of the type ${goTypeOf(value)}, expected ${isOnTheWay ? "map[string]interface{}" : wanted}`;

function goTypeOf(value: unknown): string {
  if (typeof value === "boolean") return "bool";
  if (typeof value === "number") return Number.isInteger(value) ? "int64" : "float64";
  if (typeof value === "string") return "string";
  if (Array.isArray(value)) return "[]interface {}";
  return value === null ? "<nil>" : "map[string]interface {}";
}

const standardFinalizers = ["orphan", "foregroundDeletion", "kubernetes"];

/** Finalizers need no domain in their names, but should have one. */
export function warnOfFinalizers(at: Cursor<ApiObject>, old: ApiObject | undefined): void {
  const before = new Set(old?.metadata.finalizers);
  const added = (at.value.metadata.finalizers ?? []).filter((name) => !before.has(name));
  for (const name of added.toSorted()) {
    const warn = (text: string) => at.note(`metadata.finalizers: ${JSON.stringify(name)}: ${text}`);
    for (const fault of qualifiedName.all(name)) warn(fault);
    if (name.includes("/") || standardFinalizers.includes(name)) continue;
    const path = name.includes(".") ? " including a path (/)" : "";
    warn(`prefer a domain-qualified finalizer name${path} to avoid accidental conflicts with other finalizer writers`);
  }
}
