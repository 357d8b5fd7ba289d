import { type OwnerReference } from "#api/meta/object-meta.ts";
import { type ApiObject, groupOf, type Resource } from "#api/resource.ts";
import { type Client } from "#client/client.ts";
import { equal } from "#lib/data/equal.ts";
import { type InformerDeps, startInformers } from "#runtime/cached-informer.ts";
import { type Change, type Informer, type Informers } from "#runtime/informer.ts";

/** The location of an object. */
export interface Place {
  readonly resource: Resource;
  readonly namespace: string;
  readonly name: string;
}

export interface GraphDeps extends InformerDeps {
  readonly informers: Informers;
  /** For the kinds of other servers. */
  readonly client: Client;
}

type Wake = (place: Place, trace: string | undefined) => void;

/**
 * Who owns what, across all kinds, as the informers show it, and which objects a change concerns.
 *
 *     dependents   uid of the owner -> "apps/replicasets/ns/name" -> place
 */
export class OwnerGraph {
  readonly #deps: GraphDeps;
  readonly #wake: Wake;
  readonly #dependents = new Map<string, Map<string, Place>>();
  readonly #kinds = new Map<string, { readonly informer: Informer; stop(): Promise<void> }>();
  /** Until all kinds are known, an owner that is not found may only not have been read yet. */
  #isComplete = false;

  constructor(deps: GraphDeps, wake: Wake) {
    this.#deps = deps;
    this.#wake = wake;
  }

