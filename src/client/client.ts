import { type ApiObject, type InputOf, type Resource } from "#api/resource.ts";

/**
 * The only way to read and write for every component but the API server. Every failure is a StatusError, except that a
 * call whose signal fires rejects with the signal's reason. Returned objects are shared: make a new one to change it.
 */
export interface Client {
  get<T extends ApiObject>(resource: Resource<T>, ref: ObjectRef, options?: CallOptions): Promise<T>;
  list<T extends ApiObject>(resource: Resource<T>, options?: ListCallOptions): Promise<ObjectList<T>>;
  /** Ends when the server ends it or the signal fires; throws a StatusError for an ERROR event. */
  watch<T extends ApiObject>(resource: Resource<T>, options: WatchCallOptions): AsyncIterable<WatchEvent<T>>;
  create<T extends ApiObject>(resource: Resource<T>, object: InputOf<T>, options?: WriteOptions): Promise<T>;
  /** Replaces the object; its resourceVersion, if it has one, must be current. */
  update<T extends ApiObject>(resource: Resource<T>, object: Written<T>, options?: WriteOptions): Promise<T>;
  updateStatus<T extends ApiObject>(resource: Resource<T>, object: Written<T>, options?: WriteOptions): Promise<T>;
  patch<T extends ApiObject>(resource: Resource<T>, ref: ObjectRef, patch: Patch, options?: WriteOptions): Promise<T>;
  /** Server-side apply. */
  apply<T extends ApiObject>(resource: Resource<T>, object: InputOf<T>, options: ApplyOptions): Promise<T>;
  /** Resolves with the object if it still exists (finalizers, grace period), otherwise with undefined. */
  delete<T extends ApiObject>(
    resource: Resource<T>,
    ref: ObjectRef,
    options?: DeleteCallOptions,
  ): Promise<T | undefined>;
  deleteCollection<T extends ApiObject>(
    resource: Resource<T>,
    options: ListCallOptions & DeleteCallOptions,
  ): Promise<void>;
  /** POST to a subresource such as binding, eviction or token, with a body of another kind. */
  createSubresource<B extends object>(
    resource: Resource,
    ref: ObjectRef,
    subresource: string,
    body: B,
    options?: WriteOptions,
  ): Promise<B>;
  /** Any other request, with the body as bytes: discovery, logs, metrics. */
  raw(method: string, path: string, options?: RawOptions): Promise<RawResponse>;
  /** Like `raw`, but streams the body: for followed logs and long responses. Ends early when the signal fires. */
  stream(method: string, path: string, options?: RawOptions): Promise<RawStream>;
}

/** What a client writes: a changed copy of an object that it has read, or the fields that it knows. */
export type Written<T> = NoInfer<T> | InputOf<T>;

/** Identifies an object; the object's metadata also works, and so does the object itself. */
export type ObjectRef = { namespace?: string; name: string } | { metadata: { namespace?: string; name?: string } };

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** The response is at least as new as this; `0` accepts any. */
  readonly resourceVersion?: string;
}
export interface ListCallOptions extends CallOptions {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly limit?: number;
  readonly continue?: string;
}
export interface WatchCallOptions {
  readonly signal: AbortSignal;
  readonly resourceVersion?: string;
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly bookmarks?: boolean;
  readonly sendInitialEvents?: boolean;
}
export interface WriteOptions extends CallOptions {
  readonly subresource?: string;
  readonly fieldManager?: string;
  readonly dryRun?: boolean;
  readonly fieldValidation?: "Strict" | "Warn" | "Ignore";
}
export interface ApplyOptions extends WriteOptions {
  readonly fieldManager: string;
  readonly force?: boolean;
}
export interface DeleteCallOptions extends CallOptions {
  readonly gracePeriodSeconds?: number;
  readonly propagationPolicy?: "Orphan" | "Background" | "Foreground";
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  readonly dryRun?: boolean;
}
export interface Patch {
  readonly type: "json" | "merge" | "strategic";
  readonly body: unknown;
}
export interface RawOptions extends CallOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
}
export interface RawResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Uint8Array;
}
export interface RawStream {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: AsyncIterable<Uint8Array>;
  /** What the body says, if that is a list which was made in this process: its bytes are made only when they are read. */
  readonly value?: unknown;
}

export interface ObjectList<T> {
  readonly items: readonly T[];
  readonly metadata: {
    readonly resourceVersion: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
}

export type WatchEvent<T> =
  | { readonly type: "ADDED" | "MODIFIED" | "DELETED"; readonly object: T; readonly trace?: string }
  | { readonly type: "BOOKMARK"; readonly resourceVersion: string; readonly initialEventsEnd: boolean };

export function refOf(ref: ObjectRef): { namespace: string; name: string } {
  const { namespace, name } = "metadata" in ref ? ref.metadata : ref;
  return { namespace: namespace ?? "", name: name ?? "" };
}
