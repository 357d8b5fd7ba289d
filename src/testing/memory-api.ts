import { type Answer, type ApiRequest, type Encoded, type WatchSink } from "#api/exchange.ts";
import { type ApiObject, apiVersionOf, type Resource } from "#api/resource.ts";
import { alreadyExists, badRequest, expired, internalError, notFound, StatusError, staleObject } from "#api/status.ts";
import { type Client } from "#client/client.ts";
import { localClient } from "#client/local.ts";
import { type Clock, timestamp } from "#lib/clock.ts";
import { equal } from "#lib/equal.ts";
import { deepFreeze } from "#lib/freeze.ts";
import { cloneJson } from "#lib/json.ts";
import { applyJsonPatch } from "#lib/json-patch.ts";
import { applyMergePatch } from "#lib/merge-patch.ts";
import { scopeFilter } from "#runtime/filtered-informer.ts";
import { parseTraceparent, type Trace } from "#trace/trace.ts";

/**
 * The least that answers like an API server: named objects with revisions and history, no gates, no defaults. For
 * tests of what stands on a Client; the server's own tests use the server.
 */
export class MemoryApi {
  /** Calls as an administrator. */
  readonly client: Client;
  /** Runs before every request; throwing makes that the answer. */
  intercept: ((request: ApiRequest) => void | Promise<void>) | undefined;
  readonly #resources: readonly Resource[];
  readonly #clock: Clock;
  readonly #objects = new Map<string, Encoded>();
  readonly #traces = new Map<number, Trace>();
  readonly #watchers = new Set<Watcher>();
  #history: Event[] = [];
  #compacted = 0;
  #revision = 0;

  constructor(resources: readonly Resource[], clock: Clock) {
    this.#resources = resources;
    this.#clock = clock;
    this.client = localClient((request) => this.handle(request), admin, { traceOf: (at) => this.traceOf(at) });
  }

