import { type ManagedFieldsEntry } from "#api/meta/object-meta.ts";
import { isPlainManager } from "#api/meta/validate-meta.ts";
import { type ApiObject, apiVersionOf, type Resource } from "#api/resource.ts";
import { timestamp } from "#lib/async/clock.ts";
import { type Steps } from "#lib/async/turns.ts";
import { equal } from "#lib/data/equal.ts";
import { compare, type Delta, type Reading, UnnamedItemError } from "./compare.ts";
import { capUpdates, type Entries, isSameManager, readEntries, sortEntries } from "./entries.ts";
import { difference, type FieldSet, fieldsOf, isBare, noFields, union } from "./field-set.ts";
import { markReconciled, reconcileFields } from "./reconcile-fields.ts";
import { ownableShape } from "./reset-fields.ts";
import { shapeOf } from "./shape.ts";

export interface UpdateFacts {
  readonly resource: Resource;
  /** The stored object; undefined for a create. */
  readonly oldObject: ApiObject | undefined;
  /** The object to store, decoded and defaulted. Its managedFields are those that the client sent. */
  readonly newObject: ApiObject;
  /** See `managerOf`. */
  readonly manager: string;
  /** "" for the object itself. */
  readonly subresource: string;
  /** Milliseconds. */
  readonly now: number;
  readonly versions?: Versions | undefined;
}

/** For kinds with several versions: entries name fields in the version in which they were written. */
export interface Versions {
  /** The object in another version, or undefined if that version is not served. */
  convert(object: ApiObject, apiVersion: string): { resource: Resource; object: ApiObject } | undefined;
}

/**
 * The managedFields of the new object after a create, update or patch: the changed fields now belong to the manager of
 * the write. Unchanged entries are kept, the whole list is kept if there was no change, and undefined means that the
 * object is not tracked. A long object takes a while, so it is done in steps.
 */
export function* updateManagedFields(facts: UpdateFacts): Steps<Entries | undefined> {
  const live = facts.oldObject?.metadata.managedFields;
  const entries = entriesToStartFrom(facts, live);
  if (entries.length === 0 && facts.oldObject?.metadata.uid) return undefined;
  try {
    const updated = yield* moveFields(facts, entries);
    if (updated.length === 0) return undefined;
    return live && equal(updated, live) ? live : updated;
  } catch (error) {
    if (error instanceof UnnamedItemError) return undefined;
    throw error;
  }
}

/** The manager of a write: the `fieldManager` parameter, or the user agent up to the first slash. */
export function managerOf(fieldManager: string, userAgent: string): string {
  if (fieldManager) return fieldManager;
  const slash = userAgent.indexOf("/");
  const name = slash < 0 ? userAgent : userAgent.slice(0, slash);
  if (isPlainManager(name)) return name;
  const printable = name.replace(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, "");
  let kept = "";
  let size = 0;
  for (const character of printable) {
    size += Buffer.byteLength(character);
    if (size > maxManagerBytes) break;
    kept += character;
  }
  return kept;
}
const maxManagerBytes = 128;

/** A client may send its own managedFields; [] or [{}] removes them; absent or invalid ones change nothing. */
function entriesToStartFrom({ subresource, newObject }: UpdateFacts, live: Entries | undefined): Entries {
  const sent = newObject.metadata.managedFields;
  if (subresource !== "" || sent === undefined || sent === live) return live ?? [];
  if (isReset(sent)) return [];
  if (live && equal(sent, live)) return live;
  return readEntries(sent, live) ?? live ?? [];
}
const isReset = (sent: Entries): boolean =>
  sent.length === 0 || (sent.length === 1 && Object.values(sent[0] ?? {}).every((value) => value === undefined));

function* moveFields(facts: UpdateFacts, entries: Entries): Steps<Entries> {
  const apiVersion = apiVersionOf(facts.resource);
  const delta = compareObjects(facts, facts.oldObject, facts.newObject);
  if (!delta)
    return facts.oldObject && entries === facts.oldObject.metadata.managedFields ? entries : sortEntries(entries);
  yield;
  const kept = withoutMoved(facts, entries, { apiVersion, delta });
  yield;
  if (!delta.changed) return sortEntries(kept);
  const id = { manager: facts.manager || "unknown", operation: "Update", apiVersion, subresource: facts.subresource };
  const previous = kept.find((entry) => isSameManager(entry, id));
  const fields = previous ? union(delta.changed, fieldsOf(previous)) : delta.changed;
  const mine = entryOf(id, fields, timestamp(facts.now));
  markReconciled(shapeOf(facts.resource.schema), fields);
  const others = previous ? kept.filter((entry) => entry !== previous) : kept;
  return sortEntries(capUpdates([...others, mine]));
}

