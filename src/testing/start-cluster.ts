import type { Event } from "#api/core/event.ts";
import { type UserInfo } from "#api/exchange.ts";
import { type ApiObject, type InputOf, type Resource } from "#api/resource.ts";
import { type Client } from "#client/client.ts";
import { type AssembledServer, assembleApiServer } from "#cluster/api-server.ts";
import { bootstrapCluster } from "#cluster/bootstrap.ts";
import { controllerUser, provisionerUser, schedulerUser } from "#cluster/identities.ts";
import { onlyLocalNodes } from "#cluster/simulated/local-nodes.ts";
import {
  createSimulatedNodes,
  type SimulatedNode,
  type SimulationOptions,
} from "#cluster/simulated/simulated-nodes.ts";
import { loadStages } from "#cluster/simulated/stages/load-stages.ts";
import { runControllers } from "#controllers/all.ts";
import type { SimulatedState } from "#kubelet/runtime/simulated.ts";
import { Restartable } from "#lib/async/restartable.ts";
import { type Task } from "#lib/async/tasks.ts";
import { signingKey } from "#lib/crypto/jwt.ts";
import { createAuthority, createKey, keyToPem } from "#lib/crypto/x509.ts";
import { type Random, randomUid, type SeededRandom, seededRandom } from "#lib/data/random.ts";
import { type Log } from "#lib/process/log.ts";
import { simulatedDirectories } from "#provisioner/directories.ts";
import { runProvisioner } from "#provisioner/provisioner.ts";
import { type Informers } from "#runtime/informer.ts";
import { type Cause, type RunDeps } from "#runtime/run-reconciler.ts";
import { type WorkQueue } from "#runtime/work-queue.ts";
import { runScheduler } from "#scheduler/scheduler.ts";
import { Verdicts } from "#scheduler/seeing/verdicts.ts";
import { type SchedulerDeps } from "#scheduler/setup.ts";
import type { StreamDeps } from "#server/streams/deps.ts";
import { lazyStreamEndpoints } from "#server/streams/lazy.ts";
import type { ReportingNodes } from "#server/usage/read-kubelet.ts";
import { type HistoryLimits } from "#store/history.ts";
import { openMemoryStore, type StoreState } from "#store/memory.ts";
import { type Store } from "#store/store.ts";
import { testLog } from "./test-log.ts";
import { ApiFaults } from "./verbs/api-faults.ts";
import { applyManifests, readManifests } from "./verbs/apply-yaml.ts";
import { checkOptions } from "./verbs/check-options.ts";
import { diagnose, eventsOf, type Target, traceOf, whyOf } from "./verbs/diagnose.ts";
import { type Listening, type ListenOptions, openListening, passTime } from "./verbs/listen.ts";
import { pointHome } from "./verbs/point-home.ts";
import { keepPrepared, preparedState } from "./verbs/prepared-state.ts";
import {
  atPace,
  type Condition,
  defaultLimitMs,
  type Pace,
  paceOf,
  type SettleOptions,
  settle,
} from "./verbs/settle.ts";
import { accountUser, failNodes, takeSnapshot, testClient } from "./verbs/small-verbs.ts";
import { type Running, startTasks } from "./verbs/start-tasks.ts";
import type { VirtualClock } from "./virtual-clock.ts";

export interface ClusterOptions {
  /** Where warnings and errors go; default: to standard error with `LOG=warn` in the environment, otherwise nowhere. */
  readonly log?: Log;
  /** The same seed gives the same names and choices; 1 by default. */
  readonly seed?: number;
  /** How much history the store keeps. */
  readonly historyLimits?: HistoryLimits;
  /** false: only the API server, so that nothing changes what a test writes. */
  readonly controllers?: boolean;
  /** How many simulated nodes there are: `node-1`, `node-2`… Their pods become ready without running. Default 0. */
  readonly nodes?: number;
  /** The properties and behaviour of those nodes. */
  readonly simulation?: SimulationOptions;
  /** What a node that is not simulated reports at `/metrics/resource`; default: nothing. */
  nodeMetrics?(node: string): string;
  /** The profiles of the scheduler; one with the default plugins by default. */
  readonly scheduler?: SchedulerDeps["setup"];
  /** `system`: real time. Default: time stands still until the test moves it. */
  readonly clock?: "virtual" | "system";
  /** When virtual time begins, in milliseconds; default: 1 January 2026, 8:00 UTC. */
  readonly startMs?: number;
  /** The caller's own components, which run with the others until the cluster ends. */
  components?(deps: ComponentDeps): readonly Task[];
  /** What the test's own clients do with unknown fields, as in kubectl; by default what the server does: it drops them. */
  readonly fieldValidation?: "Strict" | "Warn" | "Ignore";
  /** The state to start with, from `snapshot()` of another cluster. */
  readonly from?: ClusterSnapshot;
}

