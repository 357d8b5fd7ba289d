import { readScalar } from "../scalars.ts";
import { type Either, type ObjectSchema, type Schema } from "../schema.ts";
import { DecodeError, jsonKind, Mismatch, maxRecursion } from "./decode-error.ts";
import { findUnknown } from "./decode-structural.ts";

/** As many as upstream lists. */
const maxUnknown = 100;
/** A path may have as many long keys as an object has levels, and each unknown field below them repeats it. */
const maxPathChars = 16 * 1024;

/** The current place: with indexes for unknown fields, and without them for faults, as Go reports both. */
interface Place {
  readonly path: string;
  readonly goPath: string;
  /** The Go name of the innermost struct. */
  readonly struct: string;
  /** How many recursive schemas enclose this place. */
  readonly depth: number;
}

/**
 * The slow walk, for values with a fault: throws the DecodeError of the first value of the wrong type, or else returns
 * the paths of all unknown fields.
 */
export function explainFault(schema: Schema, raw: unknown): string[] {
  const unknown: string[] = [];
  visit(schema, raw, { path: "", goPath: "", struct: "", depth: 0 }, unknown);
  return unknown;
}

function visit(schema: Schema, raw: unknown, place: Place, unknown: string[]): void {
  if (raw === null || raw === undefined || place.depth > maxRecursion) return;
  switch (schema.type) {
    case "lazy":
      visit(schema.get(), raw, { ...place, depth: place.depth + 1 }, unknown);
      break;
    case "any":
      visitEither(schema.options.either, raw, place, unknown);
      break;
    case "list":
      if (!Array.isArray(raw)) throw misplaced(new Mismatch(jsonKind(raw), goType(schema)), place);
      for (const [index, item] of raw.entries()) {
        visit(schema.item, item, { ...place, path: `${place.path}[${index}]` }, unknown);
      }
      break;
    case "map":
      for (const [key, value] of entriesOf(schema, raw, place)) {
        visit(schema.value, value, { ...place, path: join(place.path, key) }, unknown);
      }
      break;
    case "object":
      if (schema.options.structural) visitCustom(schema, raw, place, unknown);
      else visitObject(schema, raw, place, unknown);
      break;
    case "structural":
      break;
    default:
      visitScalar(() => readScalar[schema.type](raw), place);
  }
}

function visitEither(either: Either | undefined, raw: unknown, place: Place, unknown: string[]): void {
  if (!either) return;
  const isObject = typeof raw === "object" && !Array.isArray(raw);
  visit(isObject ? either.object : either.other, raw, place, unknown);
}

function visitObject(schema: ObjectSchema<unknown>, raw: unknown, place: Place, unknown: string[]): void {
  for (const [key, value] of entriesOf(schema, raw, place)) {
    const path = join(place.path, key);
    const field = Object.hasOwn(schema.fields, key) ? schema.fields[key] : undefined;
    if (field) {
      const goPath = join(place.goPath, key);
      visit(field.schema, value, { path, goPath, struct: goName(schema.name), depth: place.depth }, unknown);
    } else add(unknown, path);
  }
}

function visitCustom(schema: ObjectSchema<unknown>, raw: unknown, place: Place, unknown: string[]): void {
  const metadata = schema.fields.metadata?.schema;
  const root = { ...schema.options.structural, "x-kubernetes-embedded-resource": true };
  findUnknown(root, raw, place.path, {
    unknown(path) {
      add(unknown, path);
    },
    metadata(value, path) {
      if (metadata) visit(metadata, value, { ...place, path, goPath: path, struct: "" }, unknown);
    },
  });
}

function add(unknown: string[], path: string): void {
  if (unknown.length >= maxUnknown) return;
  unknown.push(path.length > maxPathChars ? `${path.slice(0, maxPathChars)}…` : path);
}

function visitScalar(read: () => unknown, place: Place): void {
  try {
    read();
  } catch (error) {
    throw error instanceof Mismatch ? misplaced(error, place) : error;
  }
}

function entriesOf(schema: Schema, raw: unknown, place: Place): [string, unknown][] {
  if (typeof raw === "object" && raw !== null && !Array.isArray(raw)) return Object.entries(raw);
  throw misplaced(new Mismatch(jsonKind(raw), goType(schema)), place);
}

function misplaced({ found, wanted }: Mismatch, { struct, goPath }: Place): DecodeError {
  const where = struct ? `struct field ${struct}.${goPath}` : "value";
  return new DecodeError(`json: cannot unmarshal ${found} into Go ${where} of type ${wanted}`);
}

const join = (path: string, step: string): string => (path ? `${path}.${step}` : step);
const goName = (name: string): string => name.slice(name.lastIndexOf(".") + 1);

const goScalars: Readonly<Record<string, string>> = {
  boolean: "bool",
  double: "float64",
  bytes: "[]uint8",
  time: "v1.Time",
  microTime: "v1.MicroTime",
  duration: "v1.Duration",
  quantity: "resource.Quantity",
  intOrString: "intstr.IntOrString",
  any: "runtime.RawExtension",
};

/** `core/v1.PodSpec` is `v1.PodSpec` in Go's messages. */
function goType(schema: Schema): string {
  if (schema.type === "lazy") return goType(schema.get());
  if (schema.type === "list") return `[]${goType(schema.item)}`;
  if (schema.type === "map") return `map[string]${goType(schema.value)}`;
  if (schema.type === "object") return schema.name.slice(schema.name.lastIndexOf("/") + 1);
  return goScalars[schema.type] ?? schema.type;
}
