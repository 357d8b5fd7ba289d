import { type Resource } from "#api/resource.ts";
import {
  type Field,
  type ListSchema,
  type MapSchema,
  type ObjectSchema,
  resolve,
  type Schema,
} from "#schema/schema.ts";
import { plainScalars } from "./plain-scalars.ts";

/** A list or a map in a kind: `spec.containers[].ports`. */
export interface LongPlace {
  readonly resource: Resource;
  readonly path: string;
  /** Names of fields; "[]" and "{}" stand for the first item of a list or a map. */
  readonly steps: readonly string[];
  readonly schema: ListSchema<unknown> | MapSchema<unknown>;
}

/** How a list is filled. */
export interface Filling {
  readonly count: number;
  /** `lean`: items have what they must have. `full`: they have every scalar that they can have. */
  readonly items: "lean" | "full";
  /** Whether all items are the same. */
  readonly alike?: boolean;
}

/** Deep enough for every list of a pod's containers within a Deployment. */
const maxSteps = 14;

/** Every list and map of a kind. A schema that contains itself is entered once. */
export function longPlaces(resource: Resource): LongPlace[] {
  const found: LongPlace[] = [];
  const walk = (schema: Schema, steps: readonly string[], around: readonly Schema[]): void => {
    const at = resolve(schema);
    if (steps.length > maxSteps || around.includes(at)) return;
    const inner = [...around, at];
    if (at.type === "object") {
      for (const [name, field] of Object.entries(at.fields)) walk(field.schema, [...steps, name], inner);
    } else if (at.type === "list" || at.type === "map") {
      found.push({ resource, path: pathOf(steps), steps, schema: at });
      if (at.type === "list") walk(at.item, [...steps, "[]"], inner);
      else walk(at.value, [...steps, "{}"], inner);
    }
  };
  walk(resource.schema, [], []);
  return found;
}

const pathOf = (steps: readonly string[]): string =>
  steps.reduce((path, step) => (path === "" || step === "[]" || step === "{}" ? path + step : `${path}.${step}`), "");

/** A plausible object of the kind in which this list, or each of these, is long. */
export function withLongLists(resource: Resource, places: readonly LongPlace[], filling: Filling): object {
  const object = minimal(resource.schema, 0) as Tree;
  const { group, version, kind, scope } = resource;
  Object.assign(object, { apiVersion: group ? `${group}/${version}` : version, kind });
  object.metadata = { name: "a", ...(scope === "Namespaced" ? { namespace: "default" } : {}) };
  for (const { steps } of places) fill(resource.schema, object, steps, filling);
  return object;
}

type Tree = Record<string, unknown>;

/** Goes down to the list, makes what is missing on the way, and fills the list. */
function fill(schema: Schema, value: unknown, [step = "", ...rest]: readonly string[], filling: Filling): void {
  const at = resolve(schema);
  const [holder, key, inner] = entered(at, value as Tree, step);
  const below = resolve(inner);
  if (rest.length > 0) {
    holder[key] ??= minimal(below, 0);
    fill(below, holder[key], rest, filling);
    return;
  }
  const before = holder[key];
  if (below.type === "list") holder[key] = filled(before, (index) => item(below.item, index, filling), filling);
  else if (below.type === "map") holder[key] = filledMap(before, below.value, filling);
}

function entered(schema: Schema, value: Tree, step: string): [Tree, string, Schema] {
  if (schema.type === "object") return [value, step, schema.fields[step]?.schema ?? schema];
  if (schema.type === "list") return [value, "0", schema.item];
  return [value, "key-0", schema.type === "map" ? schema.value : schema];
}

/** What was in the list already stays at its beginning. */
function filled(before: unknown, make: (index: number) => unknown, { count }: Filling): unknown[] {
  const kept: unknown[] = Array.isArray(before) ? before : [];
  return [...kept, ...Array.from({ length: Math.max(0, count - kept.length) }, (_, at) => make(at + kept.length))];
}

const filledMap = (before: unknown, value: Schema, filling: Filling): Tree => ({
  ...Object.fromEntries(Array.from({ length: filling.count }, (_, at) => [`key-${at}`, item(value, at, filling)])),
  ...(before as Tree | undefined),
});

const item = (schema: Schema, index: number, { items, alike }: Filling): unknown =>
  items === "full" ? full(schema, alike ? 1 : index) : minimal(schema, alike ? 1 : index);

/** What a client has to send. Numbers and texts differ from index to index. */
function minimal(schema: Schema, index: number): unknown {
  return madeOf(schema, index, (at, name) => {
    const field = at.fields[name];
    return field && (field.mode === "required" || isAlwaysSent(field, name))
      ? fieldValue(field.schema, name, index)
      : undefined;
  });
}

/** Most kinds can do without a spec or a name, but mean nothing then. */
const isAlwaysSent = ({ schema }: Field, name: string): boolean =>
  name === "spec" || ((name === "name" || name === "image") && isScalar(schema));

const isScalar = (schema: Schema): boolean => !["object", "list", "map", "any"].includes(resolve(schema).type);

const fieldValue = (schema: Schema, name: string, index: number): unknown =>
  (isScalar(schema) ? hints[name]?.(index) : undefined) ?? minimal(schema, index);

/** The same with all scalars that the item may have. */
function full(schema: Schema, index: number): unknown {
  return madeOf(schema, index, (at, name) => {
    const field = at.fields[name];
    const isThere = field && (field.mode === "required" || isScalar(field.schema));
    return isThere ? fieldValue(field.schema, name, index) : undefined;
  });
}

function madeOf(schema: Schema, index: number, field: (at: ObjectSchema<unknown>, name: string) => unknown): unknown {
  const at = resolve(schema);
  if (at.type !== "object") return scalar(at, index);
  const made: Tree = {};
  for (const name of Object.keys(at.fields)) {
    const value = field(at, name);
    if (value !== undefined) made[name] = value;
  }
  return made;
}

function scalar(schema: Exclude<Schema, { type: "lazy" | "structural" | "object" }>, index: number): unknown {
  switch (schema.type) {
    case "string":
      return schema.options.values?.[index % schema.options.values.length] ?? `a-${index}`;
    case "int32":
    case "int64":
    case "double":
      return Math.min(schema.options.max ?? index + 1, index + 1);
    case "list":
      return [minimal(schema.item, index)];
    case "map":
    case "any":
      return {};
    default:
      return plainScalars[schema.type];
  }
}

const ipOf = (index: number): string => `10.${(index >> 16) & 255}.${(index >> 8) & 255}.${index & 255}`;
const portOf = (index: number): number => 1 + (index % 65_535);

/** Values of fields that have to look in some way. */
const hints: Readonly<Record<string, (index: number) => unknown>> = {
  ip: ipOf,
  hostIP: ipOf,
  containerPort: portOf,
  hostPort: portOf,
  mountPath: (index) => `/mount/${index}`,
  devicePath: (index) => `/mount/${index}`,
  image: () => "image",
  topologyKey: (index) => `key-${index}`,
  key: (index) => `key-${index}`,
  operator: () => "Exists",
};
