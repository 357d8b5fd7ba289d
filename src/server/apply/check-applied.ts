import { apiVersionOf, type Resource } from "#api/resource.ts";
import { badRequest } from "#api/status.ts";
import { isObject } from "#lib/data/json-object.ts";
import { showGo } from "#schema/json/show-go.ts";
import { type ListSchema, resolve, type Schema } from "#schema/schema.ts";
import { any } from "#schema/types.ts";
import { showElement } from "./fields/path-element.ts";
import { findElement, shapeOf } from "./fields/shape.ts";

/** A configuration must state its kind, which must be the kind that it is applied to. */
export function checkAppliedKind(resource: Resource, { apiVersion, kind }: Readonly<Record<string, unknown>>): void {
  if (apiVersion === apiVersionOf(resource) && kind === resource.kind) return;
  throw badRequest(`invalid object type: ${kindText(apiVersion, kind)}`);
}

/** `apps/v1, Kind=Deployment`; the core group has nothing before its slash. */
export const kindText = (apiVersion: unknown, kind: unknown): string => {
  const version = typeof apiVersion === "string" ? apiVersion : "";
  return `${version.includes("/") ? version : `/${version}`}, Kind=${typeof kind === "string" ? kind : ""}`;
};

/** The faults of an applied configuration, as upstream lists them; undefined if there are none. */
export function faultsIn(schema: Schema, value: unknown): string | undefined {
  const faults: string[] = [];
  check(schema, value, { path: () => "", faults });
  if (faults.length === 0) return undefined;
  return faults.length === 1 ? faults[0] : ["errors:", ...faults.map((fault) => `  ${fault}`)].join("\n");
}

/** A member that may have any form. */
const anything = any();

interface Place {
  /** The text of a path is made only for a fault. */
  readonly path: () => string;
  readonly faults: string[];
}
const report = ({ path, faults }: Place, fault: string): void => {
  const at = path();
  faults.push(at ? `${at}: ${fault}` : fault);
};

function check(schema: Schema, value: unknown, place: Place): void {
  if (value === null || value === undefined) return;
  const resolved = resolve(schema);
  switch (resolved.type) {
    case "any":
      return;
    case "object":
      checkMembers(
        (name) =>
          Object.hasOwn(resolved.fields, name)
            ? resolved.fields[name]?.schema
            : resolved.options.open
              ? anything
              : undefined,
        value,
        place,
      );
      return;
    case "map":
      checkMembers(() => resolved.value, value, place);
      return;
    case "list":
      checkList(resolved, value, place);
      return;
    default: {
      const fault = scalarFault(resolved.type, value);
      if (fault) report(place, fault);
    }
  }
}

function checkMembers(schemaOf: (name: string) => Schema | undefined, value: unknown, place: Place): void {
  if (!isObject(value)) {
    report(place, `expected map, got &{${showGo(value)}}`);
    return;
  }
  for (const name of Object.keys(value)) {
    const at = { faults: place.faults, path: () => `${place.path()}.${name}` };
    const schema = schemaOf(name);
    if (!schema) {
      report(at, "field not declared in schema");
      return;
    }
    check(schema, value[name], at);
  }
}

function checkList(schema: ListSchema<unknown>, value: unknown, place: Place): void {
  if (!Array.isArray(value)) {
    report(place, `expected list, got &{${showGo(value)}}`);
    return;
  }
  const shape = shapeOf(schema);
  const seen = new Set<string>();
  for (const [index, item] of value.entries()) {
    let step = () => `[${index}]`;
    if (shape.kind === "set" || shape.kind === "keyed") {
      const element = findElement(shape, item);
      if (element === undefined) {
        report(place, `element ${index}: ${itemFault(schema, item)}`);
        return;
      }
      step = () => showElement(element);
      if (seen.has(element)) report(place, `duplicate entries for key ${step()}`);
      seen.add(element);
    }
    check(schema.item, item, { faults: place.faults, path: () => place.path() + step() });
  }
}
function itemFault({ options }: ListSchema<unknown>, item: unknown): string {
  if (options.list === "set") {
    if (item === null) return "associative list without keys has an element that's an explicit null";
    return Array.isArray(item)
      ? "not supported: associative list with lists as elements"
      : "associative list without keys has an element that's a map type";
  }
  if (item === null) return "associative list with keys may not have a null element";
  if (!isObject(item)) return "associative list with keys may not have non-map elements";
  const keys = (options.keys ?? []).map((key) => JSON.stringify(key)).join(" ");
  return `associative list with keys has an element that omits all key fields [${keys}] (and doesn't have default values for any key fields)`;
}

function scalarFault(type: string, value: unknown): string | undefined {
  if (type === "string" || type === "bytes" || type === "duration") {
    return typeof value === "string"
      ? undefined
      : `expected string, got &value.valueUnstructured{Value:${goSyntax(value)}}`;
  }
  if (type === "boolean") return typeof value === "boolean" ? undefined : `expected boolean, got &{${showGo(value)}}`;
  if (type === "int32" || type === "int64" || type === "double") {
    return typeof value === "number" ? undefined : `expected numeric (int or float), got ${goType(value)}`;
  }
  return typeof value === "object" ? `expected any scalar, got &{${showGo(value)}}` : undefined;
}
function goType(value: unknown): string {
  if (Array.isArray(value)) return "[]interface {}";
  if (isObject(value)) return "map[string]interface {}";
  return typeof value === "boolean" ? "bool" : typeof value;
}
/** Go's `%#v`. */
function goSyntax(value: unknown): string {
  if (value === null) return "interface {}(nil)";
  if (Array.isArray(value)) return `[]interface {}{${value.map(goSyntax).join(", ")}}`;
  if (!isObject(value)) return JSON.stringify(value);
  const members = Object.keys(value).toSorted();
  return `map[string]interface {}{${members.map((key) => `${JSON.stringify(key)}:${goSyntax(value[key])}`).join(", ")}}`;
}
