import { type ManagedFieldsEntry } from "#api/meta/object-meta.ts";
import { type Entries, isSameManager, sortEntries } from "./fields/entries.ts";
import { difference, type FieldSet, fieldsOf, intersection, isBare, leaf } from "./fields/field-set.ts";
import { fieldElement } from "./fields/path-element.ts";

/** The path of the number of replicas in each version of a kind: `apps/v1` to `.spec.replicas`. */
export type ReplicasPaths = ReadonlyMap<string, string>;

const scaleVersion = "autoscaling/v1";
const inScale = pathSet(".spec.replicas");

/** The managedFields of an object's Scale: the owners of the number of replicas, with the paths of Scale. */
export function scaleEntries(parent: Entries, paths: ReplicasPaths): Entries {
  const found: ManagedFieldsEntry[] = [];
  for (const entry of parent) {
    const path = paths.get(entry.apiVersion ?? "");
    if (path && owns(entry, pathSet(path))) found.push({ ...entry, apiVersion: scaleVersion, fieldsV1: inScale });
  }
  return sortEntries(found);
}

/**
 * The managedFields of the object after its Scale was written: the new owner of the number owns it in the object too.
 */
export function parentEntries(
  parent: Entries,
  scale: Entries,
  target: { apiVersion: string; paths: ReplicasPaths },
): Entries {
  const newOwners = [...scale.filter((entry) => owns(entry, inScale))];
  const kept: ManagedFieldsEntry[] = [];
  for (const entry of parent) {
    const path = target.paths.get(entry.apiVersion ?? "");
    if (path === undefined) continue;
    const replicas = pathSet(path);
    const stays = newOwners.findIndex((owner) =>
      isSameManager({ ...owner, apiVersion: entry.apiVersion ?? "" }, entry),
    );
    if (!owns(entry, replicas)) kept.push(entry);
    else if (stays >= 0) {
      newOwners.splice(stays, 1);
      kept.push(entry);
    } else {
      const rest = difference(fieldsOf(entry), replicas);
      if (!isBare(rest)) kept.push({ ...entry, fieldsV1: rest });
    }
  }
  const fields = pathSet(target.paths.get(target.apiVersion) ?? ".spec.replicas");
  const added = newOwners.map((owner) => ({ ...owner, apiVersion: target.apiVersion, fieldsV1: fields }));
  return sortEntries([...kept, ...added]);
}

const owns = (entry: ManagedFieldsEntry, field: FieldSet): boolean => !isBare(intersection(fieldsOf(entry), field));

/** The set of a single field: `.spec.replicas`. */
function pathSet(path: string): FieldSet {
  const names = path.split(".").filter((name) => name !== "");
  return names.reduceRight<FieldSet>((below, name) => ({ [fieldElement(name)]: below }), leaf);
}