export interface ComponentDeps extends RunDeps {
  /** Acts as an administrator, and passes through all checks. */
  readonly client: Client;
  clientFor(user: UserInfo): Client;
}

/** The state of a cluster at one moment. It never changes, and any number of clusters can start from it. */
export interface ClusterSnapshot {
  readonly store: StoreState;
  readonly nowMs: number;
  readonly nodes: readonly SimulatedState[];
}

/** A part of the cluster that can crash: stopping it leaves everything as it is at that moment. */
export interface Component {
  readonly name: string;
  readonly isRunning: boolean;
  stop(): Promise<void>;
  start(): void;
}

/** A whole control plane in this process: the real server and controllers, without sockets, disk or waiting. */
export interface TestCluster extends AsyncDisposable {
  /** Acts as an administrator, and passes through all checks. */
  readonly client: Client;
  readonly informers: Informers;
  /** On real time, to advance it is to wait. */
  readonly clock: VirtualClock;
  readonly store: Store;
  readonly api: AssembledServer;
  readonly verdicts: Verdicts;
  /** The simulated nodes; each can be stopped and started. */
  readonly nodes: readonly SimulatedNode[];
  /** Everything that can be stopped and started: `kube-controller-manager`, `kube-scheduler`, the nodes, own components. */
  readonly components: ReadonlyMap<string, Component>;
  /** Makes requests fail, wait or see old state. */
  readonly apiFaults: ApiFaults;
  clientFor(user: UserInfo): Client;
  /** A client with the rights of a service account: `shop/agent`, or `agent` in the namespace default. */
  as(serviceAccount: string): Client;
  /** Server-side apply with force. */
  apply<T extends ApiObject>(resource: Resource<T>, object: InputOf<T>): Promise<T>;
  /**
   * Applies YAML: text, a file, or all files of a directory. Objects without a namespace go to `default`. Definitions
   * come first, and their kinds are served before the rest is applied. Unknown fields are refused.
   */
  applyYaml(source: string): Promise<readonly ApiObject[]>;
  /** All objects of a kind, or those of one namespace, sorted by name. */
  list<T extends ApiObject>(resource: Resource<T>, namespace?: string): Promise<readonly T[]>;
  /** The events about an object, or all, oldest first. */
  events(target?: Target): Promise<readonly Event[]>;
  /** Where an object is stuck and why, in words. */
  why(target: Target): Promise<string>;
  /** Where the last apply of an object spent its time. */
  trace(target: Target): Promise<string>;
  /** Advances time until no queue holds work and nothing has changed for a while. */
  settle(options?: SettleOptions): Promise<void>;
  /** Advances time until the condition holds; throws if it does not within the limit, one hour by default. */
  until(condition: () => boolean | Promise<boolean>, limitMs?: number): Promise<void>;
  /** Stops the kubelets of one node or of all nodes in a zone. The returned function brings them back. */
  fail(what: { readonly node: string } | { readonly zone: string }): Promise<() => void>;
  /** Serves clients of any language until the cluster ends. Meanwhile virtual time passes with real time. */
  listen(options?: ListenOptions): Promise<Listening>;
  /** The state, from which other clusters can start. */
  snapshot(): Promise<ClusterSnapshot>;
  /** Another cluster with the same state and options, which goes its own way. */
  fork(): Promise<TestCluster>;
}

/** Objects that readers share are frozen, so that a component which changes one fails. */
export async function startCluster(options: ClusterOptions = {}): Promise<TestCluster> {
  checkOptions(options);
  return await atPace(paceOf(options), (pace) => startOn(pace, options));
}

