import { type ManagedFieldsEntry } from "#api/meta/object-meta.ts";
import { type ApiObject, apiVersionOf, type Resource } from "#api/resource.ts";
import { badRequest, StatusError } from "#api/status.ts";
import { timestamp } from "#lib/async/clock.ts";
import { type Steps } from "#lib/async/turns.ts";
import { equal } from "#lib/data/equal.ts";
import { isObject } from "#lib/data/json-object.ts";
import { checkAppliedKind, faultsIn, kindText } from "./check-applied.ts";
import { type Conflict, conflictError, without } from "./fields/conflicts.ts";
import { type Entries, faultIn, isSameManager, sortEntries } from "./fields/entries.ts";
import { fieldsOf, intersection, isBare, noFields } from "./fields/field-set.ts";
import {
  compareObjects,
  DeltasByVersion,
  entryOf,
  updateManagedFields,
  type Versions,
  withoutMoved,
} from "./fields/managed-fields.ts";
import { ownFields } from "./fields/own-fields.ts";
import { prune } from "./fields/prune.ts";
import { reconcileFields } from "./fields/reconcile-fields.ts";
import { ownableShape } from "./fields/reset-fields.ts";
import { same } from "./fields/same.ts";
import { shapeOf } from "./fields/shape.ts";
import { lastAppliedFields, withLastApplied } from "./last-applied.ts";
import { mergeValues } from "./merge-values.ts";

export interface ApplyFacts {
  readonly resource: Resource;
  /** The stored object; undefined to create it. */
  readonly liveObject: ApiObject | undefined;
  /** The client's configuration: parsed, but neither decoded nor defaulted. */
  readonly applied: unknown;
  readonly manager: string;
  /** Take over fields of other managers. */
  readonly force: boolean;
  /** "" for the object itself. */
  readonly subresource: string;
  /** Milliseconds. */
  readonly now: number;
  readonly versions?: Versions | undefined;
}

export interface Applied {
  /** Not decoded and not defaulted; the live object itself if nothing changes. Its managedFields are out of date. */
  readonly object: ApiObject;
  readonly managedFields: Entries | undefined;
}

/**
 * Server-side apply: merges a configuration into the live object, removes what the manager applied before and no longer
 * does, and records what it owns now. Throws a Conflict if it would change fields of another manager. A long object takes
 * a while, so it is done in steps.
 */
export function* applyPatch(facts: ApplyFacts): Steps<Applied> {
  const config = checkConfiguration(facts);
  yield;
  const live = facts.liveObject;
  const task: Task = { ...facts, config, before: yield* entriesOf(facts) };
  yield;
  let done = yield* attempt(task);
  if (done.conflicts.length > 0 && facts.manager === "kubectl" && live) {
    const open = without(done.conflicts, lastAppliedFields(facts.resource, live));
    if (open.length > 0) throw conflictError(open);
    done = yield* attempt({ ...task, force: true });
  }
  if (done.conflicts.length > 0) throw conflictError(done.conflicts);
  const object = facts.manager === "kubectl" ? withLastApplied(done.object, config) : done.object;
  return { object, managedFields: done.managedFields };
}

type Json = Readonly<Record<string, unknown>>;

/** The configuration must be valid enough to be read with the schema. */
function checkConfiguration({ resource, applied }: ApplyFacts): Json {
  const config: Json = isObject(applied) ? applied : {};
  checkAppliedKind(resource, config);
  const metadata: Json = isObject(config.metadata) ? config.metadata : {};
  if (Array.isArray(metadata.managedFields)) throw badRequest("metadata.managedFields must be nil");
  const faults = faultsIn(resource.schema, config);
  if (!faults) return config;
  const id = `${metadata.namespace ?? ""}/${metadata.name ?? ""}; ${kindText(config.apiVersion, config.kind)}`;
  throw badRequest(`failed to create typed patch object (${id}): ${faults}`);
}

