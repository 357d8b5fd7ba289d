import { cloneJson } from "#lib/text/json.ts";
import { type Field, type ObjectSchema, resolve, type Schema } from "#schema/schema.ts";
import { plainScalars } from "#testing/lists/plain-scalars.ts";
import { type Tree } from "./samples/sample.ts";

/** One change of a valid object. */
export interface Change {
  readonly steps: Steps;
  readonly value: unknown;
}

/** Below this depth of fields that the sample lacks, nothing more is tried. */
const maxAbsentDepth = 2;
const absent = Symbol("absent");
type Steps = readonly (string | number)[];

/** Every field of the schema: missing, of the wrong type, out of range, too long, duplicated, or filled in. */
export const allChanges = (schema: Schema, sample: Tree): Change[] => [...changesOf(schema, sample, [], 0)];

/** `spec.ports[0].port = -1` */
export const nameOf = ({ steps, value }: Change): string =>
  `${render(steps)} ${value === absent ? "removed" : `= ${clip(JSON.stringify(value))}`}`;

/** The sample with the change. */
export function changed(sample: Tree, { steps, value }: Change): Tree {
  const object = cloneJson(sample);
  put(object, steps, value);
  return object;
}

function* changesOf(schema: Schema, value: unknown, steps: Steps, missing: number): Generator<Change> {
  const at = resolve(schema);
  if (at.type === "object" && isTree(value)) {
    yield { steps: [...steps, "noSuchField"], value: 1 };
    for (const [name, field] of Object.entries(at.fields)) {
      if (!isServerOwned(name, steps)) yield* changesOfField(field, value[name], [...steps, name], missing);
    }
  } else if (at.type === "list" && Array.isArray(value) && value.length > 0) {
    yield { steps, value: [...value, value[0]] };
    yield { steps, value: [null] };
    for (const [index, item] of value.entries()) yield* changesOf(at.item, item, [...steps, index], missing);
  } else if (at.type === "map" && isTree(value)) {
    const [key, item] = Object.entries(value)[0] ?? ["key", undefined];
    yield { steps, value: { ...value, "bad key!": item } };
    yield { steps, value: { ...value, [`${"x".repeat(70)}`]: item } };
    yield { steps, value: { ...value, [`${"x".repeat(260)}/${key}`]: item } };
    yield* valuesOf(at.value).map((other) => ({ steps: [...steps, key], value: other }));
  }
}

/** These come from the server, or the plan sets them. */
const isServerOwned = (name: string, steps: Steps): boolean =>
  steps.length === 0 && (name === "apiVersion" || name === "kind" || name === "metadata");

function* changesOfField({ schema }: Field, value: unknown, steps: Steps, missing: number): Generator<Change> {
  const at = resolve(schema);
  if (value !== undefined) yield { steps, value: absent };
  for (const other of valuesOf(at)) yield { steps, value: other };
  if (value !== undefined) yield* changesOf(at, value, steps, missing);
  else if (missing < maxAbsentDepth) yield* changesOfAbsent(at, steps, missing);
}

/** An object that the sample lacks is tried empty, full, and with each of its fields alone. */
function* changesOfAbsent(at: Schema, steps: Steps, missing: number): Generator<Change> {
  const isList = at.type === "list";
  const inner = isList ? resolve(at.item) : at;
  if (inner.type !== "object") return;
  const wrap = (value: unknown): unknown => (isList ? [value] : value);
  yield { steps, value: wrap(fullOf(inner, 0)) };
  const base = requiredOf(inner);
  yield { steps, value: wrap(base) };
  for (const [name, field] of Object.entries(inner.fields)) {
    for (const { steps: below, value } of changesOfField(field, base[name], [name], missing + 1)) {
      const object = cloneJson(base);
      put(object, below, value);
      yield { steps, value: wrap(object) };
    }
  }
}

const requiredOf = (schema: ObjectSchema<unknown>): Tree =>
  Object.fromEntries(
    Object.entries(schema.fields)
      .filter(([, { mode }]) => mode === "required")
      .map(([name, { schema: inner }]) => [name, plausible(inner, 0)]),
  );

const fullOf = (schema: ObjectSchema<unknown>, depth: number): Tree =>
  Object.fromEntries(Object.entries(schema.fields).map(([name, field]) => [name, plausible(field.schema, depth + 1)]));

function plausible(schema: Schema, depth: number): unknown {
  const at = resolve(schema);
  switch (at.type) {
    case "object":
      return depth > 4 ? {} : fullOf(at, depth);
    case "list":
      return depth > 4 ? [] : [plausible(at.item, depth + 1)];
    case "map":
      return { key: plausible(at.value, depth + 1) };
    case "string":
      return at.options.values?.[0] ?? "a";
    case "int32":
    case "int64":
    case "double":
      return at.options.min ?? 1;
    case "any":
      return {};
    default:
      return plainScalars[at.type];
  }
}

/** Values to try in a field: the interesting ones of its type, sound or not, and those of other types. */
function valuesOf(schema: Schema): readonly unknown[] {
  const at = resolve(schema);
  switch (at.type) {
    case "string":
      return ["", "Not_Valid!", "a", "x".repeat(300), 7, null, ...(at.options.values ?? []).slice(0, 5)];
    case "int32":
    case "int64":
      return [-1, 0, 1, 70_000, 2 ** 31, 2 ** 53, 1.5, "1", null];
    case "double":
      return [-1, 0, 1.5, "1", null];
    case "boolean":
      return [true, false, "true", null];
    case "list":
      return [[], {}, "text", null];
    case "map":
      return [{}, [], "text", null, { key: 7 }];
    case "object":
      return [{}, [], "text", null];
    case "any":
      return [{}, { a: 1 }, [1], "text", 7, null];
    default:
      return formatValues[at.type];
  }
}

const formatValues = {
  bytes: ["", "YQ==", "not base64!", 7, null],
  time: ["2026-01-01T00:00:00Z", "yesterday", "", 7, null],
  microTime: ["2026-01-01T00:00:00.000000Z", "2026-01-01T00:00:00Z", "yesterday", 7, null],
  duration: ["1s", "-1s", "soon", 7, null],
  quantity: ["0", "-1", "1.5", "1e3", "100m", "1Gi", "much", "", 7, 1.5, null],
  intOrString: [0, -1, 70_000, "http", "150%", "-5%", "a b", "", true, null],
};

function put(object: Tree, steps: Steps, value: unknown): void {
  const last = steps.at(-1) as string;
  let at = object as Record<string | number, unknown>;
  for (const step of steps.slice(0, -1)) {
    at[step] ??= {};
    at = at[step] as Record<string | number, unknown>;
  }
  if (value === absent) delete at[last];
  else at[last] = value;
}

const isTree = (value: unknown): value is Tree => typeof value === "object" && value !== null && !Array.isArray(value);

const render = (steps: Steps): string =>
  steps.reduce<string>((text, step) => {
    if (typeof step === "number") return `${text}[${step}]`;
    return text ? `${text}.${step}` : step;
  }, "");

const clip = (text: string): string => (text.length > 80 ? `${text.slice(0, 80)}…` : text);