async function startOn(pace: Pace, options: ClusterOptions): Promise<TestCluster> {
  const { clock } = pace;
  const { log = testLog(), seed = 1, controllers = true, from } = options;
  const stages = await loadStages(options.simulation ?? {});
  // A cluster that starts from a state must not give names again that the state has.
  const random = seededRandom(seed + (from?.store.revision ?? 0));
  const queues = new Map<string, WorkQueue<Cause>>();
  const onQueue = (name: string, queue: WorkQueue<Cause>): void => void queues.set(name, queue);
  const nodes: SimulatedNode[] = [];
  const localNodes = onlyLocalNodes(nodes);
  const parts = await startServer({ clock, log, random, onQueue, localNodes, seed }, options);
  const { api, verdicts } = parts;
  const { informers, recorder } = api;
  const clientFor = (user: UserInfo): Client => testClient(api.clientFor(user), options.fieldValidation);
  const client = clientFor(administrator);

  const base = { informers, clock, log, recorder, onQueue };
  const nodeDeps = { ...base, random, clientFor: api.clientFor, ...(stages ? { staged: stages.staged } : {}) };
  nodes.push(...createSimulatedNodes(options.nodes ?? 0, nodeDeps, options.simulation, from?.nodes));
  const own = options.components?.({ ...base, client, clientFor }) ?? [];
  const plane = controllers ? controlPlane(api, { ...base, random, verdicts }, options.scheduler) : [];
  const volumes = controllers && nodes.length > 0 ? [provisioner(base, api.clientFor(provisionerUser))] : [];
  const staging = stages ? [new Restartable("stages", stages.task({ ...nodeDeps, kinds: api.resources }, nodes))] : [];
  const others = own.map((task, index) => new Restartable(`component-${index + 1}`, task));
  const tasks = [...plane, ...volumes, ...staging, ...others];
  const running = startTasks([...tasks, ...nodes].map(({ run }) => run));
  const components = new Map([...tasks, ...nodes].map((one) => [one.name, one] as const));
  return createCluster({ ...parts, pace, options, log, queues, running, nodes, components, client, clientFor });
}

interface ClusterParts extends Server {
  readonly pace: Pace;
  readonly options: ClusterOptions;
  readonly log: Log;
  readonly queues: ReadonlyMap<string, WorkQueue<Cause>>;
  readonly running: Running;
  readonly nodes: readonly SimulatedNode[];
  readonly components: ReadonlyMap<string, Component>;
  readonly client: Client;
  clientFor(user: UserInfo): Client;
}

function createCluster(parts: ClusterParts): TestCluster {
  const { store, api, verdicts, faults, pace, options, running, nodes, components, client, clientFor } = parts;
  const { clock } = pace;
  const snapshot = (): Promise<ClusterSnapshot> => takeSnapshot({ store, nodes, clock });
  const until = (condition: Condition, limitMs: number) => clock.runUntil(whileRunning(running, condition), limitMs);
  const ends = new AsyncDisposableStack();
  ends.defer(pace.divideSlices);
  return {
    client,
    informers: api.informers,
    clock,
    store,
    api,
    verdicts,
    nodes,
    components,
    apiFaults: faults,
    clientFor,
    as: (account) => clientFor(accountUser(account)),
    apply: (resource, object) => client.apply(resource, object, { fieldManager: "test", force: true }),
    list: async (resource, namespace) => (await client.list(resource, namespace ? { namespace } : {})).items,
    events: (target) => eventsOf(client, target),
    why: (target) => whyOf(client, target, clock.now()),
    trace: (target) => traceOf(client, target),
    ...waitingVerbs(parts, until),
    fail: (what) => failNodes(nodes, what),
    listen: (how = {}) => listenUntil(ends, parts, how),
    snapshot,
    fork: async () => startCluster({ ...options, from: await snapshot() }),
    async [Symbol.asyncDispose]() {
      await ends.disposeAsync();
      await running.stop();
      await api[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    },
  };
}

/** The verbs that let time pass. Their errors have the caller's line and say what is wrong in the cluster. */
function waitingVerbs(
  parts: ClusterParts,
  until: (condition: Condition, limitMs: number) => Promise<void>,
): Pick<TestCluster, "applyYaml" | "settle" | "until"> {
  const { client, pace, running } = parts;
  const applyYaml = (source: string) =>
    pointHome(async () => {
      const waiting = { client, until: (condition: Condition) => until(condition, defaultLimitMs) };
      return await applyManifests(waiting, await readManifests(source));
    }, applyYaml);
  const settled = (how?: SettleOptions): Promise<void> =>
    pointHome(() => explained(parts, () => settle({ ...parts, ...pace, ...running }, how)), settled);
  const holds = (condition: Condition, limitMs: number = defaultLimitMs): Promise<void> =>
    pointHome(() => explained(parts, () => until(condition, limitMs)), holds);
  return { applyYaml, settle: settled, until: holds };
}

/** Serves until the stack is disposed of. */
async function listenUntil(ends: AsyncDisposableStack, parts: ClusterParts, how: ListenOptions): Promise<Listening> {
  const { options, pace } = parts;
  const listening = ends.use(await openListening(parts, how));
  // Clients outside the process must not wait for each other's work.
  pace.divideSlices();
  const end = new AbortController();
  ends.defer(() => end.abort(new Error("the cluster ends")));
  const { speed = 1 } = how;
  if (options.clock !== "system" && speed > 0) void passTime(pace.clock, speed, end.signal);
  return listening;
}

/** An error of the work says what is wrong in the cluster, unless a component has failed. */
async function explained(
  { client, pace, running }: Pick<ClusterParts, "client" | "pace" | "running">,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    running.check();
    if (error instanceof Error) error.message += await diagnose(client, pace.clock.now());
    throw error;
  }
}

