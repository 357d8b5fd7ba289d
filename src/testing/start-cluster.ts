import { type UserInfo } from "#api/exchange.ts";
import { type ApiObject, type InputOf, type Resource } from "#api/resource.ts";
import { type Client } from "#client/client.ts";
import { type AssembledServer, assembleApiServer } from "#cluster/api-server.ts";
import { bootstrapCluster } from "#cluster/bootstrap.ts";
import { controllerUser, provisionerUser, schedulerUser } from "#cluster/identities.ts";
import { createSimulatedNodes, type SimulatedNode, type SimulationOptions } from "#cluster/simulated-nodes.ts";
import { runControllers } from "#controllers/all.ts";
import { type Clock, systemClock } from "#lib/async/clock.ts";
import { runTogether, type Task } from "#lib/async/tasks.ts";
import { signingKey } from "#lib/crypto/jwt.ts";
import { createAuthority, createKey, keyToPem } from "#lib/crypto/x509.ts";
import { type Random, randomUid, seededRandom } from "#lib/data/random.ts";
import { type Log } from "#lib/process/log.ts";
import { simulatedDirectories } from "#provisioner/directories.ts";
import { runProvisioner } from "#provisioner/provisioner.ts";
import { type Informers } from "#runtime/informer.ts";
import { type Cause, type RunDeps } from "#runtime/run-reconciler.ts";
import { type WorkQueue } from "#runtime/work-queue.ts";
import { runScheduler } from "#scheduler/scheduler.ts";
import { Verdicts } from "#scheduler/seeing/verdicts.ts";
import { type SchedulerDeps } from "#scheduler/setup.ts";
import { type HistoryLimits } from "#store/history.ts";
import { openMemoryStore } from "#store/memory.ts";
import { type Store, type StoreEvent } from "#store/store.ts";
import { testLog } from "./test-log.ts";
import { createVirtualClock, type VirtualClock } from "./virtual-clock.ts";

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
}

export interface ComponentDeps extends RunDeps {
  /** Acts as an administrator, and passes through all checks. */
  readonly client: Client;
  clientFor(user: UserInfo): Client;
}

/** A whole control plane in this process: the real server and controllers, without sockets, disk or waiting. */
export interface TestCluster<C extends Clock = VirtualClock> extends AsyncDisposable {
  /** Acts as an administrator, and passes through all checks. */
  readonly client: Client;
  readonly informers: Informers;
  readonly clock: C;
  readonly store: Store;
  readonly api: AssembledServer;
  readonly verdicts: Verdicts;
  /** The simulated nodes; each can be stopped and started. */
  readonly nodes: readonly SimulatedNode[];
  clientFor(user: UserInfo): Client;
  /** Server-side apply with force. */
  apply<T extends ApiObject>(resource: Resource<T>, object: InputOf<T>): Promise<T>;
  /** All objects of a kind, or those of one namespace, sorted by name. */
  list<T extends ApiObject>(resource: Resource<T>, namespace?: string): Promise<readonly T[]>;
  /** Advances time until no queue holds work and nothing has changed for a while. */
  settle(options?: SettleOptions): Promise<void>;
  /** Advances time until the condition holds; throws if it does not within the limit, one hour by default. */
  until(condition: () => boolean | Promise<boolean>, limitMs?: number): Promise<void>;
}

export interface SettleOptions {
  /** Time without a change after which the cluster has settled; heartbeats and events do not count as changes. */
  readonly quietMs?: number;
  /** Time after which settle() throws. */
  readonly limitMs?: number;
}

/** Objects that readers share are frozen, so that a component which changes one fails. */
export async function startCluster(options?: ClusterOptions & { readonly clock?: "virtual" }): Promise<TestCluster>;
export async function startCluster(options: ClusterOptions & { readonly clock: "system" }): Promise<TestCluster<Clock>>;
export async function startCluster(options: ClusterOptions = {}): Promise<TestCluster | TestCluster<Clock>> {
  if (options.clock === "system") {
    const time = { settle: { ...liveSettling, clock: systemClock }, until: waitUntil };
    return await startOn(systemClock, options, time);
  }
  const clock = createVirtualClock(options.startMs);
  const time = {
    settle: { ...virtualSettling, clock, pass: (ms: number) => clock.advance(ms), rest: () => clock.settle() },
    until: (condition: Condition, limitMs: number) => clock.runUntil(condition, limitMs),
  };
  return await startOn(clock, options, time);
}

