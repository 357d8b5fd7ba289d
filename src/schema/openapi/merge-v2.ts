import { type Steps } from "#lib/async/turns.ts";
import { equal } from "#lib/data/equal.ts";
import { type Json } from "./openapi-definitions.ts";
import { isObject, kindsField, type PartV2, referenceOf } from "./select-v2.ts";

const sections = ["definitions", "parameters"] as const;
type Section = (typeof sections)[number];

/**
 * Adds what other servers say to our own v2 document, which wins everywhere. A definition of the same name with other content
 * gets a number behind its name, as in upstream, and so do parameters.
 */
export function* mergeV2(own: Json, parts: readonly PartV2[]): Steps<Json> {
  const paths = entriesOf(own.paths);
  const known = { definitions: entriesOf(own.definitions), parameters: entriesOf(own.parameters) };
  for (const part of parts) {
    const names = { definitions: new Map<string, string>(), parameters: new Map<string, string>() };
    for (const section of sections) {
      for (const [name, value] of Object.entries(part[section])) {
        names[section].set(name, nameFor(known[section], part[section], [name, value]));
        yield;
      }
    }
    for (const section of sections) {
      for (const [name, value] of Object.entries(part[section])) {
        const added = names[section].get(name) ?? name;
        known[section].set(added, withKindsOf(known[section].get(added) ?? renamed(value, names), value));
        yield;
      }
    }
    for (const [path, value] of Object.entries(part.paths)) {
      if (!paths.has(path)) paths.set(path, renamed(value, names));
      yield;
    }
  }
  return {
    ...own,
    paths: sorted(paths),
    definitions: sorted(known.definitions),
    parameters: sorted(known.parameters),
  };
}

const entriesOf = (value: unknown): Map<string, unknown> => new Map(Object.entries(isObject(value) ? value : {}));
const sorted = (entries: Map<string, unknown>): Json =>
  Object.fromEntries([...entries].sort(([a], [b]) => (a < b ? -1 : 1)));

/** The name under which a value is, or can be, in the document. */
function nameFor(known: Map<string, unknown>, part: Json, [name, value]: readonly [string, unknown]): string {
  for (let number = 1; ; number++) {
    const candidate = number === 1 ? name : `${name}_v${number}`;
    const existing = known.get(candidate);
    if (existing === undefined && (number === 1 || !Object.hasOwn(part, candidate))) return candidate;
    if (existing !== undefined && equal(withoutKinds(existing), withoutKinds(value))) return candidate;
  }
}

function withoutKinds(definition: unknown): unknown {
  return isObject(definition) ? { ...definition, [kindsField]: undefined } : definition;
}

/** A definition that several servers share stands for the kinds of all of them. */
function withKindsOf(definition: unknown, other: unknown): unknown {
  if (!isObject(definition) || !isObject(other) || !Array.isArray(other[kindsField])) return definition;
  const kinds: unknown[] = Array.isArray(definition[kindsField]) ? definition[kindsField] : [];
  const known = new Set(kinds.map(kindKey));
  const more = other[kindsField].filter((kind) => !known.has(kindKey(kind)));
  return more.length > 0 ? { ...definition, [kindsField]: [...kinds, ...more] } : definition;
}

const kindKey = (kind: unknown): string =>
  isObject(kind) ? JSON.stringify([kind.group, kind.version, kind.kind]) : JSON.stringify(kind);

/** The value with references to the new names. */
function renamed(value: unknown, names: Readonly<Record<Section, ReadonlyMap<string, string>>>): unknown {
  if (Array.isArray(value)) return value.map((item) => renamed(item, names));
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([field, inner]) => {
    const [section, name = ""] = (field === "$ref" && referenceOf(inner)) || [];
    const to = section && names[section].get(name);
    return [field, to === undefined ? renamed(inner, names) : `#/${section}/${to}`] as const;
  });
  return Object.fromEntries(entries);
}