  get revision(): number {
    return this.#revision;
  }
  traceOf(revision: number): Trace | undefined {
    return this.#traces.get(revision);
  }
  /** Ends all watches, as a restarted server would. */
  cutWatches(error?: Error): void {
    for (const { sink } of this.#watchers) sink.end(error);
    this.#watchers.clear();
  }
  /** Tells all watchers that nothing else happened so far. */
  sendBookmarks(): void {
    for (const { sink } of this.#watchers) sink.bookmark(this.#revision, false);
  }
  /** Forgets history: a watch from before gets 410. */
  compact(): void {
    this.#history = [];
    this.#compacted = this.#revision;
  }

  async handle(request: ApiRequest): Promise<Answer> {
    try {
      await this.intercept?.(request);
      return this.#answer(targetOf(this.#resources, request.path), request);
    } catch (error) {
      const status = error instanceof StatusError ? error : internalError(error);
      return { type: "value", status: status.code, value: status };
    }
  }

  #answer(target: Target, request: ApiRequest): Answer {
    const query = new URLSearchParams(request.query);
    if (request.method === "GET" && query.get("watch") === "true") return this.#watch(target, query);
    if (request.method === "GET" && !target.name) return this.#list(target, query);
    if (request.method === "GET") return objectAnswer(target, 200, this.#current(target));
    if (request.method === "POST") return this.#create(target, request);
    if (request.method === "PUT") return this.#write(target, bodyOf(request), request);
    if (request.method === "PATCH") return this.#patch(target, request);
    if (request.method === "DELETE" && target.name) return this.#delete(target, request);
    throw badRequest(`the memory API has no ${request.method} ${request.path}`);
  }

  #commit(target: Target, object: ApiObject | undefined, request: ApiRequest): Encoded {
    const key = keyOf(target);
    const old = this.#objects.get(key);
    const revision = ++this.#revision;
    const trace = parseTraceparent(request.headers.traceparent);
    if (trace) this.#traces.set(revision, trace);
    const now = cloneJson(object ?? old?.object ?? { metadata: {} });
    now.metadata.resourceVersion = String(revision);
    const encoded = encode(now, revision);
    if (object) this.#objects.set(key, encoded);
    else this.#objects.delete(key);
    const type = !object ? "DELETED" : old ? "MODIFIED" : "ADDED";
    const event: Event = { type, resource: target.resource, encoded, previous: old?.object };
    this.#history.push(event);
    for (const watcher of this.#watchers) deliver(watcher, event);
    return encoded;
  }

  #current(target: Target): Encoded {
    const found = this.#objects.get(keyOf(target));
    if (!found) throw notFound(target.resource, target.name);
    return found;
  }

  #selected(target: Target, query: URLSearchParams): Encoded[] {
    const prefix = `${target.resource.group}/${target.resource.plural}/`;
    const matches = filterOf(target, query);
    const found = [...this.#objects].filter(([key, { object }]) => key.startsWith(prefix) && matches(object));
    return found.map(([, encoded]) => encoded);
  }

  #list(target: Target, query: URLSearchParams): Answer {
    const list = { resourceVersion: String(this.#revision), continue: "", remainingItemCount: undefined };
    return { type: "list", resource: target.resource, items: this.#selected(target, query), list };
  }

  #create(target: Target, request: ApiRequest): Answer {
    const object = bodyOf(request);
    const { metadata } = object;
    metadata.name ||= `${metadata.generateName ?? ""}${(this.#revision + 1).toString(36).padStart(5, "0")}`;
    const at = { ...target, name: metadata.name };
    if (this.#objects.has(keyOf(at))) throw alreadyExists(target.resource, at.name);
    if (target.namespace) metadata.namespace = target.namespace;
    metadata.uid = `uid-${this.#revision + 1}`;
    metadata.generation = 1;
    metadata.creationTimestamp = timestamp(this.#clock.now());
    return objectAnswer(target, 201, this.#commit(at, object, request));
  }

  #write(target: Target, object: ApiObject, request: ApiRequest): Answer {
    const old = this.#current(target);
    const wanted = object.metadata.resourceVersion;
    if (wanted && wanted !== old.object.metadata.resourceVersion) throw staleObject(target.resource, target.name);
    const next = mergeUpdate(target, object, old.object);
    if (equal(next, old.object)) return objectAnswer(target, 200, old);
    const leaves = old.object.metadata.deletionTimestamp && !next.metadata.finalizers?.length;
    return objectAnswer(target, 200, this.#commit(target, leaves ? undefined : next, request));
  }

  #patch(target: Target, request: ApiRequest): Answer {
    const type = request.headers["content-type"] ?? "";
    const apply = type.startsWith("application/apply-patch");
    if (apply && !this.#objects.has(keyOf(target))) return this.#create(target, request);
    const { object } = this.#current(target);
    const patched = type.startsWith("application/json-patch")
      ? applyJsonPatch(object, request.object)
      : applyMergePatch(object, request.object);
    return this.#write(target, patched as ApiObject, request);
  }

  #delete(target: Target, request: ApiRequest): Answer {
    const { object } = this.#current(target);
    const { preconditions } = (request.object ?? {}) as { preconditions?: { uid?: string } };
    if (preconditions?.uid && preconditions.uid !== object.metadata.uid)
      throw staleObject(target.resource, target.name);
    if (!object.metadata.finalizers?.length) {
      this.#commit(target, undefined, request);
      return { type: "value", status: 200, value: { kind: "Status", apiVersion: "v1", status: "Success" } };
    }
    const next = cloneJson(object);
    next.metadata.deletionTimestamp ??= timestamp(this.#clock.now());
    next.metadata.deletionGracePeriodSeconds ??= 0;
    return objectAnswer(target, 200, this.#commit(target, next, request));
  }

  #watch(target: Target, query: URLSearchParams): Answer {
    const from = Number(query.get("resourceVersion") ?? 0);
    const streams = query.get("sendInitialEvents") === "true";
    const initial = streams || from === 0;
    if (!initial && from < this.#compacted) throw expired(`too old resource version: ${from} (${this.#compacted + 1})`);
    const start = (sink: WatchSink): (() => void) => {
      const watcher = { sink, resource: target.resource, matches: filterOf(target, query) };
      if (initial) for (const encoded of this.#selected(target, query)) sink.event("ADDED", encoded);
      else for (const event of this.#history) if (event.encoded.revision > from) deliver(watcher, event);
      if (streams) sink.bookmark(this.#revision, true);
      this.#watchers.add(watcher);
      return () => this.#watchers.delete(watcher);
    };
    return { type: "watch", resource: target.resource, start };
  }
}

interface Event {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly resource: Resource;
  readonly encoded: Encoded;
  readonly previous: ApiObject | undefined;
}
interface Watcher {
  readonly sink: WatchSink;
  readonly resource: Resource;
  readonly matches: (object: ApiObject) => boolean;
}
interface Target {
  readonly resource: Resource;
  readonly namespace: string;
  readonly name: string;
  readonly subresource: string;
}

const admin = { name: "admin", groups: ["system:masters"] };

const keyOf = ({ resource, namespace, name }: Target): string =>
  `${resource.group}/${resource.plural}/${namespace}/${name}`;

function encode(object: ApiObject, revision: number): Encoded {
  deepFreeze(object);
  const json = () => Buffer.from(JSON.stringify(object));
  return { object, revision, json, protobuf: json };
}

function deliver({ sink, resource, matches }: Watcher, { type, resource: of, encoded, previous }: Event): void {
  if (of !== resource) return;
  const was = previous !== undefined && matches(previous);
  if (type !== "DELETED" && matches(encoded.object)) sink.event(was ? "MODIFIED" : "ADDED", encoded);
  else if (was) sink.event("DELETED", encoded);
}

function filterOf({ resource, namespace }: Target, query: URLSearchParams): (object: ApiObject) => boolean {
  const labelSelector = query.get("labelSelector") ?? "";
  const fieldSelector = query.get("fieldSelector") ?? "";
  return scopeFilter(resource, { namespace, labelSelector, fieldSelector });
}

/** `/apis/apps/v1/namespaces/default/deployments/web/status` in its parts. */
function targetOf(resources: readonly Resource[], path: string): Target {
  const parts = path.split("/").slice(1).map(decodeURIComponent);
  const group = parts[0] === "api" ? "" : (parts[1] ?? "");
  const rest = parts.slice(group ? 3 : 2);
  const scoped = rest[0] === "namespaces" && rest.length > 2;
  const [plural = "", name = "", subresource = ""] = scoped ? rest.slice(2) : rest;
  const resource = resources.find((known) => known.group === group && known.plural === plural);
  if (!resource) throw new StatusError("NotFound", "the server could not find the requested resource");
  return { resource, namespace: scoped ? (rest[1] ?? "") : "", name, subresource };
}

function bodyOf({ object }: ApiRequest): ApiObject {
  const body = object as ApiObject;
  body.metadata ??= {};
  return body;
}

const objectAnswer = ({ resource }: Target, status: number, encoded: Encoded): Answer => ({
  type: "object",
  status,
  resource,
  encoded,
});

/** Status goes through its own door, and nothing else does. */
function mergeUpdate({ resource, subresource }: Target, object: ApiObject, old: ApiObject): ApiObject {
  const next: ApiObject & { status?: unknown } = cloneJson(subresource === "status" ? old : object);
  const from: ApiObject & { status?: unknown } = subresource === "status" ? object : old;
  if (resource.subresources.some(({ name }) => name === "status") || subresource === "status") {
    if (from.status === undefined) delete next.status;
    else next.status = cloneJson(from.status);
  }
  const { uid, creationTimestamp, resourceVersion, deletionTimestamp } = old.metadata;
  Object.assign(next.metadata, { uid, creationTimestamp, resourceVersion, deletionTimestamp });
  next.kind = resource.kind;
  next.apiVersion = apiVersionOf(resource);
  return cloneJson(next);
}
