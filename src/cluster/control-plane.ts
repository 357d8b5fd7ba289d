import path from "node:path";
import { allResources } from "#api/all.ts";
import { type UserInfo } from "#api/exchange.ts";
import { type Client } from "#client/client.ts";
import type { Scheduling } from "#cluster/scheduling/load.ts";
import { type Clock } from "#lib/async/clock.ts";
import { runTogether, type Task } from "#lib/async/tasks.ts";
import { signingKey } from "#lib/crypto/jwt.ts";
import { type Subject } from "#lib/crypto/x509.ts";
import { type Random } from "#lib/data/random.ts";
import { replaceFile } from "#lib/fs/replace-file.ts";
import { hostInUrl, primaryAddress } from "#lib/net/ip.ts";
import { type Log } from "#lib/process/log.ts";
import { openPidFile } from "#lib/process/pid-file.ts";
import { Verdicts } from "#scheduler/seeing/verdicts.ts";
import type { PluginConfigs } from "#server/admission/config/admission-configuration.ts";
import { type PluginChoice } from "#server/admission/config/choose-plugins.ts";
import { readyWhenRegistered } from "#server/aggregation/ready-when-registered.ts";
import { registerOwnApis } from "#server/aggregation/register-own-apis.ts";
import { runServiceRepair } from "#server/allocate/repair.ts";
import type { AuditOptions } from "#server/audit/open-audit.ts";
import type { Encryption } from "#server/encrypt/encryption.ts";
import { type InFlightOptions } from "#server/flowcontrol/assemble.ts";
import { runFlowControl } from "#server/flowcontrol/run-flow-control.ts";
import { listen } from "#server/http/serve.ts";
import { adminKubeconfig, issueClientCertificate, peerOf } from "#server/http/tls.ts";
import { lazyStreamEndpoints } from "#server/streams/lazy.ts";
import type { ReportingNodes } from "#server/usage/read-kubelet.ts";
import { type AssembledServer, type AssembleOptions, assembleApiServer } from "./api-server.ts";
import { announcedObjects, bootstrapCluster, keptObjects, persistently } from "./bootstrap.ts";
import { Certificates, type Renewed } from "./certificates.ts";
import { type ControllerSettings, controllersTask, controllersThatRun } from "./controllers-task.ts";
import { electing } from "./elect.ts";
import { controllerManagerUser, schedulerUser } from "./identities.ts";
import { announce, keepAnnounced, placeOf, rangesOf, serviceAddress } from "./join/announce.ts";
import { keepBootstrap } from "./keep-bootstrap.ts";
import { openStore, type StoreChoice } from "./open-store.ts";

import { type LoadedSecurity, loadSecurity } from "./security/load-security.ts";
import type { SecurityOptions } from "./security/options.ts";
import { ownProxySubject, withOwnProxy } from "./security/own-proxy.ts";
import { publishTrust, type Trust } from "./security/publish-trust.ts";

export interface ControlPlaneOptions {
  readonly dataDir: string;
  readonly store: StoreChoice;
  readonly host: string;
  readonly port: number;
  /** The range of service addresses; 10.96.0.0/16 by default. */
  readonly serviceCidr?: string;
  /** The range from which nodes get their pod ranges; 10.244.0.0/16 by default. */
  readonly clusterCidr?: string;
  /** The address at which pods and other machines reach the server; by default the machine's first one. */
  readonly address?: string | undefined;
  /** Names and addresses, besides the usual ones, under which clients reach the server. */
  readonly hosts?: readonly string[];
  /** What is recorded about requests; by default, nothing. */
  readonly audit?: AuditOptions | undefined;
  /** How values are encrypted in the store; by default, not at all. */
  readonly encryption?: EncryptionFile | undefined;
  /** Authentication and authorisation. */
  readonly security?: SecurityOptions;
  readonly admission?: AdmissionOptions;
  /** The file is a KubeSchedulerConfiguration. */
  readonly scheduler?: { readonly configFile: string } | undefined;
  /** How long events are kept; an hour by default. */
  readonly eventTtlSeconds?: number;
  /** If false, no hops are recorded and `orlop trace` has nothing to show. */
  readonly tracing?: boolean;
  /** Nodes that run in this process. */
  readonly localNodes?: ReportingNodes | undefined;
  readonly controllers?: ControllerSettings;
  /** How many requests are served at the same time, and how long each may take. */
  readonly inFlight?: InFlightOptions;
  readonly clock: Clock;
  readonly log: Log;
  readonly random: Random;
}