  /** Adds the objects of these kinds, one kind after another, and drops kinds that no longer exist. */
  async follow(resources: readonly Resource[], signal: AbortSignal): Promise<void> {
    const wanted = new Map(resources.map((resource) => [kindOf(resource), resource]));
    for (const [kind, { informer, stop }] of this.#kinds) {
      if (wanted.get(kind) === informer.resource) continue;
      await stop();
      this.#kinds.delete(kind);
      this.#forget(kind);
    }
    for (const [kind, resource] of wanted) {
      if (!this.#kinds.has(kind)) await this.#followKind(kind, resource, signal);
    }
    if (!this.#isComplete) this.#complete();
  }

  async #followKind(kind: string, resource: Resource, signal: AbortSignal): Promise<void> {
    // Nobody else follows the objects of another server, and nothing waits for a server that may not answer.
    const remote = resource.isRemote ? startInformers(this.#deps.client, this.#deps) : undefined;
    const informer = (remote ?? this.#deps.informers).of(resource);
    if (!remote) await informer.synced(signal);
    const unsubscribe = informer.subscribe((change) => this.#take(resource, change));
    const stop = async () => {
      unsubscribe();
      await remote?.[Symbol.asyncDispose]();
    };
    this.#kinds.set(kind, { informer, stop });
    // Owners of a kind that was replaced may have gone in between.
    if (this.#isComplete) this.#wakeUnowned(kind);
  }

  /** Drops the objects of a kind as dependents: those that still exist come back with their new informer. */
  #forget(kind: string): void {
    for (const [uid, places] of this.#dependents) {
      for (const [key, place] of places) if (kindOf(place.resource) === kind) places.delete(key);
      if (places.size === 0) this.#dependents.delete(uid);
    }
  }

  /** Wakes the dependents of owners of this kind that do not exist. */
  #wakeUnowned(kind: string): void {
    for (const places of this.#dependents.values()) {
      for (const place of places.values()) {
        const references = this.get(place)?.metadata.ownerReferences ?? none;
        const isConcerned = references.some(
          (reference) => referenceKind(reference) === kind && !this.#isThere(reference, place),
        );
        if (isConcerned) this.#wake(place, undefined);
      }
    }
  }

  async close(): Promise<void> {
    for (const { stop } of this.#kinds.values()) await stop();
  }

  get({ resource, namespace, name }: Place): ApiObject | undefined {
    return this.#kinds.get(kindOf(resource))?.informer.get({ namespace, name });
  }

  /** The places of the objects with this owner. */
  dependentsOf(uid: string): Place[] {
    return [...(this.#dependents.get(uid)?.values() ?? [])];
  }

  /** The kind of a reference; undefined if it does not exist. */
  resourceOf({ apiVersion, kind }: Pick<OwnerReference, "apiVersion" | "kind">): Resource | undefined {
    return this.#kinds.get(referenceKind({ apiVersion, kind }))?.informer.resource;
  }

  /** Checks everything that was uncertain while kinds were missing. */
  #complete(): void {
    this.#isComplete = true;
    for (const { informer } of this.#kinds.values()) {
      // Not a list: objects that are kept as bytes are parsed one after the other, and all of them together may be large.
      const stop = informer.subscribe(({ object }) => this.#judge(informer.resource, object, undefined));
      stop();
    }
  }

  #take(resource: Resource, change: Change<ApiObject>): void {
    const { object, trace } = change;
    const before = change.type === "delete" ? object : change.previous;
    const after = change.type === "delete" ? undefined : object;
    const old = before?.metadata.ownerReferences ?? none;
    const now = after?.metadata.ownerReferences ?? none;
    if (old.length > 0 || now.length > 0) this.#relink(placeOf(resource, object), { old, now, trace });
    if (!this.#isComplete) return;
    if (change.type === "delete") this.#wakeAfter(object, trace);
    else if (now.length > 0 || object.metadata.deletionTimestamp) this.#judge(resource, object, change);
  }

  #relink(
    place: Place,
    { old, now, trace }: { old: readonly OwnerReference[]; now: readonly OwnerReference[]; trace: string | undefined },
  ): void {
    const key = keyOf(place);
    for (const reference of old) {
      const next = now.find(({ uid }) => uid === reference.uid);
      // An owner that waited for this object need not wait any longer.
      if (reference.blockOwnerDeletion && !next?.blockOwnerDeletion) this.#wakeOwner(reference, place, trace);
      if (next) continue;
      const entry = this.#dependents.get(reference.uid);
      entry?.delete(key);
      if (entry?.size === 0) this.#dependents.delete(reference.uid);
    }
    for (const { uid } of now) {
      const entry = this.#dependents.get(uid);
      if (entry) entry.set(key, place);
      else this.#dependents.set(uid, new Map([[key, place]]));
    }
  }

  /** The owner is gone: wakes its dependents. */
  #wakeAfter({ metadata }: ApiObject, trace: string | undefined): void {
    for (const dependent of this.dependentsOf(metadata.uid ?? "")) this.#wake(dependent, trace);
  }

  #wakeOwner(reference: OwnerReference, { namespace }: Place, trace: string | undefined): void {
    const resource = this.resourceOf(reference);
    if (resource) this.#wake(ownerPlace(resource, reference, namespace), trace);
  }

  /** Wakes an object that lost an owner or whose deletion concerns its dependents. */
  #judge(resource: Resource, object: ApiObject, change: Change<ApiObject> | undefined): void {
    const { metadata } = object;
    const previous = change?.type === "put" ? change.previous : undefined;
    const trace = change?.trace;
    const place = placeOf(resource, object);
    const startsDeletion =
      metadata.deletionTimestamp !== undefined &&
      (metadata.finalizers?.length ?? 0) > 0 &&
      !(previous?.metadata.deletionTimestamp && equal(previous.metadata.finalizers, metadata.finalizers));
    if (startsDeletion) {
      this.#wake(place, trace);
      this.#wakeAfter(object, trace);
      return;
    }
    const known = new Set(previous?.metadata.ownerReferences?.map(({ uid }) => uid));
    const isUncertain = ({ uid, ...reference }: OwnerReference): boolean =>
      !known.has(uid) && !this.#isThere({ uid, ...reference }, place);
    if (metadata.ownerReferences?.some(isUncertain)) this.#wake(place, trace);
  }

  #isThere(reference: OwnerReference, { namespace }: Place): boolean {
    const resource = this.resourceOf(reference);
    const owner = resource && this.get(ownerPlace(resource, reference, namespace));
    return owner?.metadata.uid === reference.uid && !owner.metadata.deletionTimestamp;
  }
}

const none: readonly OwnerReference[] = [];

const kindOf = ({ group, kind }: Resource): string => `${group}/${kind}`;
const referenceKind = ({ apiVersion, kind }: Pick<OwnerReference, "apiVersion" | "kind">): string =>
  `${groupOf(apiVersion)}/${kind}`;
export const keyOf = ({ resource, namespace, name }: Place): string =>
  `${resource.group}/${resource.plural}/${namespace}/${name}`;

const placeOf = (resource: Resource, { metadata }: ApiObject): Place => ({
  resource,
  namespace: metadata.namespace ?? "",
  name: metadata.name ?? "",
});

/** An owner is in the same namespace as its dependent, or cluster-wide. */
export const ownerPlace = (resource: Resource, { name }: OwnerReference, namespace: string): Place => ({
  resource,
  namespace: resource.scope === "Namespaced" ? namespace : "",
  name,
});
