import { allResources } from "#api/all.ts";
import { APIService } from "#api/apiregistration/api-service.ts";
import { scaleOf } from "#api/autoscaling/scale-of.ts";
import { ComponentStatus } from "#api/core/component-status.ts";
import { Service } from "#api/core/service.ts";
import { type UserInfo } from "#api/exchange.ts";
import { IPAddress } from "#api/networking/ip-address.ts";
import { ServiceCIDR } from "#api/networking/service-cidr.ts";
import { PodDisruptionBudget } from "#api/policy/pod-disruption-budget.ts";
import { type Resource } from "#api/resource.ts";
import { type Client } from "#client/client.ts";
import { localClient } from "#client/transport/local.ts";
import { type Random } from "#lib/data/random.ts";
import { Metrics } from "#lib/process/metrics.ts";
import { type Informers } from "#runtime/informer.ts";
import { type RunDeps } from "#runtime/run-reconciler.ts";
import { renderVerdicts, type Verdicts } from "#scheduler/seeing/verdicts.ts";
import { builtInAdmission } from "#server/admission/all.ts";
import { createAdmission } from "#server/admission/chain.ts";
import type { PluginConfigs } from "#server/admission/config/admission-configuration.ts";
import { choosePlugins, type PluginChoice } from "#server/admission/config/choose-plugins.ts";
import { checkSelectors } from "#server/admission/devices/selector-hook.ts";
import { checkPolicy } from "#server/admission/policies/policy-hook.ts";
import { quotaStore } from "#server/admission/quota/quota-store.ts";
import { checkConditions } from "#server/admission/webhooks/check-conditions.ts";
import { NodePortClaim } from "#server/allocate/node-port-claim.ts";
import { defaultServiceRanges, type ServiceRanges, serviceAllocator } from "#server/allocate/service-allocator.ts";
import type { ServerAudit } from "#server/audit/auditor.ts";
import { type LegacyTokenUses } from "#server/authenticate/legacy-token-uses.ts";
import { splitServiceAccountName } from "#server/authenticate/service-account-claims.ts";
import { type Authorizer } from "#server/authorize/authorizer.ts";
import { controllerRoleTexts } from "#server/authorize/bootstrap/bootstrap-controllers.ts";
import { mayCreate } from "#server/authorize/may-create.ts";
import { createExplainRefusal } from "#server/authorize/roles-that-allow.ts";
import { checkDefinitions } from "#server/custom/definition-hook.ts";
import { ApiOrder } from "#server/discovery/api-order.ts";
import { Components, componentEndpoints } from "#server/discovery/component-statuses.ts";
import { createDiscovery } from "#server/discovery/groups.ts";
import { Health } from "#server/discovery/health.ts";
import { answerNonResource, type NonResourceDeps } from "#server/discovery/non-resource.ts";
import { createOpenApi } from "#server/discovery/openapi.ts";
import { type Endpoint } from "#server/dispatch.ts";
import type { Encryption } from "#server/encrypt/encryption.ts";
import type { ClientIdentity } from "#server/extension/connections.ts";
import { assembleFairness, defaultInFlight, type InFlightOptions } from "#server/flowcontrol/assemble.ts";
import { answerFlowDumps } from "#server/flowcontrol/dump.ts";
import { type FlowControl } from "#server/flowcontrol/flow-control.ts";
import { type NodeUsageOptions, openNodeUsage } from "#server/node-usage.ts";
import { Objects } from "#server/objects/objects.ts";
import { pluginWaits } from "#server/plugin-waits.ts";
import { ResourceRegistry } from "#server/registry.ts";
import { RemoteRoutes } from "#server/remote-routes.ts";
import { answerBackup } from "#server/request/backup.ts";
import { Deadlines } from "#server/request/deadlines.ts";
import { answerSeeing } from "#server/request/seeing.ts";
import { type ApiServer, createApiServer, type ServerDeps } from "#server/server.ts";
import { bindingEndpoint } from "#server/subresources/binding.ts";
import { evictionEndpoint } from "#server/subresources/eviction.ts";
import { finalizeEndpoint } from "#server/subresources/finalize.ts";
import { reviewEndpoints, tokenEndpoint } from "#server/subresources/reviews.ts";
import { setScale } from "#server/subresources/scale.ts";
import { openIdConfiguration, openIdKeys } from "#server/subresources/token-request.ts";
import type { ReadHops } from "#server/usage/node-hops.ts";
import { type WriteDeps } from "#server/write/write.ts";
import { type Store } from "#store/store.ts";
import { TraceRecorder } from "#trace/recorder.ts";
import { RevisionTraces } from "#trace/revision-traces.ts";
import { type Trace } from "#trace/trace.ts";
import { type AccountSettings } from "./security/account-settings.ts";
import { type AssembledSecurity, assembleSecurity, type SecurityOptions } from "./security/assemble-security.ts";
import { serviceResolver, startFollowers } from "./start-followers.ts";

