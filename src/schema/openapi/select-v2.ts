import { type Steps } from "#lib/async/turns.ts";
import { type GroupVersionKind, type Json } from "./openapi-definitions.ts";
import { openApiV2Protobuf } from "./openapi-v2-protobuf.ts";

/** What a v2 document says about one group and version. */
export interface PartV2 {
  readonly paths: Json;
  readonly definitions: Json;
  readonly parameters: Json;
}

/** How deep a document may be nested. Published ones are about ten levels deep. */
const maxDepth = 64;
const sections = ["definitions", "parameters"] as const;
type Section = (typeof sections)[number];

/** `#/definitions/NAME` and `#/parameters/NAME`. */
const reference = /^#\/(definitions|parameters)\/(.+)$/s;
export const kindsField = "x-kubernetes-group-version-kind";

/**
 * Takes from the document of another server what it says about its own group and version: the paths, and what they refer to.
 * Throws if no client could read it. A document must not describe the kinds of other groups.
 */
export function* selectV2(document: unknown, own: Omit<GroupVersionKind, "kind">): Steps<PartV2> {
  const prefix = own.group ? `/apis/${own.group}/${own.version}/` : `/api/${own.version}/`;
  const paths = Object.entries(membersOf(document, "paths")).filter(([path]) => path.startsWith(prefix));
  const needed = { definitions: new Map<string, unknown>(), parameters: new Map<string, unknown>() };
  const waiting: unknown[] = paths.map(([, path]) => path);
  const note = (section: Section, name: string): void => {
    const members = membersOf(document, section);
    if (needed[section].has(name) || !Object.hasOwn(members, name)) return;
    needed[section].set(name, members[name]);
    waiting.push(members[name]);
  };
  for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
    for (const [section, name] of referencesIn(value, 0)) note(section, name);
    yield;
  }
  const ofOwn = Array.from(needed.definitions, ([name, value]) => [name, withOwnKinds(value, own)] as const);
  const part = {
    paths: Object.fromEntries(paths),
    definitions: Object.fromEntries(ofOwn),
    parameters: Object.fromEntries(needed.parameters),
  };
  // Whatever cannot be written would fail the document of all servers.
  yield* openApiV2Protobuf(part);
  return part;
}

export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function membersOf(document: unknown, name: string): Json {
  const value = isObject(document) && Object.hasOwn(document, name) ? document[name] : {};
  return isObject(value) ? value : {};
}

function* referencesIn(value: unknown, depth: number): Iterable<readonly [Section, string]> {
  if (depth > maxDepth) throw new Error(`the OpenAPI document is nested deeper than ${maxDepth} levels`);
  if (Array.isArray(value)) for (const item of value) yield* referencesIn(item, depth + 1);
  if (!isObject(value)) return;
  for (const [field, inner] of Object.entries(value)) {
    const found = field === "$ref" ? referenceOf(inner) : undefined;
    if (found) yield found;
    else if (typeof inner === "object") yield* referencesIn(inner, depth + 1);
  }
}

/** A property may be called `$ref` too: then it has a schema, and no text. */
export function referenceOf(value: unknown): readonly [Section, string] | undefined {
  const [, section, name] = (typeof value === "string" && reference.exec(value)) || [];
  return name === undefined ? undefined : [section as Section, name];
}

function withOwnKinds(definition: unknown, { group, version }: Omit<GroupVersionKind, "kind">): unknown {
  if (!isObject(definition) || !Object.hasOwn(definition, kindsField)) return definition;
  const { [kindsField]: kinds, ...rest } = definition;
  const own = Array.isArray(kinds)
    ? kinds.filter((one) => isObject(one) && one.group === group && one.version === version)
    : [];
  return own.length > 0 ? { ...rest, [kindsField]: own } : rest;
}
