import { type ManagedFieldsEntry } from "#api/meta/object-meta.ts";
import { compareText } from "#lib/data/compare-text.ts";
import { equal } from "#lib/data/equal.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { fieldsOf, readFieldSet, union } from "./field-set.ts";

/** The managedFields of an object. Entries are immutable and shared. */
export type Entries = readonly ManagedFieldsEntry[];

type Id = Pick<ManagedFieldsEntry, "manager" | "operation" | "apiVersion" | "subresource">;

/** An applier is the same manager in all versions; an updater is a different one in every version and subresource. */
export function isSameManager(a: Id, b: Id): boolean {
  return (
    (a.manager ?? "") === (b.manager ?? "") &&
    a.operation === b.operation &&
    (a.subresource ?? "") === (b.subresource ?? "") &&
    (a.operation === "Apply" || a.apiVersion === b.apiVersion)
  );
}

/** The identity of a manager as text, for messages and for ordering. */
export function idText({ manager, operation, apiVersion, subresource }: Id): string {
  return JSON.stringify({
    ...(manager ? { manager } : {}),
    ...(operation ? { operation } : {}),
    ...(apiVersion && operation !== "Apply" ? { apiVersion } : {}),
    ...(subresource ? { subresource } : {}),
  });
}

/** Reads entries that a client sent; undefined if one of them is invalid, or there are none. */
export function readEntries(sent: Entries, live: Entries | undefined): Entries | undefined {
  if (faultIn(sent)) return undefined;
  const known = new Map(live?.map((entry) => [idText(entry), entry]));
  const read = new Map<string, ManagedFieldsEntry>();
  for (const entry of sent) {
    const id = idText(entry);
    const same = known.get(id);
    read.delete(id); // The last entry of a manager counts, in its own place.
    read.set(id, same && equal(same, entry) ? same : { ...entry, fieldsV1: readFieldSet(entry.fieldsV1) });
  }
  return read.size > 0 ? [...read.values()] : undefined;
}

/** Sets that have been read without a fault. They are shared and never changed. */
const sound = new WeakSet<object>();

/** What is wrong with managedFields from a client. */
export function faultIn(entries: Entries): string | undefined {
  for (const [index, { operation, apiVersion, fieldsType, fieldsV1 }] of entries.entries()) {
    if (operation !== "Apply" && operation !== "Update") return "operation must be `Apply` or `Update`";
    if (!apiVersion) return "apiVersion must not be empty";
    if (!fieldsType) return `missing fieldsType in managed fields entry ${index}`;
    if (fieldsType !== "FieldsV1") {
      return `invalid fieldsType ${JSON.stringify(fieldsType)} in managed fields entry ${index}`;
    }
    if (fieldsV1 && sound.has(fieldsV1)) continue;
    try {
      readFieldSet(fieldsV1);
      if (fieldsV1) sound.add(fieldsV1);
    } catch (error) {
      return `error decoding set: ${messageOf(error)}`;
    }
  }
  return undefined;
}

/** Appliers first, then by time; returns the same list if it is in order. */
export function sortEntries(entries: Entries): Entries {
  for (let index = 1; index < entries.length; index++) {
    if (compareEntries(entries[index - 1] ?? {}, entries[index] ?? {}) > 0) return entries.toSorted(compareEntries);
  }
  return entries;
}
function compareEntries(a: ManagedFieldsEntry, b: ManagedFieldsEntry): number {
  return (
    compareText(a.operation, b.operation) ||
    compareText(a.time, b.time) ||
    compareText(a.manager, b.manager) ||
    compareText(a.apiVersion, b.apiVersion) ||
    compareText(a.subresource, b.subresource)
  );
}

const maxUpdaters = 10;
const bucketName = "ancient-changes";

/** Keeps the list short: with more than ten updaters, the oldest of each version are merged into one. */
export function capUpdates(entries: Entries): Entries {
  const updaters = entries.filter(({ operation }) => operation !== "Apply");
  if (updaters.length <= maxUpdaters) return entries;
  const oldestFirst = updaters.toSorted((a, b) => compareText(a.time, b.time) || compareText(idText(a), idText(b)));
  let result = entries;
  let count = updaters.length;
  const firsts = new Map<string, ManagedFieldsEntry>();
  for (const entry of oldestFirst) {
    if (count <= maxUpdaters) break;
    const version = entry.apiVersion ?? "";
    const first = firsts.get(version);
    if (!first) {
      firsts.set(version, entry);
      continue;
    }
    result = mergeIntoBucket(result, first, entry);
    count--;
  }
  return result;
}

/** Adds the fields of an entry to the bucket of its version; the first entry becomes the bucket. */
function mergeIntoBucket(entries: Entries, first: ManagedFieldsEntry, entry: ManagedFieldsEntry): Entries {
  const { manager: _manager, subresource: _subresource, ...rest } = entry;
  const id = {
    manager: bucketName,
    operation: "Update",
    ...(entry.apiVersion ? { apiVersion: entry.apiVersion } : {}),
  };
  const existing = entries.find((other) => isSameManager(other, id));
  const source = existing ?? first;
  const fields = union(fieldsOf(entry), fieldsOf(source));
  const bucket: ManagedFieldsEntry = { manager: bucketName, ...rest, fieldsV1: fields };
  return [...entries.filter((other) => other !== entry && other !== source), bucket];
}