export interface AssembleOptions extends SecurityOptions, NodeUsageOptions {
  readonly store: Store;
  readonly random: Random;
  /** Makes the uids of objects; random by default. */
  newUid?(): string;
  readonly serverAddress: string;
  readonly serviceRanges?: ServiceRanges;
  /** How long objects of kinds with a limited life are kept; by default, as their kind says. */
  readonly eventTtlSeconds?: number | undefined;
  /** Which admission plugins run, and their configurations. */
  readonly admission?: PluginChoice & PluginConfigs;
  /** The kinds to serve; by default, all built-in kinds. */
  readonly resources?: readonly Resource[];
  /** Adds subresources, such as streams to kubelets; called with what the built-in ones get. */
  subresources?(deps: WriteDeps & { readonly authorizers: readonly Authorizer[] }): ReadonlyMap<string, Endpoint>;
  /** Paths that are not about a resource, by their first segment. */
  readonly paths?: NonResourceDeps["more"];
  /** Where the scheduler keeps its decisions for `orlop why`. */
  readonly verdicts?: Verdicts;
  /** Reads the hops that nodes of other processes have recorded; without it, `orlop trace` shows only those of this one. */
  nodeHops?(objects: Objects): Promise<ReadHops>;
  /** If false, no hops are recorded and `orlop trace` has nothing to show. */
  readonly tracing?: boolean;
  /** How many requests are served at the same time, and how long each may take. */
  readonly inFlight?: InFlightOptions | undefined;
  /** Encrypts values in the store; by default, they are not encrypted. */
  readonly encryption?: Encryption | undefined;
  /** The certificate by which extension servers know this one. Without it, they do not believe who the caller is. */
  readonly extensionIdentity?: () => ClientIdentity;
  /** Records requests; by default, none are recorded. */
  readonly audit?: ((metrics: Metrics) => ServerAudit) | undefined;
  /** Objects that readers share are frozen, so that a component which changes one fails. Tests ask for it; default: false. */
  readonly freezesShared?: boolean;
  /** Comes between callers and the server. For tests; default: nothing. */
  readonly interceptor?: ServerDeps["interceptor"];
  /** Called with every queue of the server's own controllers, so that a test can wait until there is no work left. */
  onQueue?: NonNullable<RunDeps["onQueue"]>;
}

/** The API server with all its parts, before it has a socket. */
export interface AssembledServer extends AsyncDisposable {
  readonly server: ApiServer;
  readonly objects: Objects;
  readonly informers: Informers;
  readonly recorder: TraceRecorder;
  readonly resources: ResourceRegistry;
  readonly metrics: Metrics;
  /** What other servers serve. */
  readonly remote: RemoteRoutes;
  /** Priority and fairness; undefined if it is off. */
  readonly flowControl: FlowControl | undefined;
  /** The uses of tokens in Secrets, which somebody must write down. */
  readonly tokenUses: LegacyTokenUses;
  /** What is served at `/livez` and `/readyz`. */
  readonly health: Health;
  /** What `componentstatuses` shows. */
  readonly components: Components;
  /** The trace that wrote a revision, if it is still known. */
  traceOf(revision: number): Trace | undefined;
  /** A client in this process that acts as this user and passes through all checks. */
  clientFor(user: UserInfo): Client;
  /** The same as the API server itself, which may do anything. Only for bootstrapping, not for components. */
  readonly loopback: Client;
}