interface Task extends ApplyFacts {
  readonly config: Json;
  /** The ownership before this apply. */
  readonly before: Entries;
}

/** An object without entries that is applied to for the first time gets one entry for all its existing fields. */
function* entriesOf({ resource, liveObject, subresource, now }: ApplyFacts): Steps<Entries> {
  const entries = liveObject?.metadata.managedFields ?? [];
  const fault = faultIn(entries);
  if (fault) throw new StatusError("", `failed to decode managed fields: ${fault}`);
  if (entries.length > 0 || !liveObject) return entries.map((entry) => reconciled(resource, entry));
  const { managedFields: _, ...metadata } = liveObject.metadata;
  const newObject = { ...liveObject, metadata };
  const manager = "before-first-apply";
  return (yield* updateManagedFields({ resource, oldObject: undefined, newObject, manager, subresource, now })) ?? [];
}

function reconciled(resource: Resource, entry: ManagedFieldsEntry): ManagedFieldsEntry {
  if (entry.apiVersion !== apiVersionOf(resource)) return entry;
  const fields = reconcileFields(shapeOf(resource.schema), fieldsOf(entry));
  return fields === entry.fieldsV1 ? entry : { ...entry, fieldsV1: fields };
}

interface Attempt extends Applied {
  /** If there are any, nothing was taken over. */
  readonly conflicts: readonly Conflict[];
}

function* attempt(task: Task): Steps<Attempt> {
  const { resource, subresource, config, before, liveObject: live } = task;
  const apiVersion = apiVersionOf(resource);
  const id = { manager: task.manager || "unknown", operation: "Apply", apiVersion, subresource };
  const last = before.find((entry) => isSameManager(entry, id));
  const others = before.filter((entry) => entry !== last);
  const fields = ownFields(ownableShape(resource, subresource), config);
  yield;
  const object = yield* mergeAndPrune(task, last, others);
  yield;
  const facts = { ...task, oldObject: live, newObject: object };
  const delta = compareObjects(task, live, object, "raw");
  const conflicts = task.force ? [] : findConflicts(others, new DeltasByVersion(facts, { apiVersion, delta }));
  if (conflicts.length > 0) return { object, managedFields: before, conflicts };
  yield;
  const unchanged = live !== undefined && same(shapeOf(resource.schema), live, object);
  const mine = isBare(fields) ? [] : [entryOf(id, fields, unchanged ? last?.time : timestamp(task.now))];
  const managedFields = sortEntries([...withoutMoved(facts, others, { apiVersion, delta }), ...mine]);
  const known = live?.metadata.managedFields;
  return {
    object: unchanged ? live : object,
    managedFields:
      managedFields.length === 0 ? undefined : known && equal(known, managedFields) ? known : managedFields,
    conflicts,
  };
}

function* mergeAndPrune(task: Task, last: ManagedFieldsEntry | undefined, others: Entries): Steps<ApiObject> {
  const { resource, versions, liveObject, config } = task;
  const shape = shapeOf(resource.schema);
  const merged = mergeValues(shape, liveObject ?? {}, config) as ApiObject;
  yield;
  const versioned = (entry: ManagedFieldsEntry) => ({ apiVersion: entry.apiVersion ?? "", fields: fieldsOf(entry) });
  const applied = { apiVersion: apiVersionOf(resource), fields: ownFields(shape, config) };
  const owned = [...others.map(versioned), applied];
  yield;
  return prune({ resource, versions, merged, last: last && versioned(last), owned });
}

function findConflicts(others: Entries, deltas: DeltasByVersion): Conflict[] {
  const conflicts: Conflict[] = [];
  for (const entry of others) {
    const delta = deltas.in(entry.apiVersion ?? "");
    if (delta === "not served") continue;
    const fields = intersection(fieldsOf(entry), delta?.changed ?? noFields);
    if (!isBare(fields)) conflicts.push({ entry, fields });
  }
  return conflicts;
}
