import { equal } from "#lib/data/equal.ts";
import { isObject } from "#lib/data/json-object.ts";
import { truncateBytes } from "#lib/text/truncate.ts";

/** Changes are kept with the hops of a trace, so there are only a few, with short values. */
const maxChanges = 8;
const maxValueBytes = 60;
const maxPathBytes = 120;

/** What differs between two versions of an object, for people: `spec.replicas: 2 → 3`. */
export function describeChanges(before: unknown, after: unknown): readonly string[] {
  const found: string[] = [];
  compare(before, after, { path: "", found });
  return found;
}

interface Place {
  readonly path: string;
  readonly found: string[];
}

function compare(before: unknown, after: unknown, place: Place): void {
  const { path, found } = place;
  if (isObject(before) && isObject(after)) return compareMembers(before, after, place);
  const [was, is] = [itemsByName(before), itemsByName(after)];
  if (was && is) return compareMembers(was, is, place, (name) => `${path}[${name}]`);
  if (equal(before, after)) return;
  const isFull = found.length === maxChanges;
  found.push(isFull ? "and more" : `${truncateBytes(path, maxPathBytes)}: ${described(before, after)}`);
}

type Members = Readonly<Record<string, unknown>>;

function compareMembers(before: Members, after: Members, { path, found }: Place, placeOf = dotted(path)): void {
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    if (found.length > maxChanges) return;
    compare(memberOf(before, name), memberOf(after, name), { path: placeOf(name), found });
  }
}

const memberOf = (members: Members, name: string): unknown =>
  Object.hasOwn(members, name) ? members[name] : undefined;

/** Names with a dot, such as those of labels, are quoted. */
const dotted =
  (path: string) =>
  (name: string): string =>
    /^[\w-]+$/.test(name) ? `${path}${path && "."}${name}` : `${path}[${JSON.stringify(name)}]`;

/** The items of a list in which each has a name of its own. */
function itemsByName(list: unknown): Members | undefined {
  if (!Array.isArray(list)) return undefined;
  const items = new Map<string, unknown>();
  for (const item of list) {
    const name = isObject(item) ? item.name : undefined;
    if (typeof name !== "string" || items.has(name)) return undefined;
    items.set(name, item);
  }
  return Object.fromEntries(items);
}

function described(before: unknown, after: unknown): string {
  if (before === undefined) return `added ${shown(after)}`;
  return after === undefined ? `removed ${shown(before)}` : `${shown(before)} → ${shown(after)}`;
}

function shown(value: unknown): string {
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (isObject(value)) {
    const members = Object.entries(value);
    const some = members.slice(0, 3).map(([name, member]) => `${name}${scalar(member)}`);
    return `{${truncateBytes(some.join(", "), maxValueBytes)}${members.length > 3 ? ", …" : ""}}`;
  }
  const text = typeof value === "string" ? JSON.stringify(truncateBytes(value, maxValueBytes)) : String(value);
  return truncateBytes(text, maxValueBytes + 2);
}

const scalar = (member: unknown): string => (typeof member === "object" && member !== null ? "" : `: ${shown(member)}`);