export async function assembleApiServer(options: AssembleOptions): Promise<AssembledServer> {
  const { clock, random, tracing = true } = options;
  const traces = tracing ? new RevisionTraces() : undefined;
  const traceOf = (revision: number) => traces?.of(revision);
  const recorder = new TraceRecorder({ clock, random, ...(tracing ? {} : { capacity: 0 }) });
  const metrics = new Metrics();
  const objects = openObjects(options, { metrics, traces });
  const informers = objects.informers();
  const usage = openNodeUsage(options, { objects, informers });
  const resources = new ResourceRegistry([...(options.resources ?? allResources), ComponentStatus, ...usage.kinds]);
  const security = assembleSecurity(options, { informers, catchUp: () => objects.catchUp() });
  const inFlight = options.inFlight ?? defaultInFlight;
  const { loopback: loopbackUser } = security;
  const fair = { clock, objects, informers, resources, metrics, loopback: loopbackUser };
  const { flowControl, fairness } = assembleFairness(inFlight, fair);
  const health = new Health();
  const components = new Components(() => storeFault(options.store));
  const computed = new Map([...usage.computed, componentEndpoints(components)]);
  const own = { remote: new RemoteRoutes(), computed, components };
  const parts: Parts = { objects, informers, resources, metrics, recorder, flowControl, traceOf, health, ...own };
  const limits = { fairness, deadlines: new Deadlines(clock, inFlight.requestTimeoutMs) };
  const audit = options.audit?.(metrics);
  const { interceptor } = options;
  const server = createApiServer({ ...serverDeps(options, parts, security), ...limits, audit, interceptor });
  await startInformers(informers, health);
  const clientFor = (user: UserInfo) => localClient(server.handle, user, { traceOf, userAgent: componentOf(user) });
  const loopback = clientFor(loopbackUser);
  const { log, onQueue, extensionIdentity: identity } = options;
  const following = { ...parts, clock, log, client: loopback, identity, ...(onQueue ? { onQueue } : {}) };
  const followers = await startFollowers(following);
  return {
    ...parts,
    server,
    tokenUses: security.tokenUses,
    clientFor,
    loopback,
    async [Symbol.asyncDispose]() {
      await followers[Symbol.asyncDispose]();
      await usage[Symbol.asyncDispose]();
      await objects[Symbol.asyncDispose]();
      await audit?.[Symbol.asyncDispose]();
    },
  };
}

async function startInformers(informers: Informers, health: Health): Promise<void> {
  const started = health.step(
    "start-apiserver-admission-initializer",
    "generic-apiserver-start-informers",
    "priority-and-fairness-filter",
    "storage-object-count-tracker-hook",
    "start-apiextensions-informers",
    "storage-readiness",
    "start-kube-aggregator-informers",
  );
  let isSynced = false;
  health.addReady({ name: "informer-sync", check: () => (isSynced ? undefined : "informers not started yet") });
  await informers.synced();
  isSynced = true;
  started();
}

/** The parts that the server is built from. */
type Parts = Pick<
  AssembledServer,
  | "objects"
  | "informers"
  | "resources"
  | "metrics"
  | "recorder"
  | "flowControl"
  | "traceOf"
  | "health"
  | "remote"
  | "components"
> &
  Pick<ServerDeps, "computed">;

function openObjects(
  { store: plain, clock, log, newUid, freezesShared, eventTtlSeconds, encryption }: AssembleOptions,
  { metrics, traces }: { readonly metrics: Metrics; readonly traces: RevisionTraces | undefined },
): Objects {
  const watcherCut = cutCounter(metrics);
  const encrypted = encryption?.around(plain, metrics);
  const store = encrypted ?? plain;
  const isStale = encrypted && ((key: string) => encrypted.isStale(key));
  const deps = { store, clock, log, traces, watcherCut, freezesShared, eventTtlSeconds };
  const objects = new Objects({ ...deps, ...(newUid ? { newUid } : {}), ...(isStale ? { isStale } : {}) });
  const help = "Watchers that are still reading their initial list.";
  metrics.gauge("orlop_lagging_watchers", help, () => lagging(objects));
  return objects;
}

const lagging = ({ caches }: Objects): number => caches.reduce((sum, cache) => sum + cache.laggingWatchers, 0);

function serverDeps(
  options: AssembleOptions,
  parts: Parts,
  security: AssembledSecurity,
): Omit<ServerDeps, "fairness" | "deadlines"> {
  const { clock, log } = options;
  const { informers } = parts;
  const { authorizers, tokens } = security;
  const write = writeDeps(options, parts, security);
  return {
    ...parts,
    ...write,
    ...security,
    log,
    subresources: subresourceEndpoints(options, { write, informers, security }),
    reviews: new Map([
      ["bindings", bindingEndpoint(write)],
      ...reviewEndpoints({
        authorizers,
        tokens,
        audiences: security.accounts.audiences,
        clock,
        explain: createExplainRefusal(informers),
      }),
    ]),
    nonResource: answerNonResource(nonResourceDeps(options, parts, security.accounts)),
  };
}

