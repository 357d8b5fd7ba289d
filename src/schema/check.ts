import {
  type FieldError,
  type FieldPath,
  invalidValue,
  maxFaults,
  requiredValue,
  root,
  unsupportedValue,
} from "./field-error.ts";
import {
  type Field,
  type NumberOptions,
  type ObjectSchema,
  resolve,
  type Schema,
  type StringOptions,
} from "./schema.ts";

/**
 * Every fault that the schema alone can find: missing required values (except in the status), values outside a closed
 * set, strings that break their rule, numbers out of range. `value` has been decoded.
 *
 * Every write pays for the first walk, which only finds out whether there is a fault. A second walk then reports which
 * and where.
 */
export function check(schema: Schema, value: unknown, path: FieldPath = root, out: FieldError[] = []): FieldError[] {
  const isTop = path === root;
  if (isSound(schema, value, isTop)) return out;
  report(schema, value, { path, isTop, isStatus: false }, out);
  return out;
}

/** Whether no member of a whole object but this one has a fault. */
export function isSoundBeside(schema: ObjectSchema, object: object, member: string): boolean {
  for (const name in schema.fields) {
    const field = schema.fields[name];
    if (name === member || !field) continue;
    if (!isFieldSound(field, (object as Fields)[name], name === "status")) return false;
  }
  return true;
}

/** Whether a decoded value has no fault. */
type Test = (value: unknown, isStatus: boolean) => boolean;
type Fields = Record<string, unknown>;

const tests = new WeakMap<object, Test>();
const always: Test = () => true;

function isSound(schema: Schema, value: unknown, isTop: boolean): boolean {
  const at = resolve(schema);
  if (!isTop || at.type !== "object") return testOf(at)(value, false);
  // Only the top level has a status, so this level is split here and only its parts are compiled.
  for (const name in at.fields) {
    const field = at.fields[name];
    if (field && !isFieldSound(field, (value as Fields)[name], name === "status")) return false;
  }
  return true;
}

function isFieldSound(field: Field, value: unknown, isStatus: boolean): boolean {
  if (mustHold(field) && !isStatus && isMissing(value)) return false;
  return value === undefined || testOfField(field)(value, isStatus);
}

function testOf(schema: Schema): Test {
  let test = tests.get(schema);
  if (!test) {
    test = compile(schema);
    tests.set(schema, test);
  }
  return test;
}

function compile(schema: Schema): Test {
  switch (schema.type) {
    case "string":
      return compileString(schema.options);
    case "int32":
    case "int64":
    case "double":
      return compileNumber(schema.options);
    case "list":
      return compileList(testOf(schema.item));
    case "map":
      return compileMap(testOf(schema.value));
    case "object":
      return compileObject(schema);
    case "lazy":
      return compileLazy(schema.get);
    default:
      return always;
  }
}

function compileString({ values, rule }: StringOptions): Test {
  if (!values && !rule) return always;
  const allowed = values && new Set<unknown>(values);
  return (value) =>
    value === "" || ((!allowed || allowed.has(value)) && (!rule || rule(value as string) === undefined));
}

function compileNumber({ min, max }: NumberOptions): Test {
  if (min === undefined && max === undefined) return always;
  const low = min ?? Number.NEGATIVE_INFINITY;
  const high = max ?? Number.POSITIVE_INFINITY;
  return (value) => (value as number) >= low && (value as number) <= high;
}

function compileList(test: Test): Test {
  if (test === always) return always;
  return (value, isStatus) => {
    for (const item of value as unknown[]) {
      if (!test(item, isStatus)) return false;
    }
    return true;
  };
}

function compileMap(test: Test): Test {
  if (test === always) return always;
  return (value, isStatus) => {
    for (const key in value as Fields) {
      if (!test((value as Fields)[key], isStatus)) return false;
    }
    return true;
  };
}

function compileLazy(get: () => Schema): Test {
  let test: Test | undefined;
  return (value, isStatus) => {
    test ??= testOf(get());
    return test(value, isStatus);
  };
}

