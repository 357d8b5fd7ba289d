import { type OwnerReference } from "#api/meta/object-meta.ts";
import { apiVersionOf, type Resource } from "#api/resource.ts";

/** The kinds that the garbage collector knows. */
export interface Collectable {
  /** Each once, in the version in which its objects are read. */
  readonly followed: readonly Resource[];
  /** In every version that somebody serves. */
  readonly served: readonly Resource[];
}

/**
 * Which kind a reference means. Its group and version decide which server is asked: another server of the same group
 * knows nothing about the owner.
 *
 *     "y.io/v1 G"  ->  ours                 "y.io/v3 G"  ->  theirs, as v2 if they prefer that
 *     "y.io/v2 G"  ->  theirs               "y.io/v4 G"  ->  nobody's
 */
export class OwnerKinds {
  readonly #byReference = new Map<string, Resource>();

  constructor({ followed, served }: Collectable) {
    const byKind = new Map<string, Resource>();
    for (const resource of followed) if (!byKind.has(kindOf(resource))) byKind.set(kindOf(resource), resource);
    // What this server serves itself comes first.
    for (const resource of served.toSorted((a, b) => Number(a.isRemote ?? false) - Number(b.isRemote ?? false))) {
      const known = byKind.get(kindOf(resource));
      const reference = referenceKind({ apiVersion: apiVersionOf(resource), kind: resource.kind });
      if (known && !this.#byReference.has(reference)) this.#byReference.set(reference, known);
    }
  }

  /** undefined if nobody serves the kind in this version, so nobody knows whether such an object exists. */
  find(reference: Pick<OwnerReference, "apiVersion" | "kind">): Resource | undefined {
    return this.#byReference.get(referenceKind(reference));
  }
}

/** The same for all versions of a kind that one server serves. */
export const kindOf = ({ group, kind, isRemote, remoteServer }: Resource): string =>
  isRemote ? `${group}/${kind} of ${remoteServer}` : `${group}/${kind}`;

const referenceKind = ({ apiVersion, kind }: Pick<OwnerReference, "apiVersion" | "kind">): string =>
  `${apiVersion} ${kind}`;

/** Remote kinds are made anew whenever any server describes itself anew. */
export function isSameResource(a: Resource, b: Resource): boolean {
  if (a === b) return true;
  if (!a.isRemote || !b.isRemote) return false;
  const keys = ["group", "version", "kind", "plural", "scope", "remoteServer"] as const;
  return keys.every((key) => a[key] === b[key]) && a.verbs.join() === b.verbs.join();
}