/** What every write needs: admission, the objects, and the hooks between the two. */
function writeDeps(options: AssembleOptions, parts: Parts, security: AssembledSecurity): WriteDeps {
  const { clock, random, admission, serviceRanges = defaultServiceRanges } = options;
  const { objects, informers, resources, metrics, recorder } = parts;
  const { authorizers, rbac } = security;
  const plugins = builtInAdmission({
    informers,
    resources,
    views: { scaleOf, setScale },
    recorder,
    metrics,
    rbac,
    authorizers,
    clock,
    random,
    storeQuota: quotaStore(objects),
    podSecurity: admission?.podSecurity,
    webhooks: {
      ...{ resources, metrics, recorder, log: options.log, views: { scaleOf, setScale } },
      resolveService: serviceResolver(objects),
      isServer: (user) => user === security.loopback,
    },
  });
  const allocator = serviceAllocator({
    services: informers.of(Service),
    addresses: informers.of(IPAddress),
    ports: informers.of(NodePortClaim),
    cidrs: informers.of(ServiceCIDR),
    ...{ ranges: serviceRanges, random, clock },
  });
  return {
    objects,
    resources,
    admission: createAdmission(choosePlugins(plugins, admission), pluginWaits({ metrics, clock }, "admission")),
    clock,
    random,
    hooks: [checkDefinitions, checkConditions, checkPolicy, checkSelectors, allocator.hook],
    besideRemoved: allocator.besideRemoved,
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

function subresourceEndpoints(
  { clock, subresources }: AssembleOptions,
  { write, informers, security }: { write: WriteDeps; informers: Informers; security: AssembledSecurity },
): ReadonlyMap<string, Endpoint> {
  const { accounts, authorizers } = security;
  const [issuer = ""] = accounts.issuers;
  return new Map<string, Endpoint>([
    ["pods/binding", bindingEndpoint(write)],
    ["pods/eviction", evictionEndpoint(write, informers.of(PodDisruptionBudget))],
    ["namespaces/finalize", finalizeEndpoint(write)],
    ["serviceaccounts/token", tokenEndpoint({ informers, clock, issuer, ...accounts }, write.admission)],
    ...(subresources?.({ ...write, authorizers }) ?? []),
  ]);
}

/** Whether the store answers. It has upstream's name also if it is not etcd, because probes use that. */
async function storeFault(store: Store): Promise<string | undefined> {
  await store.catchUp?.();
  return store.revision > 0 ? store.trouble : "the store has no revision";
}

function nonResourceDeps(
  { serverAddress, paths, store, verdicts, encryption, nodeHops, clock }: AssembleOptions,
  { objects, resources, metrics, recorder, flowControl, health, informers, remote }: Parts,
  { issuers: [issuer = ""], jwksUri, keys }: AccountSettings,
): NonResourceDeps {
  health.add({ name: "etcd", check: () => storeFault(store) });
  health.addReady({ name: "etcd-readiness", check: () => storeFault(store) });
  if (encryption?.mayHaveServices) health.add({ name: "kms-providers", check: () => encryption.fault });
  // As it is stored: encrypted values stay encrypted.
  const backup = answerBackup(store);
  let read: Promise<ReadHops> | undefined;
  const seeing = answerSeeing({
    recorder,
    verdictsOf: (key) => renderVerdicts(verdicts?.of(key) ?? [], verdicts?.whereIs(key)),
    ...(nodeHops
      ? {
          async hopsOfNodes(trace, signal) {
            const { hopsOfNodes } = await import("#server/usage/node-hops.ts");
            // Once, so that traces share the connections to nodes.
            read ??= nodeHops(objects);
            return hopsOfNodes({ informers, clock, read: await read }, trace, signal);
          },
        }
      : {}),
  });
  metrics.gauge("orlop_store_revision", "The newest revision of the store.", () => store.revision);
  return {
    discovery: createDiscovery({ resources, remote, order: new ApiOrder(informers.of(APIService)) }),
    openApi: createOpenApi(resources, remote),
    remote,
    metrics,
    health,
    tokenIssuer: () => ({
      configuration: openIdConfiguration(issuer, jwksUri, keys),
      keys: openIdKeys(keys),
    }),
    serverAddress,
    more: new Map([
      ...(flowControl ? [["debug", answerFlowDumps(flowControl)] as const] : []),
      ["orlop", (context) => backup(context) ?? seeing(context)],
      ...(paths ?? []),
    ]),
  };
}
