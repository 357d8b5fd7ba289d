import { groupResource, type Resource, type Subresource } from "#api/resource.ts";
import { deprecationWarning } from "#api/rules.ts";
import { methodNotAllowed, notFound, StatusError } from "#api/status.ts";
import { listObjects, seen } from "./endpoints/list.ts";
import { revisionOf } from "./endpoints/list-options.ts";
import { watchObjects } from "./endpoints/watch.ts";
import { type WatchCache } from "./objects/watch-cache.ts";
import { type RemoteRoutes } from "./remote-routes.ts";
import { type Answer, type Context, type Next, type RequestInfo } from "./request/pipeline.ts";
import { readScale, writeScale } from "./subresources/scale.ts";
import { createEndpoint } from "./write/create.ts";
import { deleteCollection, deleteEndpoint } from "./write/delete.ts";
import { patchEndpoint } from "./write/patch.ts";
import { updateEndpoint } from "./write/update.ts";
import { type WriteDeps } from "./write/write.ts";

/** Serves a subresource, or a kind that is not stored. */
export type Endpoint = (context: Context, resource: Resource) => Answer | Promise<Answer>;

export interface DispatchDeps extends WriteDeps {
  /** By `plural/subresource`, as in `pods/binding`. `status` and `scale` work for every Resource that has them. */
  readonly subresources: ReadonlyMap<string, Endpoint>;
  /** By `plural.group`: reviews and similar kinds, which are answered but not stored. */
  readonly reviews: ReadonlyMap<string, Endpoint>;
  /** By `plural.group`: kinds whose objects are computed when they are read. */
  readonly computed: ReadonlyMap<string, Endpoint>;
  /** Serves paths that are not about a resource; undefined if there is nothing at the path. */
  nonResource(context: Context): Answer | undefined | Promise<Answer | undefined>;
  /** What other servers answer. */
  readonly remote: RemoteRoutes;
}

/** Maps a request to the endpoint that serves it. */
export function dispatch(deps: DispatchDeps): Next {
  for (const resource of deps.resources.all()) checkEndpoints(deps, resource);
  return (context) => {
    const { info } = context;
    if (!info.isResource) return toPath(deps, context);
    const resource = deps.resources.find(info.group, info.version, info.resource);
    if (!resource) return deps.remote.resource(context) ?? noSuchPath();
    return toResource(deps, placed(context, resource), resource);
  };
}

/**
 * Whether the request must see everything that was confirmed before it, also by other servers. A read that names a
 * revision waits for that one; 0 accepts any state.
 */
const needsNewest = ({ info, query }: Context): boolean =>
  !(isRead(info.verb) && (query.get("resourceVersion") || query.get("continue")));
const isRead = (verb: string): boolean => verb === "get" || verb === "list" || verb === "watch";

/** Every declared subresource needs an endpoint, except those that need a node: a server may have none. */
function checkEndpoints(deps: DispatchDeps, { plural, subresources }: Resource): void {
  for (const part of subresources) {
    const isAnswered = isOfObject(part) || part.scale || deps.subresources.has(`${plural}/${part.name}`);
    if (!isAnswered && !part.connects) throw new Error(`no endpoint for ${plural}/${part.name}`);
  }
}

/** Reads and writes the object itself, or a part of it. */
const isOfObject = ({ name, update }: Subresource): boolean => name === "status" || update !== undefined;

/** A namespace object is not in a namespace, although authorisation treats it as in its own. */
function placed(context: Context, resource: Resource): Context {
  const { info } = context;
  if (resource.scope === "Namespaced" || !info.namespace) return context;
  if (!resource.isNamespace) return noSuchPath();
  return { ...context, info: { ...info, namespace: "" } };
}

async function toPath(deps: DispatchDeps, context: Context): Promise<Answer> {
  return (await deps.nonResource(context)) ?? noSuchPath();
}

function toResource(deps: DispatchDeps, context: Context, resource: Resource): Answer | Promise<Answer> {
  const { info } = context;
  checkPlace(info, resource);
  if (resource.isComputed) return toComputed(deps, context, resource);
  const isReview = !info.subresource && info.verb === "create";
  const review = isReview && deps.reviews.get(groupResource(resource, resource.plural));
  if (review) return review(context, resource);
  if (!needsNewest(context)) return toStored(deps, context, resource);
  if (isRead(info.verb)) return readNewest(deps, context, resource);
  const caughtUp = deps.objects.catchUp();
  return caughtUp ? caughtUp.then(() => toStored(deps, context, resource)) : toStored(deps, context, resource);
}

