import { type ApiObject, apiVersionOf, type InputOf, type Resource } from "#api/resource.ts";
import { badRequest } from "#api/status.ts";
import {
  type ApplyOptions,
  type Client,
  type DeleteCallOptions,
  type ListCallOptions,
  type ObjectRef,
  type Patch,
  type RawOptions,
  type RawResponse,
  type RawStream,
  refOf,
  type WatchCallOptions,
  type WatchEvent,
  type WriteOptions,
  type Written,
} from "./client.ts";

/** A call in the form that both transports carry. */
export interface ApiCall {
  readonly method: string;
  readonly path: string;
  /** Without the question mark; "" if there is none. */
  readonly query: string;
  readonly contentType: string | undefined;
  /** A JSON value, possibly with shared parts. */
  readonly body: unknown;
  /** The caller wants to know only that it worked. */
  readonly ignoresResult?: true;
}

/** The difference between a network connection and a call within the process. */
export interface CallTransport {
  /** Resolves with the decoded response, or throws the received StatusError. */
  call(call: ApiCall, resource: Resource, signal: AbortSignal | undefined): Promise<unknown>;
  watch(call: ApiCall, resource: Resource, signal: AbortSignal): AsyncIterable<WatchEvent<ApiObject>>;
  raw(method: string, path: string, options: RawOptions): Promise<RawResponse>;
  stream(method: string, path: string, options: RawOptions): Promise<RawStream>;
}

const json = "application/json";
const patchTypes = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
} as const;

/** The Client over a transport. Responses are not checked again, because the server has done so. */
export function clientOver(transport: CallTransport): Client {
  const call = <A>(call: ApiCall, resource: Resource, signal: AbortSignal | undefined): Promise<A> =>
    transport.call(call, resource, signal) as Promise<A>;
  return {
    get: async (resource, ref, options) =>
      call(getCall(resource, ref, options?.resourceVersion), resource, options?.signal),
    list: async (resource, options) => call(listCall(resource, options ?? {}), resource, options?.signal),
    watch: <T extends ApiObject>(resource: Resource<T>, options: WatchCallOptions) =>
      transport.watch(watchCall(resource, options), resource, options.signal) as AsyncIterable<WatchEvent<T>>,
    create: async (resource, object, options) => call(createCall(resource, object, options), resource, options?.signal),
    update: async (resource, object, options) => call(updateCall(resource, object, options), resource, options?.signal),
    updateStatus: async (resource, object, options) =>
      call(updateCall(resource, object, { ...options, subresource: "status" }), resource, options?.signal),
    patch: async (resource, ref, patch, options) =>
      call(patchCall(resource, { ref, patch, options }), resource, options?.signal),
    apply: async (resource, object, options) => call(applyCall(resource, object, options), resource, options.signal),
    async delete<T extends ApiObject>(resource: Resource<T>, ref: ObjectRef, options: DeleteCallOptions = {}) {
      const answer = await call<T>(deleteCall(resource, ref, options), resource, options.signal);
      return livesOn(answer) ? answer : undefined;
    },
    async deleteCollection(resource, options) {
      await call(deleteCollectionCall(resource, options), resource, options.signal);
    },
    createSubresource: async (resource, ref, subresource, body, options) =>
      call(write("POST", pathOf(resource, named(ref), subresource), { body, options }), resource, options?.signal),
    raw: (method, path, options) => transport.raw(method, path, options ?? {}),
    stream: (method, path, options) => transport.stream(method, path, options ?? {}),
  };
}

export const getCall = (resource: Resource, ref: ObjectRef, resourceVersion?: string): ApiCall =>
  read(pathOf(resource, named(ref)), queryOf({ resourceVersion }));

export const listCall = (resource: Resource, options: ListCallOptions): ApiCall =>
  read(pathOf(resource, { namespace: options.namespace ?? "", name: "" }), listQuery(options));

export function watchCall(resource: Resource, options: WatchCallOptions): ApiCall {
  const { resourceVersion, labelSelector, fieldSelector, sendInitialEvents, bookmarks } = options;
  const query = queryOf({
    watch: "true",
    allowWatchBookmarks: (bookmarks ?? sendInitialEvents) ? "true" : undefined,
    sendInitialEvents: sendInitialEvents ? "true" : undefined,
    resourceVersionMatch: sendInitialEvents ? "NotOlderThan" : undefined,
    resourceVersion,
    labelSelector,
    fieldSelector,
  });
  return read(pathOf(resource, { namespace: options.namespace ?? "", name: "" }), query);
}

export function createCall<T extends ApiObject>(
  resource: Resource<T>,
  object: InputOf<T>,
  options: WriteOptions = {},
): ApiCall {
  const { namespace, name } = metadataOf(object);
  if (resource.scope === "Namespaced" && !namespace) {
    throw badRequest("an empty namespace may not be set during creation");
  }
  const path = pathOf(resource, { namespace, name: options.subresource ? name : "" }, options.subresource);
  return write("POST", path, { body: withType(resource, object), options });
}

export function updateCall<T extends ApiObject>(
  resource: Resource<T>,
  object: Written<T>,
  options: WriteOptions = {},
): ApiCall {
  const path = pathOf(resource, named({ metadata: metadataOf(object) }), options.subresource);
  return write("PUT", path, { body: withType(resource, object), options });
}

