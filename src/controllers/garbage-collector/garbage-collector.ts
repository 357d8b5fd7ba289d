import { type OwnerReference } from "#api/meta/object-meta.ts";
import { type ApiObject } from "#api/resource.ts";
import { ignoreNotFound } from "#api/status.ts";
import { metadataClient } from "#client/metadata/metadata-client.ts";
import { Nudge } from "#lib/async/nudge.ts";
import { aborted, isAbort, orAborted, runTogether } from "#lib/async/tasks.ts";
import { LruMap } from "#lib/data/lru-map.ts";
import { type Kinds, type RemoteKinds } from "#runtime/kinds.ts";
import { type Cause, type RunDeps } from "#runtime/run-reconciler.ts";
import { workOff } from "#runtime/work-off.ts";
import { type Work, WorkQueue } from "#runtime/work-queue.ts";
import { currentTrace, parseTraceparent } from "#trace/trace.ts";
import { keyOf, OwnerGraph, ownerPlace, type Place } from "./owner-graph.ts";
import { type Collectable, isSameResource } from "./owner-kinds.ts";
import {
  foregroundFinalizer,
  isBlocking,
  isDeletingDependents,
  isOrphaningDependents,
  type Owners,
  orphanFinalizer,
  planCollection,
} from "./plan-collection.ts";

export interface GarbageCollectorDeps extends RunDeps {
  readonly kinds: Kinds;
  readonly remoteKinds: RemoteKinds;
}

const workers = 20;
const rememberedAbsent = 4096;

/**
 * Deletes objects that have lost their last owner, and carries out the two slower ways of deletion: dependents first
 * (foreground), and without dependents (orphan). Unlike the reconcilers it follows all kinds together.
 */
export async function runGarbageCollector(deps: GarbageCollectorDeps, signal: AbortSignal): Promise<void> {
  const backlog = new Backlog(deps);
  deps.onQueue?.("garbage-collector", backlog.queue);
  const known = { ...deps, collectable: () => collectable(deps) };
  const graph = new OwnerGraph(known, (place, trace) => backlog.add(place, trace));
  const close = () => backlog.queue.close();
  const changed = new Nudge();
  const stops = [deps.kinds, deps.remoteKinds].map((kinds) =>
    kinds.subscribe(() => {
      graph.kindsChanged();
      changed.give();
    }),
  );
  signal.addEventListener("abort", close, { once: true });
  if (signal.aborted) close();
  try {
    await graph.follow(signal);
    const collector = new Collector(deps, graph);
    const work = (stop: AbortSignal) => backlog.workOff((place) => collector.collect(place, stop), stop);
    const refresh = async (stop: AbortSignal): Promise<void> => {
      while (!stop.aborted) {
        await orAborted(changed.taken(), stop);
        await graph.follow(stop);
      }
    };
    // The workers wait for the queue, so a task that fails must close it, or nobody would learn of the failure.
    const closeAtEnd = (stop: AbortSignal) => aborted(stop).then(close);
    await runTogether(signal, [...Array.from({ length: workers }, () => work), refresh, closeAtEnd]);
  } catch (error) {
    if (!isAbort(error, signal)) throw error;
  } finally {
    for (const stop of stops) stop();
    await graph.close();
    signal.removeEventListener("abort", close);
    close();
  }
}

/** Objects to check, each once, with the place where they were last seen. */
class Backlog {
  readonly queue: WorkQueue<Cause>;
  readonly #deps: GarbageCollectorDeps;
  readonly #places = new Map<string, Place>();

  constructor(deps: GarbageCollectorDeps) {
    this.#deps = deps;
    this.queue = new WorkQueue<Cause>({ clock: deps.clock });
  }