type Condition = () => boolean | Promise<boolean>;

/** What depends on the kind of clock. */
interface Passing {
  readonly settle: Pace;
  until(condition: Condition, limitMs: number): Promise<void>;
}

async function startOn<C extends Clock>(clock: C, options: ClusterOptions, time: Passing): Promise<TestCluster<C>> {
  const { log = testLog(), seed = 1, controllers = true } = options;
  const random = seededRandom(seed);
  const queues = new Map<string, WorkQueue<Cause>>();
  const onQueue = (name: string, queue: WorkQueue<Cause>): void => void queues.set(name, queue);
  const nodes: SimulatedNode[] = [];
  const metricsOf = async (name: string) =>
    (await nodes.find((node) => node.name === name)?.resourceMetrics()) ?? options.nodeMetrics?.(name) ?? "";
  const { store, api, verdicts } = await startServer({ clock, log, random, onQueue, metricsOf }, options);
  const { informers, recorder } = api;
  const clientFor = (user: UserInfo): Client => api.clientFor(user);
  const client = clientFor(administrator);

  const base = { informers, clock, log, recorder, onQueue };
  nodes.push(...createSimulatedNodes(options.nodes ?? 0, { ...base, random, clientFor }, options.simulation));
  const own = options.components?.({ ...base, client, clientFor }) ?? [];
  const plane = controllers ? controlPlane(api, { ...base, random, verdicts }, options.scheduler) : [];
  const volumes = controllers && nodes.length > 0 ? [provisioner(base, clientFor(provisionerUser))] : [];
  const running = startTasks([...plane, ...volumes, ...nodes.map(({ run }) => run), ...own]);
  return {
    client,
    informers,
    clock,
    store,
    api,
    verdicts,
    nodes,
    clientFor,
    apply: (resource, object) => client.apply(resource, object, { fieldManager: "test", force: true }),
    list: async (resource, namespace) => (await client.list(resource, namespace ? { namespace } : {})).items,
    settle: (settleOptions) => settle({ store, queues, running, ...time.settle }, settleOptions),
    until: (condition, limitMs = defaultLimitMs) => time.until(whileRunning(running, condition), limitMs),
    async [Symbol.asyncDispose]() {
      await running.stop();
      await api[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    },
  };
}

interface ServerParts extends Pick<RunDeps, "clock" | "log" | "onQueue"> {
  readonly random: Random;
  /** What a node reports about its usage. */
  metricsOf(node: string): Promise<string>;
}

interface Server {
  readonly store: Store;
  readonly api: AssembledServer;
  readonly verdicts: Verdicts;
}

async function startServer(
  { clock, log, random, onQueue, metricsOf }: ServerParts,
  { historyLimits }: ClusterOptions,
): Promise<Server> {
  const store = openMemoryStore({ clock, ...(historyLimits ? { limits: historyLimits } : {}) });
  const verdicts = new Verdicts();
  const key = signingKey(keyToPem(createKey()));
  const newUid = (): string => randomUid(random);
  const serverAddress = "127.0.0.1:6443";
  const parts = { store, clock, log, random, newUid, signingKey: key, serverAddress, verdicts };
  const nodeMetrics = async () => async (node: string) => once(await metricsOf(node));
  const api = await assembleApiServer({ ...parts, nodeMetrics, freezesShared: true, ...(onQueue ? { onQueue } : {}) });
  await bootstrapCluster(api.loopback, api.health);
  return { store, api, verdicts };
}

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
): readonly Task[] {
  const { clock } = deps;
  const validity = { notBeforeMs: clock.now(), notAfterMs: clock.now() + authorityLifeMs };
  const authority = createAuthority({ subject: { commonName: "kubernetes" }, ...validity });
  const trust = { rootCa: authority.certificate, signer: { authority: () => authority } };
  const clientFor = (account: string): Client => api.clientFor(controllerUser(account));
  return [
    (stop) => runControllers({ ...deps, clientFor, kinds: api.resources, remoteKinds: api.remote, ...trust }, stop),
    async (stop) => {
      const client = api.clientFor(schedulerUser);
      await runScheduler({ ...deps, client, ...(setup ? { setup } : {}) }, stop);
    },
  ];
}

