import { type OwnerReference } from "#api/meta/object-meta.ts";
import { type ApiObject } from "#api/resource.ts";

export const orphanFinalizer = "orphan";
export const foregroundFinalizer = "foregroundDeletion";

/** The state of an object's owners. */
export interface Owners {
  /** They exist. */
  readonly solid: readonly OwnerReference[];
  /** They are gone. */
  readonly dangling: readonly OwnerReference[];
  /** They are being deleted and wait for their dependents to go first. */
  readonly waiting: readonly OwnerReference[];
}

export type Collection =
  | { readonly type: "keep" }
  /** It stays, without these owners. */
  | { readonly type: "unlink"; readonly uids: readonly string[] }
  | {
      readonly type: "delete";
      readonly policy: "Orphan" | "Foreground" | "Background";
      /** The owners must no longer wait for this object, because it waits for something that waits for them. */
      readonly unblock: boolean;
    };

/** Decides what happens to an object, given the state of its owners. It lives as long as one of them does. */
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

/** The object's own deletion policy takes precedence. */
function policyOf(object: ApiObject): "Orphan" | "Foreground" | "Background" {
  if (hasFinalizer(object, orphanFinalizer)) return "Orphan";
  return hasFinalizer(object, foregroundFinalizer) ? "Foreground" : "Background";
}

const hasFinalizer = ({ metadata }: ApiObject, name: string): boolean => metadata.finalizers?.includes(name) ?? false;

/** It is being deleted and waits for its dependents to go first. */
export const isDeletingDependents = (object: ApiObject): boolean =>
  object.metadata.deletionTimestamp !== undefined && hasFinalizer(object, foregroundFinalizer);

/** It is being deleted and its dependents stay. */
export const isOrphaningDependents = (object: ApiObject): boolean =>
  object.metadata.deletionTimestamp !== undefined && hasFinalizer(object, orphanFinalizer);

/** The owner's foreground deletion waits for this object. */
export const isBlocking = ({ metadata }: ApiObject, ownerUid: string): boolean =>
  metadata.ownerReferences?.some(({ uid, blockOwnerDeletion }) => uid === ownerUid && blockOwnerDeletion) ?? false;
