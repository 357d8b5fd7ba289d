import { type OwnerReference } from "#api/meta/object-meta.ts";
import { type ApiObject } from "#api/resource.ts";

export const orphanFinalizer = "orphan";
export const foregroundFinalizer = "foregroundDeletion";

/** What became of an object's owners. */
export interface Owners {
  /** They are there. */
  readonly solid: readonly OwnerReference[];
  /** They are gone. */
  readonly dangling: readonly OwnerReference[];
  /** They are being deleted and wait for what they own to go first. */
  readonly waiting: readonly OwnerReference[];
}

export type Collection =
  | { readonly type: "keep" }
  /** It stays, without these owners. */
  | { readonly type: "unlink"; readonly uids: readonly string[] }
  | {
      readonly type: "delete";
      readonly policy: "Orphan" | "Foreground" | "Background";
      /** First let the owners go on without it: it waits for something that waits for them. */
      readonly unblock: boolean;
    };

/** Decides what happens to an object whose owners were looked at. It lives as long as one of them does. */
export function planCollection(
  object: ApiObject,
  { solid, dangling, waiting }: Owners,
  dependents: readonly ApiObject[],
): Collection {
  if (solid.length > 0) {
    const uids = [...dangling, ...waiting].map(({ uid }) => uid);
    return uids.length > 0 ? { type: "unlink", uids } : { type: "keep" };
  }
  if (dangling.length === 0 && waiting.length === 0) return { type: "keep" };
  if (waiting.length > 0 && dependents.length > 0) {
    return { type: "delete", policy: "Foreground", unblock: dependents.some(isDeletingDependents) };
  }
  return { type: "delete", policy: policyOf(object), unblock: false };
}

/** An object that has a wish of its own for its dependents keeps it. */
function policyOf(object: ApiObject): "Orphan" | "Foreground" | "Background" {
  if (hasFinalizer(object, orphanFinalizer)) return "Orphan";
  return hasFinalizer(object, foregroundFinalizer) ? "Foreground" : "Background";
}

const hasFinalizer = ({ metadata }: ApiObject, name: string): boolean => metadata.finalizers?.includes(name) ?? false;

/** It is being deleted and waits for what it owns to go first. */
export const isDeletingDependents = (object: ApiObject): boolean =>
  object.metadata.deletionTimestamp !== undefined && hasFinalizer(object, foregroundFinalizer);

/** It is being deleted and what it owns is to stay. */
export const isOrphaningDependents = (object: ApiObject): boolean =>
  object.metadata.deletionTimestamp !== undefined && hasFinalizer(object, orphanFinalizer);

/** The owner's foreground deletion waits for this object. */
export const isBlocking = ({ metadata }: ApiObject, ownerUid: string): boolean =>
  metadata.ownerReferences?.some(({ uid, blockOwnerDeletion }) => uid === ownerUid && blockOwnerDeletion) ?? false;