/** Only fields that can be wrong are checked. */
function compileObject(schema: ObjectSchema<unknown>): Test {
  const required: string[] = [];
  const checked = new Map<string, Test>();
  for (const [name, field] of Object.entries(schema.fields)) {
    const test = testOfField(field);
    if (mustHold(field)) required.push(name);
    if (test !== always) checked.set(name, test);
  }
  if (required.length === 0 && checked.size === 0) return always;
  return (value, isStatus) => {
    if (!isStatus) for (const name of required) if (isMissing((value as Fields)[name])) return false;
    // Most fields of a large schema are absent, so it is quicker to look at what is there.
    for (const name in value as Fields) {
      const field = (value as Fields)[name];
      if (field !== undefined && checked.get(name)?.(field, isStatus) === false) return false;
    }
    return true;
  };
}

function testOfField(field: Field): Test {
  const test = testOf(field.schema);
  return emptyRefused(field) ? (value, isStatus) => value !== "" && test(value, isStatus) : test;
}

/** The allowed values of a field that is a pointer in Go, if an empty text is none of them. There, it is not absent. */
function emptyRefused({ mode, schema, go }: Field): StringOptions | undefined {
  if (mode !== "nullable" && !go?.isPointer) return undefined;
  if (schema.type !== "string" || !schema.options.values) return undefined;
  return schema.options.values.includes("") ? undefined : schema.options;
}

const mustHold = ({ mode, zeroAllowed }: Field): boolean => mode === "required" && !zeroAllowed;

/** Numbers and booleans have no value that means missing: 0 and false may be intended. */
function isMissing(value: unknown): boolean {
  if (value === "" || value === undefined) return true;
  return Array.isArray(value) && value.length === 0;
}

interface Place {
  readonly path: FieldPath;
  readonly isTop: boolean;
  readonly isStatus: boolean;
}

function report(schema: Schema, value: unknown, place: Place, out: FieldError[]): void {
  if (out.length >= maxFaults) return;
  const at = resolve(schema);
  const inner = { ...place, isTop: false };
  if (at.type === "object") reportFields(at, value as Fields, place, out);
  else if (at.type === "list") {
    for (const [index, item] of (value as unknown[]).entries()) {
      report(at.item, item, { ...inner, path: place.path.index(index) }, out);
    }
  } else if (at.type === "map") {
    for (const [key, item] of Object.entries(value as Fields)) {
      report(at.value, item, { ...inner, path: place.path.key(key) }, out);
    }
  } else if (at.type === "string") reportString(at.options, value as string, place.path, out);
  else if (at.type === "int32" || at.type === "int64" || at.type === "double") {
    const detail = rangeFault(at.options, value as number);
    if (detail) out.push(invalidValue(place.path, value, detail));
  }
}

function reportFields(schema: ObjectSchema<unknown>, value: Fields, place: Place, out: FieldError[]): void {
  for (const [name, field] of Object.entries(schema.fields)) {
    const path = place.path.child(name);
    const isStatus = place.isStatus || (place.isTop && name === "status");
    const at = value[name];
    const closed = at === "" ? emptyRefused(field) : undefined;
    if (mustHold(field) && !isStatus && isMissing(at)) out.push(requiredValue(path));
    else if (closed) out.push(unsupported(closed, "", path));
    else if (at !== undefined) report(field.schema, at, { path, isStatus, isTop: false }, out);
  }
}

const unsupported = ({ values = [], listed }: StringOptions, value: string, path: FieldPath): FieldError =>
  unsupportedValue(path, value, listed ? values : values.toSorted());

function reportString(
  { values, listed, rule }: StringOptions,
  value: string,
  path: FieldPath,
  out: FieldError[],
): void {
  if (value === "") return;
  if (values && !values.includes(value)) {
    out.push(unsupported({ values, ...(listed ? { listed } : {}) }, value, path));
    return;
  }
  if (rule?.(value) === undefined) return;
  for (const detail of rule.all?.(value) ?? [rule(value) ?? ""]) out.push(invalidValue(path, value, detail));
}

function rangeFault({ min, max }: NumberOptions, value: number): string | undefined {
  const isLow = min !== undefined && value < min;
  const isHigh = max !== undefined && value > max;
  if (!isLow && !isHigh) return undefined;
  if (min !== undefined && max !== undefined) return `must be between ${min} and ${max}, inclusive`;
  return isLow ? `must be greater than or equal to ${min}` : `must be less than or equal to ${max}`;
}
