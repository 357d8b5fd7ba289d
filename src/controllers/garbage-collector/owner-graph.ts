import { type OwnerReference } from "#api/meta/object-meta.ts";
import { type ApiObject, type Resource } from "#api/resource.ts";
import { type Client } from "#client/client.ts";
import { boundedMetadata } from "#client/metadata/bounded-metadata.ts";
import { ServerRooms } from "#client/metadata/server-room.ts";
import { isAbort } from "#lib/async/tasks.ts";
import { nextTurn } from "#lib/async/turns.ts";
import { equal } from "#lib/data/equal.ts";
import { type InformerDeps, startInformers } from "#runtime/cached-informer.ts";
import { type Change, type Informer, type Informers } from "#runtime/informer.ts";
import { type Collectable, isSameResource, kindOf, OwnerKinds } from "./owner-kinds.ts";

/** The location of an object. */
export interface Place {
  readonly resource: Resource;
  readonly namespace: string;
  readonly name: string;
}

export interface GraphDeps extends InformerDeps {
  readonly informers: Informers;
  /** The kinds of this moment. */
  collectable(): Collectable;
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
  readonly #rooms: ServerRooms;
  readonly #dependents = new Map<string, Map<string, Place>>();
  readonly #kinds = new Map<string, { readonly informer: Informer; stop(): Promise<void> }>();
  /** undefined if the kinds have changed since. */
  #owners: OwnerKinds | undefined;
  /** Until all kinds are known, an owner that is not found may only not have been read yet. */
  #isComplete = false;

  constructor(deps: GraphDeps, wake: Wake) {
    this.#deps = deps;
    this.#rooms = new ServerRooms(deps.clock);
    this.#wake = wake;
  }

  /** From now on references mean what the kinds of this moment say, even before `follow` has caught up. */
  kindsChanged(): void {
    this.#owners = undefined;
  }

  /** Adds the objects of new kinds, one kind after another, and drops kinds that no longer exist. */
  async follow(signal: AbortSignal): Promise<void> {
    const { followed } = this.#deps.collectable();
    const wanted = new Map(followed.map((resource) => [kindOf(resource), resource]));
    const gone = new Set<string>();
    for (const [kind, { informer, stop }] of this.#kinds) {
      const resource = wanted.get(kind);
      if (resource && isSameResource(resource, informer.resource)) continue;
      await stop();
      this.#kinds.delete(kind);
      gone.add(kind);
    }
    if (gone.size > 0) this.#forget(gone);
    const added = new Set<string>();
    for (const [kind, resource] of wanted) {
      if (this.#kinds.has(kind)) continue;
      if (await this.#followKind(kind, resource, signal)) added.add(kind);
    }
    // Owners of a kind that was replaced may have gone in between.
    if (!this.#isComplete) this.#complete();
    else if (added.size > 0) this.#wakeUnowned(added);
  }

  /** A kind that cannot be followed must not keep the others from being followed. */
  async #followKind(kind: string, resource: Resource, signal: AbortSignal): Promise<boolean> {
    try {
      // Nobody else follows the objects of another server, and nothing waits for a server that may not answer.
      const remote = resource.isRemote ? this.#startRemote(resource) : undefined;
      const informer = remote?.informer ?? this.#deps.informers.of(resource);
      if (remote) await nextTurn();
      else await informer.synced(signal);
      const unsubscribe = informer.subscribe((change) => this.#take(resource, change));
      const stop = async () => {
        unsubscribe();
        await remote?.stop();
      };
      this.#kinds.set(kind, { informer, stop });
      return true;
    } catch (error) {
      if (isAbort(error, signal)) throw error;
      this.#deps.log.error("a kind is not garbage collected", { kind, error });
      return false;
    }
  }

  #startRemote(resource: Resource) {
    const bounded = boundedMetadata(this.#deps.client, resource, { ...this.#deps, rooms: this.#rooms });
    const informers = startInformers(bounded.client, this.#deps);
    const stop = async () => {
      await informers[Symbol.asyncDispose]();
      bounded.close();
    };
    return { informer: informers.of(resource), stop };
  }

  /** Drops the objects of these kinds as dependents: those that still exist come back with their new informer. */
  #forget(kinds: ReadonlySet<string>): void {
    for (const [uid, places] of this.#dependents) {
      for (const [key, place] of places) if (kinds.has(kindOf(place.resource))) places.delete(key);
      if (places.size === 0) this.#dependents.delete(uid);
    }
  }

  /** Wakes the dependents of owners of these kinds that do not exist. */
  #wakeUnowned(kinds: ReadonlySet<string>): void {
    for (const places of this.#dependents.values()) {
      for (const place of places.values()) {
        const references = this.get(place)?.metadata.ownerReferences ?? none;
        const isConcerned = references.some((reference) => {
          const owner = this.resourceOf(reference);
          return owner && kinds.has(kindOf(owner)) && !this.#isThere(reference, place);
        });
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

  /**
   * The objects that have this owner: their references name not only its uid, which others may know and repeat, but the
   * owner itself.
   */
  dependentsOf(owner: Place, uid: string): Dependent[] {
    const found: Dependent[] = [];
    for (const place of this.#dependents.get(uid)?.values() ?? []) {
      const object = this.get(place);
      const isOwned = (reference: OwnerReference): boolean =>
        reference.uid === uid && this.#isReferenceTo(owner, reference, place.namespace);
      if (object?.metadata.ownerReferences?.some(isOwned)) found.push({ place, object });
    }
    return found;
  }

  #isReferenceTo(owner: Place, reference: OwnerReference, namespace: string): boolean {
    const resource = this.resourceOf(reference);
    if (!resource || kindOf(resource) !== kindOf(owner.resource) || reference.name !== owner.name) return false;
    return resource.scope === "Cluster" || namespace === owner.namespace;
  }

  /** The kind of a reference; undefined if nobody serves it. */
  resourceOf(reference: Pick<OwnerReference, "apiVersion" | "kind">): Resource | undefined {
    this.#owners ??= new OwnerKinds(this.#deps.collectable());
    return this.#owners.find(reference);
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
    const nextOf = new Map(now.map((reference) => [reference.uid, reference]));
    for (const reference of old) {
      const next = nextOf.get(reference.uid);
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

  /** The owner is gone: wakes its dependents, which are checked before anything happens to them. */
  #wakeAfter({ metadata }: ApiObject, trace: string | undefined): void {
    for (const place of this.#dependents.get(metadata.uid ?? "")?.values() ?? []) this.#wake(place, trace);
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

/** An object with an owner, and where it is. */
export interface Dependent {
  readonly place: Place;
  readonly object: ApiObject;
}

const none: readonly OwnerReference[] = [];

export const keyOf = ({ resource, namespace, name }: Place): string => {
  const key = `${resource.group}/${resource.plural}/${namespace}/${name}`;
  return resource.isRemote ? `${key} of ${resource.remoteServer}` : key;
};

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