interface PatchFacts {
  readonly ref: ObjectRef;
  readonly patch: Patch;
  readonly options: WriteOptions | undefined;
}

export function patchCall(resource: Resource, { ref, patch, options }: PatchFacts): ApiCall {
  const path = pathOf(resource, named(ref), options?.subresource);
  return write("PATCH", path, { body: patch.body, options, contentType: patchTypes[patch.type] });
}

export function applyCall<T extends ApiObject>(
  resource: Resource<T>,
  object: InputOf<T>,
  options: ApplyOptions,
): ApiCall {
  const path = pathOf(resource, named({ metadata: metadataOf(object) }), options.subresource);
  // The server expects YAML here, and JSON is valid YAML.
  const contentType = "application/apply-patch+yaml";
  return write("PATCH", path, { body: withType(resource, object), options, contentType, force: options.force });
}

export const deleteCall = (resource: Resource, ref: ObjectRef, options: DeleteCallOptions): ApiCall => ({
  method: "DELETE",
  path: pathOf(resource, named(ref)),
  query: "",
  contentType: json,
  body: deleteOptions(options),
});

const deleteCollectionCall = (resource: Resource, options: ListCallOptions & DeleteCallOptions): ApiCall => ({
  method: "DELETE",
  path: pathOf(resource, { namespace: options.namespace ?? "", name: "" }),
  query: listQuery(options),
  contentType: json,
  body: deleteOptions(options),
  ignoresResult: true,
});

/** `/api/v1/namespaces/default/pods/web/log`; the collection if there is no name. */
export function pathOf(
  resource: Pick<Resource, "group" | "version" | "plural" | "scope">,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  subresource = "",
): string {
  let path = resource.group ? `/apis/${resource.group}/${resource.version}` : `/api/${resource.version}`;
  if (resource.scope === "Namespaced" && namespace) path += `/namespaces/${segment(namespace)}`;
  path += `/${resource.plural}`;
  if (name) path += `/${segment(name)}`;
  return subresource ? `${path}/${subresource}` : path;
}

/** Names rarely need escaping, and the check is cheaper than escaping. */
const segment = (name: string): string => (/^[\w.:~-]+$/.test(name) ? name : encodeURIComponent(name));

function named(ref: ObjectRef): { namespace: string; name: string } {
  const { namespace, name } = refOf(ref);
  if (!name) throw badRequest("resource name may not be empty");
  return { namespace, name };
}

const read = (path: string, query: string): ApiCall => ({
  method: "GET",
  path,
  query,
  contentType: undefined,
  body: undefined,
});

interface WriteFacts {
  readonly body: unknown;
  readonly options?: WriteOptions | undefined;
  readonly contentType?: string;
  readonly force?: boolean | undefined;
}

function write(method: string, path: string, { body, options, contentType = json, force }: WriteFacts): ApiCall {
  return { method, path, query: options || force ? writeQuery(options, force) : "", contentType, body };
}

function writeQuery({ fieldManager, dryRun, fieldValidation }: WriteOptions = {}, force = false): string {
  // Most writes ask for nothing special.
  if (!fieldManager && !dryRun && !fieldValidation && !force) return "";
  const query = {
    fieldManager,
    dryRun: dryRun ? "All" : undefined,
    fieldValidation,
    force: force ? "true" : undefined,
  };
  return queryOf(query);
}

const listQuery = ({ labelSelector, fieldSelector, limit, continue: next, resourceVersion }: ListCallOptions): string =>
  queryOf({ labelSelector, fieldSelector, limit: limit?.toString(), continue: next, resourceVersion });

function queryOf(values: Readonly<Record<string, string | undefined>>): string {
  let query = "";
  for (const [name, value] of Object.entries(values)) {
    if (value) query += `${query ? "&" : ""}${name}=${encodeURIComponent(value)}`;
  }
  return query;
}

function deleteOptions(options: DeleteCallOptions): Record<string, unknown> {
  const { gracePeriodSeconds, propagationPolicy, preconditions, dryRun } = options;
  return {
    kind: "DeleteOptions",
    apiVersion: "v1",
    ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
    ...(propagationPolicy ? { propagationPolicy } : {}),
    ...(preconditions ? { preconditions } : {}),
    ...(dryRun ? { dryRun: ["All"] } : {}),
  };
}

/** Cached objects and literals may lack their kind, but the server requires it. */
function withType(resource: Resource, object: object): object {
  if ("kind" in object && "apiVersion" in object && object.kind && object.apiVersion) return object;
  return { ...object, kind: resource.kind, apiVersion: apiVersionOf(resource) };
}

function metadataOf(object: object): { namespace: string; name: string } {
  const { metadata } = object as InputOf<ApiObject>;
  return { namespace: metadata?.namespace ?? "", name: metadata?.name ?? "" };
}

/** Some kinds are returned when they are deleted immediately; only a grace period or a finalizer keeps one alive. */
function livesOn({ kind, metadata }: ApiObject): boolean {
  if (kind === "Status" || !metadata?.deletionTimestamp) return false;
  return (metadata.deletionGracePeriodSeconds ?? 0) > 0 || (metadata.finalizers?.length ?? 0) > 0;
}
