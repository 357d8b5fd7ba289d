import { type ApiObject, type Resource } from "#api/resource.ts";

/**
 * A local, indexed, read-only copy of one Resource that knows its revision. Returned objects are shared: make a new one
 * to change it. In the server's process it is the server's own watch cache, without a copy.
 */
export interface Informer<T extends ApiObject = ApiObject> {
  readonly resource: Resource<T>;
  /** The newest revision seen. */
  readonly revision: number;
  get(ref: { readonly namespace?: string | undefined; readonly name: string }): T | undefined;
  /** All objects, or those of one namespace, in no particular order. */
  list(namespace?: string): T[];
  /**
   * The objects under a key of an index, in the order in which they came under it: `by("controller", uid)`. Every Resource
   * has `owner` and `controller`. The array is shared: usually it is the same one until an object under the key changes.
   */
  by(index: string, key: string): readonly T[];
  /** Adds an index; the name must be new. The same function may be added again, by a controller that starts again. */
  addIndex(name: string, keysOf: (object: T) => readonly string[]): void;
  /** Calls the handler immediately for every existing object, then for every change, in order, without awaiting it. */
  subscribe(handler: (change: Change<T>) => void): () => void;
  /** Resolves once the first list is complete. */
  synced(signal?: AbortSignal): Promise<void>;
  /** Resolves once everything up to this revision has been seen. */
  caughtUpTo(revision: number, signal?: AbortSignal): Promise<void>;
}

export type Change<T> =
  | { readonly type: "put"; readonly object: T; readonly previous: T | undefined; readonly trace: string | undefined }
  | { readonly type: "delete"; readonly object: T; readonly trace: string | undefined };

/** Which objects of a Resource an informer has; default: all. */
export interface InformerScope {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

/** One informer per Resource and scope, created on first use. */
export interface Informers extends AsyncDisposable {
  of<T extends ApiObject>(resource: Resource<T>, scope?: InformerScope): Informer<T>;
  /** Resolves once every informer requested so far has its first list. */
  synced(signal?: AbortSignal): Promise<void>;
}
