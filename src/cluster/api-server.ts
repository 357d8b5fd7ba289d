import { allResources } from "#api/all.ts";
import { Service } from "#api/core/service.ts";
import { type UserInfo } from "#api/exchange.ts";
import { type Resource } from "#api/resource.ts";
import { type Client } from "#client/client.ts";
import { localClient } from "#client/transport/local.ts";
import { type Clock } from "#lib/async/clock.ts";
import { type SigningKey } from "#lib/crypto/jwt.ts";
import { type Random } from "#lib/data/random.ts";
import { type Log } from "#lib/process/log.ts";
import { Metrics } from "#lib/process/metrics.ts";
import { type Informers } from "#runtime/informer.ts";
import { renderVerdicts, type Verdicts } from "#scheduler/verdicts.ts";
import { builtInAdmission } from "#server/admission/all.ts";
import { createAdmission } from "#server/admission/chain.ts";
import { quotaStore } from "#server/admission/quota/quota-store.ts";
import { defaultServiceRanges, type ServiceRanges, serviceAllocator } from "#server/allocate/service-allocator.ts";
import { anonymous } from "#server/authenticate/anonymous.ts";
import { bearer, type TokenAuthenticator } from "#server/authenticate/bearer.ts";
import { clientCertificate } from "#server/authenticate/client-certificate.ts";
import { inProcess } from "#server/authenticate/in-process.ts";
import { serviceAccountTokens } from "#server/authenticate/service-account.ts";
import { splitServiceAccountName } from "#server/authenticate/service-account-claims.ts";
import { type Authorizer } from "#server/authorize/authorizer.ts";
import { controllerRoleTexts } from "#server/authorize/bootstrap/bootstrap-controllers.ts";
import { createLoopback } from "#server/authorize/loopback.ts";
import { mayCreate } from "#server/authorize/may-create.ts";
import { createNodeAuthorizer } from "#server/authorize/node.ts";
import { privileged } from "#server/authorize/privileged.ts";
import { createRbac } from "#server/authorize/rbac.ts";
import { createDiscovery } from "#server/discovery/groups.ts";
import { answerNonResource, type NonResourceDeps } from "#server/discovery/non-resource.ts";
import { createOpenApi } from "#server/discovery/openapi.ts";
import { type Endpoint } from "#server/dispatch.ts";
import { Objects } from "#server/objects/objects.ts";
import { pluginWaits } from "#server/plugin-waits.ts";
import { ResourceRegistry } from "#server/registry.ts";
import { answerBackup } from "#server/request/backup.ts";
import { answerSeeing } from "#server/request/seeing.ts";
import { type ApiServer, createApiServer, type ServerDeps } from "#server/server.ts";
import { bindingEndpoint } from "#server/subresources/binding.ts";
import { evictionEndpoint } from "#server/subresources/eviction.ts";
import { finalizeEndpoint } from "#server/subresources/finalize.ts";
import { reviewEndpoints, tokenEndpoint } from "#server/subresources/reviews.ts";
import { openIdConfiguration, openIdKeys } from "#server/subresources/token-request.ts";
import { type WriteDeps } from "#server/write/write.ts";
import { type Store } from "#store/store.ts";
import { TraceRecorder } from "#trace/recorder.ts";
import { RevisionTraces } from "#trace/revision-traces.ts";
import { type Trace } from "#trace/trace.ts";
import { type LoadedSecurity } from "./security/load-security.ts";

export interface AssembleOptions {
  readonly store: Store;
  /** What a backup contains, if that is not what `store` shows. */
  readonly backupStore?: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly random: Random;
  /** Makes the uids of objects; random by default. */
  newUid?(): string;
  /** Signs service-account tokens. */
  readonly signingKey: SigningKey;
  readonly serverAddress: string;
  readonly tokens?: readonly TokenAuthenticator[];
  /** Who may call and what they may do, if it is not the default. */
  readonly security?: LoadedSecurity;
  readonly serviceRanges?: ServiceRanges;
  /** How long objects of kinds with a limited life are kept; by default, as their kind says. */
  readonly eventTtlSeconds?: number | undefined;
  /** The kinds to serve; by default, all built-in kinds. */
  readonly resources?: readonly Resource[];
  /** Adds subresources, such as streams to kubelets; called with what the built-in ones get. */
  subresources?(deps: WriteDeps & { readonly authorizers: readonly Authorizer[] }): ReadonlyMap<string, Endpoint>;
  /** Paths that are not about a resource, by their first segment. */
  readonly paths?: NonResourceDeps["more"];
  /** Where the scheduler keeps its decisions for `orlop why`. */
  readonly verdicts?: Verdicts;
  /** If false, no hops are recorded and `orlop trace` has nothing to show. */
  readonly tracing?: boolean;
  /** Objects that readers share are frozen, so that a component which changes one fails. Tests ask for it; default: false. */
  readonly freezesShared?: boolean;
}