  add(place: Place, trace: string | undefined): void {
    const key = keyOf(place);
    this.#places.set(key, place);
    this.queue.add(key, trace ? { trace, atMs: this.#deps.clock.now() } : undefined);
  }

  /** Processes the queue until it is closed. */
  async workOff(collect: (place: Place | undefined) => Promise<void>, stop: AbortSignal): Promise<void> {
    const run = async ({ key, cause }: Work<Cause>): Promise<void> => {
      const place = this.#places.get(key);
      this.#places.delete(key);
      const trace = parseTraceparent(cause?.trace);
      try {
        await (trace ? currentTrace.run(trace, () => collect(place)) : collect(place));
      } catch (error) {
        if (place && !this.#places.has(key)) this.#places.set(key, place);
        throw error;
      }
    };
    const worker = { name: "garbage-collector", task: "garbage collection", log: this.#deps.log, run };
    await workOff(this.queue, worker, stop);
  }
}

/** Kinds without owners and dependents, such as events, are left out. */
const collectable = ({ kinds, remoteKinds }: GarbageCollectorDeps): Collectable => ({
  followed: [...kinds.all(), ...remoteKinds.all()].filter(
    ({ verbs, hasNoDependents, storedAs }) =>
      !storedAs && !hasNoDependents && verbs.includes("delete") && verbs.includes("watch"),
  ),
  served: [...kinds.all(), ...remoteKinds.inAllVersions()],
});

/** Acts on one object at a time. */
class Collector {
  readonly #deps: GarbageCollectorDeps;
  readonly #graph: OwnerGraph;
  /** Owners that are known to be gone; a uid is never reused. */
  readonly #absent = new LruMap<string, true>(rememberedAbsent);

  constructor(deps: GarbageCollectorDeps, graph: OwnerGraph) {
    this.#deps = { ...deps, client: metadataClient(deps.client) };
    this.#graph = graph;
  }

  async collect(place: Place | undefined, signal: AbortSignal): Promise<void> {
    const object = place && this.#graph.get(place);
    if (!object) return;
    if (isOrphaningDependents(object)) await this.#orphan(place, object, signal);
    else if (isDeletingDependents(object)) await this.#deleteForeground(place, object, signal);
    else if (!object.metadata.deletionTimestamp) await this.#check(place, signal);
  }

  /** Removes the owner from all its dependents, then lets its deletion finish. */
  async #orphan(place: Place, owner: ApiObject, signal: AbortSignal): Promise<void> {
    const { uid = "" } = owner.metadata;
    const dependents = this.#graph.dependentsOf(place, uid);
    await Promise.all(dependents.map((dependent) => this.#unlink(dependent.place, [uid], signal)));
    await this.#removeFinalizer(place, orphanFinalizer, signal);
  }

  /** Lets the owner's deletion finish once no blocking dependent is left. */
  async #deleteForeground(place: Place, owner: ApiObject, signal: AbortSignal): Promise<void> {
    const { uid = "" } = owner.metadata;
    const isLeft = this.#graph.dependentsOf(place, uid).some(({ object }) => isBlocking(object, uid));
    if (!isLeft) await this.#removeFinalizer(place, foregroundFinalizer, signal);
  }

  async #check(place: Place, signal: AbortSignal): Promise<void> {
    const latest = await this.#read(place, signal);
    if (!latest || latest.metadata.deletionTimestamp) return;
    const owners = await this.#classify(place, latest.metadata.ownerReferences ?? [], signal);
    if (!owners) return;
    const dependents = this.#graph.dependentsOf(place, latest.metadata.uid ?? "").map(({ object }) => object);
    const plan = planCollection(latest, owners, dependents);
    if (plan.type === "unlink") await this.#unlink(place, plan.uids, signal);
    if (plan.type !== "delete") return;
    const current = plan.unblock ? await this.#unblock(place, latest, signal) : latest;
    await this.#delete(place, { object: current, policy: plan.policy }, signal);
  }

  /** Returns undefined if an owner cannot be looked up; then the object stays. */
  async #classify(
    place: Place,
    references: readonly OwnerReference[],
    signal: AbortSignal,
  ): Promise<Owners | undefined> {
    const owners: Record<keyof Owners, OwnerReference[]> = { solid: [], dangling: [], waiting: [] };
    for (const reference of references) {
      const resource = this.#graph.resourceOf(reference);
      const { apiVersion, kind, name } = reference;
      if (!resource) throw new Error(`owner ${kind} ${name} is of a kind that is not served: ${apiVersion}`);
      if (resource.scope === "Namespaced" && !place.namespace) {
        const owner = `${kind} ${name}`;
        this.#deps.log.info("a cluster-wide object names an owner in a namespace", { object: keyOf(place), owner });
        return undefined;
      }
      const owner = await this.#owner(ownerPlace(resource, reference, place.namespace), reference, signal);
      if (!owner) owners.dangling.push(reference);
      else if (isDeletingDependents(owner)) owners.waiting.push(reference);
      else owners.solid.push(reference);
    }
    return owners;
  }

  /** Asks the server, because the informers may not have seen a new owner yet. */
  async #owner(place: Place, reference: OwnerReference, signal: AbortSignal): Promise<ApiObject | undefined> {
    const { uid } = reference;
    const key = `${keyOf(place)} ${uid}`;
    if (this.#absent.get(key)) return undefined;
    const owner = await this.#read(place, signal);
    if (owner?.metadata.uid === uid) return owner;
    // Another server may have begun to answer in its place, and knows nothing about this owner.
    const resource = this.#graph.resourceOf(reference);
    if (!resource || !isSameResource(resource, place.resource))
      throw new Error(`${key} is served by another server now`);
    this.#absent.set(key, true);
    return undefined;
  }

  async #read({ resource, ...ref }: Place, signal: AbortSignal): Promise<ApiObject | undefined> {
    return await this.#deps.client.get(resource, ref, { signal }).catch(ignoreNotFound);
  }

  async #delete(
    { resource, ...ref }: Place,
    { object, policy }: { readonly object: ApiObject; readonly policy: "Orphan" | "Foreground" | "Background" },
    signal: AbortSignal,
  ): Promise<void> {
    const { uid = "", resourceVersion = "" } = object.metadata;
    // With its version: if it has just got another owner, it must not be deleted.
    const preconditions = { uid, resourceVersion };
    const options = { propagationPolicy: policy, preconditions, signal };
    await this.#deps.client.delete(resource, ref, options).catch(ignoreNotFound);
  }