/** Which admission plugins run. */
export interface AdmissionOptions extends PluginChoice {
  /** An AdmissionConfiguration. */
  readonly configFile?: string | undefined;
}

export type { AuditOptions } from "#server/audit/open-audit.ts";

/** An EncryptionConfiguration. */
export interface EncryptionFile {
  readonly file: string;
  /** Whether it is read again when it changes. */
  readonly reloads: boolean;
}

/** API server, controllers and scheduler in this process. */
export interface ControlPlane extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly certificates: Certificates;
  readonly kubeconfigPath: string;
  readonly api: AssembledServer;
  readonly verdicts: Verdicts;
  clientFor(user: UserInfo): Client;
  /** Bytes that are kept for a while: bodies and responses that clients have not sent or read, and the past for watchers. */
  heldBytes(): number;
  /** Runs the controllers and the scheduler until the signal. */
  run(signal: AbortSignal): Promise<void>;
}

export async function startControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  const verdicts = new Verdicts();
  // A start that fails leaves nothing open.
  await using opened = new AsyncDisposableStack();
  // Read before anything is opened: a user may have made a mistake in a file.
  const security = opened.use(await loadSecurity(options.security ?? {}, options));
  const admission = await readAdmission(options.admission);
  await controllersThatRun(options.controllers);
  const scheduling = opened.use(await schedulingFor(options));
  const encryption = opened.use(await encryptionFor(options));
  const audit = await auditFor(options);
  const [store, certificates] = await Promise.all([openStore(options), openCertificates(options)]);
  opened.use(store);
  opened.use(holdDirectory(options));
  const parts = { store, certificates, verdicts, security, admission, encryption, audit };
  const api = opened.use(await assembleApi(options, parts));
  // Whatever the file says wrong is known before anybody can connect.
  scheduling?.setup({ ...options, client: api.loopback, informers: api.informers });
  const persist = persistently(options.clock, options.log);
  await bootstrapCluster(api.loopback, api.health, persist);
  const announced = ["start-kubernetes-service-cidr-controller", "bootstrap-controller"].map((n) => api.health.step(n));
  const listening = opened.use(await listenFor(options, { api, certificates, security }));
  const { port } = listening;
  const url = urlOf(options, port);
  await persist(() => announce(options, { api, certificates, port }));
  for (const done of announced) done();
  const kubeconfigPath = await keepKubeconfig(options, { certificates, url });
  opened.defer(() => api.health.end());
  const held = opened.move();
  return {
    url,
    port,
    certificates,
    kubeconfigPath,
    api,
    verdicts,
    clientFor: (user) => api.clientFor(user),
    heldBytes: () => api.objects.caches.reduce((sum, cache) => sum + cache.pastBytes(), listening.heldBytes()),
    run(signal) {
      return runComponents(options, { api, port, certificates, verdicts, security, scheduling, signal });
    },
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

/** Commands see that a server uses the directory, also if its state is elsewhere. */
const holdDirectory = ({ store, dataDir }: ControlPlaneOptions): Disposable | undefined =>
  store === "sqlite" ? undefined : openPidFile(path.join(dataDir, "state.pid"));

async function readAdmission({ configFile, ...choice }: AdmissionOptions = {}): Promise<PluginChoice & PluginConfigs> {
  if (!configFile) return choice;
  const { loadAdmissionConfiguration } = await import("#server/admission/config/admission-configuration.ts");
  return { ...choice, ...(await loadAdmissionConfiguration(configFile)) };
}

/** Loaded only if it is configured. */
async function schedulingFor({ scheduler, log, clock }: ControlPlaneOptions): Promise<Scheduling | undefined> {
  if (!scheduler) return undefined;
  const { loadScheduling } = await import("#cluster/scheduling/load.ts");
  return await loadScheduling(scheduler.configFile, { log, clock });
}

/** Loaded only if it is configured. */
async function encryptionFor({ encryption, clock, log }: ControlPlaneOptions): Promise<Encryption | undefined> {
  if (!encryption) return undefined;
  const { Encryption } = await import("#server/encrypt/encryption.ts");
  return await Encryption.open({ ...encryption, resources: allResources, clock, log });
}

async function auditFor({ audit, clock, log, random }: ControlPlaneOptions): Promise<AssembleOptions["audit"]> {
  if (!audit) return undefined;
  const { openAudit } = await import("#server/audit/open-audit.ts");
  return await openAudit(audit, { clock, log, random });
}

interface ApiParts extends Pick<AssembleOptions, "store" | "admission" | "encryption" | "audit"> {
  readonly security: LoadedSecurity;
  readonly certificates: Certificates;
  readonly verdicts: Verdicts;
}

function assembleApi(options: ControlPlaneOptions, { certificates, ...parts }: ApiParts): Promise<AssembledServer> {
  const { clock, log, random, host, port, tracing = true, localNodes } = options;
  const asProxy = certificates.issue(({ frontProxyAuthority: authority }) =>
    issueClientCertificate({ authority }, clock, ownProxySubject),
  );
  const towardsNodes = certificates.issue((current) => issueClientCertificate(current, clock, nodeClient));
  const node = () => credentialsOf(certificates, towardsNodes);
  return assembleApiServer({
    ...parts,
    clock,
    log,
    random,
    signingKey: signingKey(certificates.pki.serviceAccountKey),
    serverAddress: `${host}:${port}`,
    serviceRanges: rangesOf(options),
    eventTtlSeconds: options.eventTtlSeconds,
    tracing,
    inFlight: options.inFlight,
    extensionIdentity: () => ({ key: asProxy.current.key, cert: asProxy.current.certificate }),
    subresources: (deps) => lazyStreamEndpoints({ ...deps, log, node, localNodes }),
    nodeHops: async (objects) => (await import("#server/usage/node-hops.ts")).kubeletHops(objects, node, localNodes),
    nodeMetrics: async (objects) =>
      (await import("#server/usage/read-kubelet.ts")).kubeletMetrics(objects, node, localNodes),
  });
}

interface Served {
  readonly api: AssembledServer;
  readonly certificates: Certificates;
  readonly security: LoadedSecurity;
}

/** Opens the sockets, with a certificate that is renewed while they are open. */
async function listenFor({ host, port, clock, log }: ControlPlaneOptions, { api, certificates, security }: Served) {
  const serving = certificates.follow("serving");
  const { peerOf, credentials } = await doorOf(certificates, security);
  const listening = await listen((request) => api.server.serve(request), {
    host,
    port,
    ...credentials(serving),
    clock,
    log,
    peerOf,
  });
  serving.onChange(() => listening.renew(credentials(serving)));
  return listening;
}

/** Which certificates TLS accepts, and what they say about a caller. */
async function doorOf(certificates: Certificates, { frontProxy }: LoadedSecurity) {
  const own = (serving: Renewed) => credentialsOf(certificates, serving);
  if (!frontProxy) return { peerOf, credentials: own };
  const { checkSeparate, peersOf } = await import("#server/http/front-proxy-peer.ts");
  checkSeparate(frontProxy, certificates.pki.authority.certificate);
  return {
    peerOf: peersOf({ clients: () => certificates.pki.authority.certificate, frontProxies: frontProxy.ca }),
    credentials(serving: Renewed) {
      const { ca, ...rest } = own(serving);
      return { ...rest, ca: `${ca}\n${frontProxy.ca}` };
    },
  };
}

/** The address for a client on this machine; the server may listen on all addresses. */
const urlOf = ({ host }: ControlPlaneOptions, port: number): string =>
  `https://${host === "0.0.0.0" || host === "::" ? "127.0.0.1" : hostInUrl(host)}:${port}`;

/** Writes the administrator's kubeconfig now and whenever its certificate is renewed. Returns its path. */
async function keepKubeconfig(
  { dataDir, log }: ControlPlaneOptions,
  { certificates, url }: { readonly certificates: Certificates; readonly url: string },
): Promise<string> {
  const file = path.join(dataDir, "kubeconfig");
  const write = () => replaceFile(file, adminKubeconfig(certificates.pki, url));
  await write();
  certificates.follow("admin").onChange(() => {
    write().catch((error: unknown) => log.error("kubeconfig could not be written", { error }));
  });
  return file;
}

/**
 * The identity of the API server when it calls kubelets, which know it by this name. It has no rights at the API server
 * itself, because a Node could claim the API server's address as its own.
 */
const nodeClient: Subject = { commonName: "kube-apiserver-kubelet-client", organizations: [] };

/** What a TLS connection needs at this moment. */
const credentialsOf = ({ pki }: Certificates, { current }: Renewed) => ({
  key: current.key,
  cert: current.certificate,
  ca: pki.authority.certificate,
});

function openCertificates(options: ControlPlaneOptions): Promise<Certificates> {
  const { dataDir, clock, log } = options;
  const hosts = () => ({
    hosts: [...(options.hosts ?? []), ...[options.address, primaryAddress()].filter((one) => one !== undefined)],
    serviceAddress: serviceAddress(rangesOf(options).cidrs, 1),
  });
  return Certificates.open({ dir: path.join(dataDir, "pki"), clock, log, hosts });
}

const trustOf = ({ pki }: Certificates, { frontProxy }: LoadedSecurity): Trust => ({
  clientCa: pki.authority.certificate,
  frontProxy: withOwnProxy(frontProxy, pki.frontProxyAuthority.certificate),
});

interface Running {
  readonly api: AssembledServer;
  readonly port: number;
  readonly certificates: Certificates;
  readonly verdicts: Verdicts;
  readonly security: LoadedSecurity;
  readonly scheduling: Scheduling | undefined;
  readonly signal: AbortSignal;
}

/** As upstream's, these steps are done when the component runs, not when it has done its work. */
const startedHere = [
  "priority-and-fairness-config-consumer",
  "priority-and-fairness-config-producer",
  "start-cluster-authentication-info-controller",
  "start-legacy-token-tracking-controller",
  "start-service-ip-repair-controllers",
  "kube-apiserver-autoregistration",
];

async function runComponents(
  options: ControlPlaneOptions,
  { api, port, certificates, verdicts, security, scheduling, signal }: Running,
): Promise<void> {
  const { clock, log, random, clusterCidr, store } = options;
  const { informers, recorder } = api;
  const schedulerClient = api.clientFor(schedulerUser);
  const base = { informers, clock, log, recorder };
  const own = { informers, clock, log, client: api.loopback };
  const { registered, later } = readyWhenRegistered(api.health, clock);
  api.health.step(...startedHere)();
  const place = placeOf(options, port);
  const announced = place ? announcedObjects(place, rangesOf(options).cidrs) : [];
  const isShared = store !== "sqlite" && store !== "memory";
  const setup = scheduling ? { setup: scheduling.setup } : {};
  const elections = { clock, log, random, isShared };
  const once = electing({ ...elections, election: options.controllers?.election });
  const onceForScheduler = electing({
    ...elections,
    election: { ...options.controllers?.election, ...scheduling?.election },
  });
  const { key } = security.accounts(signingKey(certificates.pki.serviceAccountKey));
  const scheduler: Task = async (ended) => {
    const { runScheduler } = await import("#scheduler/scheduler.ts");
    await runScheduler({ ...base, client: schedulerClient, random, verdicts, ...setup }, ended);
  };
  const controllers = controllersTask(options.controllers ?? {}, { api, certificates, key, clock, log, clusterCidr });
  // Also while another server is the leader: then they stand by.
  using running = new DisposableStack();
  for (const name of ["controller-manager", "scheduler"] as const) running.defer(api.components.runs(name));
  await runTogether(signal, [
    (ended) => registerOwnApis({ ...own, resources: api.resources, registered }, ended),
    later(once("kube-controller-manager", api.clientFor(controllerManagerUser), controllers)),
    (ended) => certificates.run(ended),
    (ended) => keepAnnounced(options, { api, port, certificates }, ended),
    (ended) => keepBootstrap({ ...own, kept: [...keptObjects, ...announced] }, ended),
    (ended) => runServiceRepair({ ...own, objects: api.objects, range: rangesOf(options).nodePorts }, ended),
    (ended) => api.tokenUses.run(own, ended),
    (ended) => runFlowControl({ ...own, control: api.flowControl }, ended),
    (ended) => security.run(ended),
    (ended) => publishTrust({ ...base, client: api.loopback, trust: () => trustOf(certificates, security) }, ended),
    later(onceForScheduler("kube-scheduler", schedulerClient, scheduler)),
  ]);
}