/** The API server with all its parts, before it has a socket. */
export interface AssembledServer extends AsyncDisposable {
  readonly server: ApiServer;
  readonly objects: Objects;
  readonly informers: Informers;
  readonly recorder: TraceRecorder;
  readonly resources: ResourceRegistry;
  readonly metrics: Metrics;
  /** The trace that wrote a revision, if it is still known. */
  traceOf(revision: number): Trace | undefined;
  /** A client in this process that acts as this user and passes through all checks. */
  clientFor(user: UserInfo): Client;
  /** The same as the API server itself, which may do anything. Only for bootstrapping, not for components. */
  readonly loopback: Client;
}

export const issuer = "https://kubernetes.default.svc.cluster.local";

export async function assembleApiServer(options: AssembleOptions): Promise<AssembledServer> {
  const { clock, random, tracing = true } = options;
  const traces = tracing ? new RevisionTraces() : undefined;
  const traceOf = (revision: number) => traces?.of(revision);
  const recorder = new TraceRecorder({ clock, random, ...(tracing ? {} : { capacity: 0 }) });
  const metrics = new Metrics();
  const objects = openObjects(options, { metrics, traces });
  const informers = objects.informers();
  const resources = new ResourceRegistry(options.resources ?? allResources);
  const parts: Parts = { objects, informers, resources, metrics, recorder, traceOf };
  const security = assembleSecurity(options, informers);
  const server = createApiServer(serverDeps(options, parts, security));
  await informers.synced();
  const clientFor = (user: UserInfo) => localClient(server.handle, user, { traceOf, userAgent: componentOf(user) });
  return {
    ...parts,
    server,
    clientFor,
    loopback: clientFor(security.loopback),
    [Symbol.asyncDispose]: () => objects[Symbol.asyncDispose](),
  };
}

/** The parts that the server is built from. */
type Parts = Pick<AssembledServer, "objects" | "informers" | "resources" | "metrics" | "recorder" | "traceOf">;
type Security = ReturnType<typeof assembleSecurity>;

function openObjects(
  { store, clock, log, newUid, freezesShared, eventTtlSeconds }: AssembleOptions,
  { metrics, traces }: { readonly metrics: Metrics; readonly traces: RevisionTraces | undefined },
): Objects {
  const watcherCut = cutCounter(metrics);
  const deps = { store, clock, log, traces, watcherCut, freezesShared, eventTtlSeconds };
  const objects = new Objects({ ...deps, ...(newUid ? { newUid } : {}) });
  const help = "Watchers that are still reading their initial list.";
  metrics.gauge("orlop_lagging_watchers", help, () => objects.laggingWatchers);
  return objects;
}

function serverDeps(options: AssembleOptions, parts: Parts, security: Security): ServerDeps {
  const { clock, log } = options;
  const { informers } = parts;
  const { authorizers, tokens } = security;
  const write = writeDeps(options, parts, security);
  return {
    ...parts,
    ...write,
    ...security,
    log,
    subresources: subresourceEndpoints(options, { write, informers, authorizers }),
    reviews: new Map([
      ["bindings", bindingEndpoint(write)],
      ...reviewEndpoints({ authorizers, tokens, audiences: [issuer], clock }),
    ]),
    nonResource: answerNonResource(nonResourceDeps(options, parts)),
  };
}