  async #unlink(place: Place, uids: readonly string[], signal: AbortSignal): Promise<void> {
    const gone = new Set(uids);
    await this.#change(place, signal, ({ metadata }) => {
      const left = (metadata.ownerReferences ?? []).filter(({ uid }) => !gone.has(uid));
      if (left.length === (metadata.ownerReferences?.length ?? 0)) return undefined;
      return { ownerReferences: left.length > 0 ? left : null };
    });
  }

  async #unblock(place: Place, object: ApiObject, signal: AbortSignal): Promise<ApiObject> {
    const changed = await this.#change(place, signal, ({ metadata }) => ({
      ownerReferences: (metadata.ownerReferences ?? []).map((reference) => ({
        ...reference,
        blockOwnerDeletion: false,
      })),
    }));
    return changed ?? object;
  }

  async #removeFinalizer(place: Place, finalizer: string, signal: AbortSignal): Promise<void> {
    await this.#change(place, signal, ({ metadata }) => {
      const left = (metadata.finalizers ?? []).filter((name) => name !== finalizer);
      if (left.length === (metadata.finalizers?.length ?? 0)) return undefined;
      return { finalizers: left.length > 0 ? left : null };
    });
  }

  /** Writes a change of metadata to the current object; does nothing if there is no change or the object is gone. */
  async #change(
    place: Place,
    signal: AbortSignal,
    change: (object: ApiObject) => object | undefined,
  ): Promise<ApiObject | undefined> {
    const { resource, ...ref } = place;
    const object = await this.#read(place, signal);
    const metadata = object && change(object);
    if (!metadata) return undefined;
    const { uid, resourceVersion } = object.metadata;
    const body = { metadata: { ...metadata, uid, resourceVersion } };
    return await this.#deps.client.patch(resource, ref, { type: "merge", body }, { signal }).catch(ignoreNotFound);
  }
}
