import { type ApiObject, type Resource } from "#api/resource.ts";

/**
 * A local, indexed, read-only copy of one Resource that knows its revision. What it hands out is shared: to change an
 * object, make a new one. In the server's process it is the server's own watch cache, uncopied.
 */
export interface Informer<T extends ApiObject = ApiObject> {
  readonly resource: Resource<T>;
  /** The newest revision seen. */
  readonly revision: number;
  get(ref: { readonly namespace?: string | undefined; readonly name: string }): T | undefined;
  /** All, or those of one namespace, in no particular order. */
  list(namespace?: string): T[];
  /** Those that an index has under a key: `by("controller", uid)`. Every Resource has `owner` and `controller`. */
  by(index: string, key: string): T[];
  /** Adds an index of the caller's own; the same name again is an error. */
  addIndex(name: string, keysOf: (object: T) => readonly string[]): void;
  /** Calls at once for every object there is, then for every change, in order, without awaiting. */
  subscribe(handler: (change: Change<T>) => void): () => void;
  /** Resolves once the first list is complete. */
  synced(signal?: AbortSignal): Promise<void>;
  /** Resolves once everything up to this revision has been seen. */
  caughtUpTo(revision: number, signal?: AbortSignal): Promise<void>;
}

export type Change<T> =
  | { readonly type: "put"; readonly object: T; readonly previous: T | undefined; readonly trace: string | undefined }
  | { readonly type: "delete"; readonly object: T; readonly trace: string | undefined };

/** Which objects of a Resource an informer has; all, if nothing is said. */
export interface InformerScope {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

/** One informer per Resource and scope, made when first asked for. */
export interface Informers extends AsyncDisposable {
  of<T extends ApiObject>(resource: Resource<T>, scope?: InformerScope): Informer<T>;
  /** Resolves once every informer asked for so far has its first list. */
  synced(signal?: AbortSignal): Promise<void>;
}