/** What every write needs: admission, the objects, and the hooks between the two. */
function writeDeps(options: AssembleOptions, parts: Parts, security: Security): WriteDeps {
  const { clock, random, serviceRanges = defaultServiceRanges } = options;
  const { objects, informers, resources, metrics } = parts;
  const { authorizers, rbac } = security;
  const storeQuota = quotaStore(objects);
  const plugins = builtInAdmission({ informers, rbac, authorizers, clock, random, storeQuota });
  return {
    objects,
    resources,
    admission: createAdmission(plugins, pluginWaits({ metrics, clock }, "admission")),
    clock,
    random,
    hooks: [serviceAllocator(informers.of(Service), serviceRanges, random)],
    authorizeCreate: (context) => mayCreate(authorizers, context),
  };
}

function cutCounter(metrics: Metrics): (resource: Resource) => void {
  const help = "Watchers ended because they fell so far behind that their history is gone.";
  const cuts = metrics.counter("apiserver_terminated_watchers_total", help, ["group", "resource"]);
  return ({ group, plural }) => cuts.add([group, plural]);
}

/** The name under which a component's writes appear in traces; "" for people. */
function componentOf({ name }: UserInfo): string {
  if (name === "system:apiserver") return "kube-apiserver";
  if (name.startsWith("system:node:")) return "kubelet";
  const account = splitServiceAccountName(name);
  if (account?.namespace === "kube-system" && Object.hasOwn(controllerRoleTexts, account.name)) {
    return "kube-controller-manager";
  }
  return name.startsWith("system:kube-") ? name.slice("system:".length) : "";
}

/** Authenticators and authorizers, each list in the order in which it is asked. */
function assembleSecurity({ clock, signingKey, tokens = [], security }: AssembleOptions, informers: Informers) {
  const audiences = [issuer];
  const accounts = serviceAccountTokens({ informers, clock, issuers: [issuer], audiences, keys: [signingKey] });
  const before = [...tokens, ...(security?.staticTokens ?? [])];
  const allTokens = [...before, accounts, ...(security?.otherTokens({ informers, clock, audiences }) ?? [])];
  const rbac = createRbac({ informers });
  const loopback = createLoopback();
  const builtIn = { Node: createNodeAuthorizer({ informers }), RBAC: rbac };
  const unknown = security ? security.anonymous : anonymous();
  return {
    tokens: allTokens,
    rbac,
    loopback: loopback.user,
    authenticators: [inProcess, clientCertificate, ...allTokens.map(bearer), ...(unknown ? [unknown] : [])],
    authorizers: [loopback.authorizer, privileged, ...(security?.authorizers(builtIn) ?? [builtIn.Node, builtIn.RBAC])],
  };
}

function subresourceEndpoints(
  { clock, signingKey, subresources }: AssembleOptions,
  { write, informers, authorizers }: { write: WriteDeps; informers: Informers; authorizers: readonly Authorizer[] },
): ReadonlyMap<string, Endpoint> {
  return new Map<string, Endpoint>([
    ["pods/binding", bindingEndpoint(write)],
    ["pods/eviction", evictionEndpoint(write)],
    ["namespaces/finalize", finalizeEndpoint(write)],
    [
      "serviceaccounts/token",
      tokenEndpoint({ informers, clock, issuer, audiences: [issuer], key: signingKey }, write.admission),
    ],
    ...(subresources?.({ ...write, authorizers }) ?? []),
  ]);
}

function nonResourceDeps(
  { signingKey, serverAddress, paths, store, backupStore, verdicts }: AssembleOptions,
  { resources, metrics, recorder }: Parts,
): NonResourceDeps {
  const ping = { name: "ping", check: () => undefined };
  const backup = answerBackup(backupStore ?? store);
  const seeing = answerSeeing({ recorder, verdictsOf: (key) => renderVerdicts(verdicts?.of(key) ?? []) });
  metrics.gauge("orlop_store_revision", "The newest revision of the store.", () => store.revision);
  return {
    discovery: createDiscovery(resources),
    openApi: createOpenApi(resources),
    metrics,
    live: [ping],
    ready: [ping, { name: "store", check: () => (store.revision > 0 ? store.trouble : "the store has no revision") }],
    tokenIssuer: () => ({
      configuration: openIdConfiguration(issuer, `${issuer}/openid/v1/jwks`, [signingKey]),
      keys: openIdKeys([signingKey]),
    }),
    serverAddress,
    more: new Map([["orlop", (context) => backup(context) ?? seeing(context)], ...(paths ?? [])]),
  };
}