/** The changes in the part of the object that the endpoint can write. */
export function compareObjects(
  { resource, subresource }: Pick<UpdateFacts, "resource" | "subresource">,
  old: ApiObject | undefined,
  now: ApiObject | undefined,
  reading: Reading = "decoded",
): Delta | undefined {
  return compare(ownableShape(resource, subresource), old, now, reading);
}

/** The entries without the fields that somebody else changed or that were removed. */
export function withoutMoved(
  facts: Pick<UpdateFacts, "resource" | "subresource" | "versions" | "oldObject" | "newObject">,
  entries: Entries,
  current: { apiVersion: string; delta: Delta | undefined },
): ManagedFieldsEntry[] {
  const deltas = new DeltasByVersion(facts, current);
  const whole = shapeOf(facts.resource.schema);
  const kept: ManagedFieldsEntry[] = [];
  for (const entry of entries) {
    const delta = deltas.in(entry.apiVersion ?? "");
    if (delta === "not served") continue;
    const owned = fieldsOf(entry);
    const rest = withoutDelta(entry.apiVersion === current.apiVersion ? reconcileFields(whole, owned) : owned, delta);
    if (isBare(rest)) continue;
    if (rest === owned) kept.push(entry);
    else {
      markReconciled(whole, rest);
      kept.push({ ...entry, fieldsV1: rest });
    }
  }
  return kept;
}
const withoutDelta = (fields: FieldSet, delta: Delta | undefined): FieldSet =>
  difference(difference(fields, delta?.changed ?? noFields), delta?.removed ?? noFields);

/** The same change with the fields of the version in which an entry is written. */
export class DeltasByVersion {
  readonly #facts: Parameters<typeof withoutMoved>[0];
  readonly #known = new Map<string, Delta | undefined | "not served">();
  readonly #current: string;
  readonly #delta: Delta | undefined;

  constructor(facts: Parameters<typeof withoutMoved>[0], current: { apiVersion: string; delta: Delta | undefined }) {
    this.#facts = facts;
    this.#current = current.apiVersion;
    this.#delta = current.delta;
  }
  in(apiVersion: string): Delta | undefined | "not served" {
    if (apiVersion === this.#current) return this.#delta;
    if (!this.#known.has(apiVersion)) this.#known.set(apiVersion, this.#compareIn(apiVersion));
    return this.#known.get(apiVersion);
  }
  #compareIn(apiVersion: string): Delta | undefined | "not served" {
    const { versions, oldObject, newObject, subresource } = this.#facts;
    const now = versions?.convert(newObject, apiVersion);
    const old = oldObject && versions?.convert(oldObject, apiVersion);
    if (!now || (oldObject && !old)) return "not served";
    return compareObjects({ resource: now.resource, subresource }, old?.object, now.object);
  }
}

export interface ManagerId {
  readonly manager: string;
  readonly operation: string;
  readonly apiVersion: string;
  readonly subresource: string;
}
/** The writes of one manager within one second are usually alike, so the objects share the entry. */
export function entryOf(id: ManagerId, fields: FieldSet, time: string | undefined): ManagedFieldsEntry {
  const last = lastEntry;
  const isLast = last?.fieldsV1 === fields && last.time === time && isSameManager(last, id);
  if (isLast && last.apiVersion === id.apiVersion) return last;
  lastEntry = makeEntry(id, fields, time);
  return lastEntry;
}
let lastEntry: ManagedFieldsEntry | undefined;

/** Members in Go's order. */
function makeEntry(id: ManagerId, fields: FieldSet, time: string | undefined): ManagedFieldsEntry {
  const entry: ManagedFieldsEntry = { manager: id.manager, operation: id.operation, apiVersion: id.apiVersion };
  if (time !== undefined) entry.time = time;
  entry.fieldsType = "FieldsV1";
  entry.fieldsV1 = fields;
  if (id.subresource) entry.subresource = id.subresource;
  return entry;
}

/**
 * A write that changes only times is not a change: then these are the entries of the old object, otherwise those of the
 * new one. Must be called last, when the new object is what would be stored.
 */
export function settledEntries(oldObject: ApiObject, newObject: ApiObject): Entries | undefined {
  const old = oldObject.metadata.managedFields;
  const now = newObject.metadata.managedFields;
  if (!old || !now || old === now || old.length !== now.length) return now;
  const timeless = now.every((entry, index) =>
    equal({ ...entry, time: undefined }, { ...old[index], time: undefined }),
  );
  if (!timeless) return now;
  const restored = { ...newObject, metadata: { ...newObject.metadata, managedFields: old } };
  return equal(restored, oldObject) ? old : now;
}