/** Reads go on from the caches while the store cannot be asked. */
function readNewest(deps: DispatchDeps, context: Context, resource: Resource): Answer | Promise<Answer> {
  const read = (isBehind: boolean): Answer | Promise<Answer> => {
    if (isBehind) context.warnings.push(oldStateWarning);
    return toStored(deps, context, resource);
  };
  const isBehind = deps.objects.newest.reachedIfPossible();
  return typeof isBehind === "boolean" ? read(isBehind) : isBehind.then(read);
}
const oldStateWarning = "the store does not answer: this is the last state that the server has seen";

function toComputed(deps: DispatchDeps, context: Context, resource: Resource): Answer | Promise<Answer> {
  if (context.info.subresource) return noSuchPath();
  checkVerb(context, resource.verbs);
  warnIfDeprecated(context, resource);
  return deps.computed.get(groupResource(resource, resource.plural))?.(context, resource) ?? noSuchPath();
}

function toStored(deps: DispatchDeps, context: Context, resource: Resource): Answer | Promise<Answer> {
  if (context.info.subresource) return toSubresource(deps, context, resource);
  checkVerb(context, resource.verbs);
  warnIfDeprecated(context, resource);
  return toVerb(deps, context, resource);
}

function warnIfDeprecated({ warnings }: Context, resource: Resource): void {
  const warning = deprecationWarning(resource);
  if (warning) warnings.push(warning);
}

/** A single object needs a name and, if its kind is namespaced, a namespace; only reads work across all namespaces. */
function checkPlace({ verb, namespace, name, subresource, rest }: RequestInfo, { scope, verbs }: Resource): void {
  if (rest.length > 1 && subresource !== "proxy") noSuchPath();
  // Reviews and bindings are sent to their collection, and there is nothing below it.
  if (name && verbs.length === 1 && verbs[0] === "create") noSuchPath();
  const isEverywhere = scope === "Namespaced" && !namespace;
  if (isEverywhere && name) noSuchPath();
  if (isEverywhere && (verb === "create" || verb === "deletecollection")) throw methodNotAllowed();
  if (subresource) return;
  if (verb === "create" ? name : (verb === "update" || verb === "patch") && !name) throw methodNotAllowed();
}

function toVerb(deps: DispatchDeps, context: Context, resource: Resource): Answer | Promise<Answer> {
  switch (context.info.verb) {
    case "get":
      return getEndpoint(deps, context, resource);
    case "list":
      return listObjects(deps.objects, context, resource);
    case "watch":
      return watchObjects(deps, context, resource);
    case "create":
      return createEndpoint(deps, context, resource);
    case "update":
      return updateEndpoint(deps, context, resource);
    case "patch":
      return patchEndpoint(deps, context, resource);
    case "delete":
      return deleteEndpoint(deps, context, resource);
    case "deletecollection":
      return deleteCollection(deps, context, resource);
    default:
      throw methodNotAllowed();
  }
}

function toSubresource(deps: DispatchDeps, context: Context, resource: Resource): Answer | Promise<Answer> {
  const { subresource, verb } = context.info;
  const declared = resource.subresources.find(({ name }) => name === subresource);
  if (!declared) return noSuchPath();
  // The target of a proxy decides which methods it allows.
  if (subresource !== "proxy") checkVerb(context, declared.verbs);
  const own = deps.subresources.get(`${resource.plural}/${subresource}`);
  if (own) return own(context, resource);
  if (declared.scale) return verb === "get" ? readScale(deps, context, resource) : writeScale(deps, context, resource);
  return isOfObject(declared) ? toVerb(deps, context, resource) : noSuchPath();
}

/** Answers synchronously, unless the cache must be filled or must reach a revision first. */
function getEndpoint({ objects }: DispatchDeps, context: Context, resource: Resource): Answer | Promise<Answer> {
  const { namespace, name } = context.info;
  const asked = revisionOf(context.query.get("resourceVersion") ?? "");
  const answerFrom = (cache: WatchCache): Answer => {
    const encoded = cache.encoded(namespace, name);
    if (!encoded) throw notFound(resource, name);
    return { type: "object", status: 200, resource, encoded };
  };
  const cache = objects.cache(resource);
  if (asked > 0 || cache instanceof Promise) return whenSeen(cache, asked).then(answerFrom);
  return answerFrom(cache);
}

async function whenSeen(cache: WatchCache | Promise<WatchCache>, revision: number): Promise<WatchCache> {
  const filled = await cache;
  if (revision > 0) await seen(filled, revision);
  return filled;
}

function checkVerb({ info }: Context, verbs: readonly string[]): void {
  if (!verbs.includes(info.verb)) throw methodNotAllowed();
}

export function noSuchPath(): never {
  throw new StatusError("NotFound", "the server could not find the requested resource", {});
}
