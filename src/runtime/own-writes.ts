import { AsyncLocalStorage } from "node:async_hooks";
import { type ApiObject, type InputOf, type Resource } from "#api/resource.ts";
import { isRefusal } from "#api/status.ts";
import { type Client, type ObjectRef, refOf } from "#client/client.ts";
import { type Informer, type Informers } from "./informer.ts";
import { revisionOf } from "./object-cache.ts";

/** The writes of one run of a reconciler. */
export class OwnWrites {
  readonly #seen: ((signal: AbortSignal) => Promise<void>)[] = [];
  /** The newest written revision; 0 if there is none. */
  revision = 0;
  count = 0;

  /** There is nothing to wait for. */
  get isEmpty(): boolean {
    return this.#seen.length === 0;
  }
  add(revision: number, seen: ((signal: AbortSignal) => Promise<void>) | undefined): void {
    this.count++;
    this.revision = Math.max(this.revision, revision);
    if (seen) this.#seen.push(seen);
  }
  /** Resolves once the informers show all writes. */
  async areSeen(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#seen.map((seen) => seen(signal)));
  }
}

export interface TrackedParts {
  readonly client: Client;
  readonly informers: Informers;
  /** Finds out what became of a write without a response; default: the client. Some accounts may write but not read. */
  readonly reader?: Client;
}

/** The client and the informers of one reconciler, which track what it writes and reads. */
export interface TrackedDeps {
  readonly client: Client;
  readonly informers: Informers;
  /** Runs a task, and adds its writes through the client to `writes`, including those after an await. */
  track<R>(writes: OwnWrites, task: () => R): R;
}

/**
 * Wraps client and informers so that a reconciler can wait until the informers that it reads show what it wrote. Writes
 * of kinds that it does not read are not waited for.
 */
export function trackWrites({ client, informers, reader = client }: TrackedParts): TrackedDeps {
  const running = new AsyncLocalStorage<OwnWrites>();
  const read = new Map<string, Informer[]>();
  return {
    track: (writes, task) => running.run(writes, task),
    client: trackedClient({ client, reader }, (resource) => read.get(keyOf(resource)) ?? [], running),
    informers: {
      of(resource, scope) {
        const informer = informers.of(resource, scope);
        const key = keyOf(resource);
        const known = read.get(key) ?? [];
        if (!known.includes(informer)) read.set(key, [...known, informer]);
        return informer;
      },
      synced: (signal) => informers.synced(signal),
      // They are shared, so their owner closes them.
      async [Symbol.asyncDispose]() {},
    },
  };
}

const keyOf = ({ group, plural }: Resource): string => `${group}/${plural}`;

function trackedClient(
  { client, reader }: { readonly client: Client; readonly reader: Client },
  informersOf: (resource: Resource) => readonly Informer[],
  running: AsyncLocalStorage<OwnWrites>,
): Client {
  const noted = async <T extends ApiObject>(
    resource: Resource<T>,
    namespace: string | undefined,
    written: Promise<T>,
  ): Promise<T> => {
    const writes = running.getStore();
    const object = await written.catch((error: unknown) => {
      const informers = isRefusal(error) ? [] : informersOf(resource);
      if (informers.length > 0) writes?.add(0, showsAll(reader, { resource, namespace, informers }));
      throw error;
    });
    const revision = revisionOf(object.metadata?.resourceVersion);
    const informers = revision > 0 ? informersOf(resource) : [];
    writes?.add(revision, informers.length > 0 ? shows(informers, revision) : undefined);
    return object;
  };
  return {
    ...client,
    create: (resource, object, options) => noted(resource, spaceOf(object), client.create(resource, object, options)),
    update: (resource, object, options) => noted(resource, spaceOf(object), client.update(resource, object, options)),
    updateStatus: (resource, object, options) =>
      noted(resource, spaceOf(object), client.updateStatus(resource, object, options)),
    patch: (resource, ref, patch, options) =>
      noted(resource, refOf(ref).namespace, client.patch(resource, ref, patch, options)),
    apply: (resource, object, options) => noted(resource, spaceOf(object), client.apply(resource, object, options)),
    async delete(resource, ref, options) {
      const informers = informersOf(resource);
      const gone = isGone(informers, ref);
      const object = await client.delete(resource, ref, options).catch((error: unknown) => {
        const about = { resource, namespace: refOf(ref).namespace, informers, ref, gone };
        if (gone && !isRefusal(error)) running.getStore()?.add(0, showsAll(reader, about));
        throw error;
      });
      if (object) return await noted(resource, undefined, Promise.resolve(object));
      running.getStore()?.add(0, gone);
      return undefined;
    },
    async createSubresource(resource, ref, subresource, body, options) {
      const answer = await client.createSubresource(resource, ref, subresource, body, options);
      running.getStore()?.add(0, undefined);
      return answer;
    },
  };
}

const shows = (informers: readonly Informer[], revision: number) => async (signal: AbortSignal) => {
  await Promise.all(informers.map((informer) => informer.caughtUpTo(revision, signal)));
};

const spaceOf = (object: InputOf<ApiObject>): string | undefined => object.metadata?.namespace;

interface Unanswered {
  readonly resource: Resource;
  readonly namespace: string | undefined;
  readonly informers: readonly Informer[];
  /** The object to delete, and the wait until it is gone. */
  readonly ref?: ObjectRef;
  readonly gone?: ((signal: AbortSignal) => Promise<void>) | undefined;
}

/** For a write without a response: if it happened, the informers show it once they have the newest revision. */
const showsAll =
  (reader: Client, { resource, namespace, informers, ref, gone }: Unanswered) =>
  async (signal: AbortSignal) => {
    const { items } = await reader.list(resource, { ...(namespace ? { namespace } : {}), signal });
    // Not as arguments of one call: there may be more objects than a call can have.
    const newest = items.reduce((most, { metadata }) => Math.max(most, revisionOf(metadata.resourceVersion)), 0);
    await shows(informers, newest)(signal);
    const name = ref && refOf(ref).name;
    if (gone && !items.some(({ metadata }) => metadata.name === name)) await gone(signal);
  };

/** A deletion returns no revision, so this waits until that version of the object is gone. */
function isGone(informers: readonly Informer[], ref: ObjectRef): ((signal: AbortSignal) => Promise<void>) | undefined {
  const place = refOf(ref);
  const holding = informers.flatMap((informer) => {
    const uid = informer.get(place)?.metadata.uid;
    return uid ? [{ informer, uid }] : [];
  });
  if (holding.length === 0) return undefined;
  return async (signal) => {
    await Promise.all(holding.map(({ informer, uid }) => untilGone(informer, { ...place, uid }, signal)));
  };
}

function untilGone(
  informer: Informer,
  { uid, ...place }: { namespace: string; name: string; uid: string },
  signal: AbortSignal,
): Promise<void> {
  const isThere = (): boolean => informer.get(place)?.metadata.uid === uid;
  if (!isThere()) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const finish = () => {
      unsubscribe();
      signal.removeEventListener("abort", abort);
    };
    const abort = () => {
      finish();
      reject(signal.reason);
    };
    const unsubscribe = informer.subscribe(({ object }) => {
      if (object.metadata.uid !== uid || isThere()) return;
      finish();
      resolve();
    });
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
  });
}