/** Makes the volumes of all simulated nodes. */
const provisioner =
  (deps: Omit<RunDeps, "client">, client: Client): Task =>
  (stop) =>
    runProvisioner({ serves: () => true, directories: simulatedDirectories }, { ...deps, client }, stop);

const administrator: UserInfo = { name: "kubernetes-admin", groups: ["system:masters", "system:authenticated"] };
const authorityLifeMs = 3650 * 86_400_000;

interface Running {
  /** Throws the error that ended a task too early. */
  check(): void;
  stop(): Promise<void>;
}

function startTasks(tasks: readonly Task[]): Running {
  const end = new AbortController();
  let failure: { readonly error: unknown } | undefined;
  let isReported = false;
  const ended = runTogether(end.signal, tasks).catch((error: unknown) => {
    failure = { error };
  });
  const check = (): void => {
    if (!failure) return;
    isReported = true;
    throw failure.error;
  };
  return {
    check,
    async stop() {
      end.abort(new Error("the cluster ends"));
      await ended;
      // Thrown twice, it would be shown as a SuppressedError without its message.
      if (!isReported) check();
    },
  };
}

/** How time passes while settle() waits. */
interface Pace {
  readonly clock: Clock;
  readonly stepMs: number;
  readonly quietMs: number;
  pass(ms: number): Promise<void>;
  /** Runs everything that needs no time to pass. */
  rest(): Promise<void>;
}
/** Longer than the longest pause of any component that has not reached its goal yet. */
const virtualSettling = { stepMs: 1000, quietMs: 15_000 };
const liveSettling = { stepMs: 20, quietMs: 500, pass: (ms: number) => systemClock.sleep(ms), rest: async () => {} };
const defaultLimitMs = 3_600_000;

interface Settling extends Pace {
  readonly store: Store;
  readonly queues: ReadonlyMap<string, WorkQueue<Cause>>;
  readonly running: Running;
}

async function settle(settling: Settling, options: SettleOptions = {}): Promise<void> {
  const { store, clock, queues, running, stepMs, pass } = settling;
  const { quietMs = settling.quietMs, limitMs = defaultLimitMs } = options;
  const limit = clock.now() + limitMs;
  let quietSince = clock.now();
  const stop = store.watch("/registry/", store.revision, {
    events: (changes) => {
      if (changes.some(isChange)) quietSince = clock.now();
    },
    failed: (error) => {
      throw error;
    },
  });
  try {
    await settling.rest();
    while (isBusy(queues) || clock.now() - quietSince < quietMs) {
      running.check();
      if (clock.now() >= limit) throw new Error(`the cluster did not settle: ${describeWork(queues)}`);
      await pass(Math.min(stepMs, quietMs || stepMs));
    }
    running.check();
  } finally {
    stop();
  }
}

async function waitUntil(condition: Condition, limitMs: number): Promise<void> {
  const limit = systemClock.now() + limitMs;
  while (!(await condition())) {
    if (systemClock.now() >= limit) throw new Error(`the condition did not hold within ${limitMs} ms`);
    await systemClock.sleep(1);
  }
}

const isBusy = (queues: ReadonlyMap<string, WorkQueue<Cause>>): boolean => queues.values().some(({ size }) => size > 0);

function describeWork(queues: ReadonlyMap<string, WorkQueue<Cause>>): string {
  const busy = [...queues].filter(([, { size }]) => size > 0).map(([name, { size }]) => `${name} has ${size}`);
  return busy.length > 0 ? busy.join(", ") : "objects keep changing";
}

/** Leases, events and the heartbeats of nodes never stop, so they do not count. */
function isChange({ key, value, previous }: StoreEvent): boolean {
  if (key.startsWith("/registry/leases/") || key.startsWith("/registry/events/")) return false;
  return !(key.startsWith("/registry/minions/") && value && previous);
}