interface ServerParts extends Pick<RunDeps, "clock" | "log" | "onQueue"> {
  readonly random: SeededRandom;
  readonly seed: number;
  readonly localNodes: ReportingNodes;
}

interface Server {
  readonly store: Store;
  readonly api: AssembledServer;
  readonly verdicts: Verdicts;
  readonly faults: ApiFaults;
}

async function startServer(
  { clock, log, random, onQueue, localNodes, seed }: ServerParts,
  { historyLimits, from, clock: kind, nodeMetrics: textOf }: ClusterOptions,
): Promise<Server> {
  const limits = historyLimits ? { limits: historyLimits } : {};
  const key = from || kind === "system" ? undefined : `${seed} ${clock.now()}`;
  const known = key === undefined ? undefined : preparedState(key);
  const state = from?.store ?? known?.store;
  const store = openMemoryStore({ clock, ...limits, ...(state ? { from: state } : {}) });
  const faults = new ApiFaults({ clock, random, revision: () => store.revision });
  const verdicts = new Verdicts();
  const signing = signingKey(keyToPem(createKey()));
  const newUid = (): string => randomUid(random);
  const serverAddress = "127.0.0.1:6443";
  const parts = {
    store,
    clock,
    log,
    random,
    newUid,
    signingKey: signing,
    serverAddress,
    verdicts,
    interceptor: faults,
  };
  const subresources = (deps: StreamParts) =>
    lazyStreamEndpoints({ ...deps, clock, log, node: noIdentity, localNodes });
  const nodeMetrics = async () => async (node: string) =>
    (await localNodes.reportOf(node)) ?? once(textOf?.(node) ?? "");
  const api = await assembleApiServer({
    ...parts,
    subresources,
    nodeMetrics,
    freezesShared: true,
    ...(onQueue ? { onQueue } : {}),
  });
  await bootstrapCluster(api.loopback, api.health, known && (async () => undefined));
  if (known) random.restore(known.random);
  else if (key !== undefined) await keepPrepared(key, store, random);
  return { store, api, verdicts, faults };
}

type StreamParts = Omit<StreamDeps, "clock" | "log" | "node">;

/** No connection leaves the process, so the server needs no certificate for nodes. */
const noIdentity = () => ({ key: "", cert: "", ca: "" });

async function* once<T>(value: T): AsyncGenerator<T> {
  yield value;
}

/** The condition, which throws if a task has ended too early. */
const whileRunning =
  (running: Running, condition: Condition): Condition =>
  () => {
    running.check();
    return condition();
  };

function controlPlane(
  api: AssembledServer,
  deps: Omit<RunDeps, "client"> & Pick<AssembledServer, "recorder"> & { random: Random; verdicts: Verdicts },
  setup: SchedulerDeps["setup"],
): readonly Restartable[] {
  const { clock } = deps;
  const validity = { notBeforeMs: clock.now(), notAfterMs: clock.now() + authorityLifeMs };
  const authority = createAuthority({ subject: { commonName: "kubernetes" }, ...validity });
  const trust = { rootCa: authority.certificate, signer: { authority: () => authority } };
  const clientFor = (account: string): Client => api.clientFor(controllerUser(account));
  return [
    new Restartable("kube-controller-manager", (stop) =>
      runControllers({ ...deps, clientFor, kinds: api.resources, remoteKinds: api.remote, ...trust }, stop),
    ),
    new Restartable("kube-scheduler", async (stop) => {
      const client = api.clientFor(schedulerUser);
      await runScheduler({ ...deps, client, ...(setup ? { setup } : {}) }, stop);
    }),
  ];
}

/** Makes the volumes of all simulated nodes. */
const provisioner = (deps: Omit<RunDeps, "client">, client: Client): Restartable =>
  new Restartable("provisioner", (stop) =>
    runProvisioner({ serves: () => true, directories: simulatedDirectories }, { ...deps, client }, stop),
  );

const administrator: UserInfo = { name: "kubernetes-admin", groups: ["system:masters", "system:authenticated"] };
const authorityLifeMs = 3650 * 86_400_000;
