import { type UserInfo } from "#api/exchange.ts";
import { type ApiObject, type InputOf, type Resource } from "#api/resource.ts";
import { type Client } from "#client/client.ts";
import { createEventRecorder } from "#client/events.ts";
import { type AssembledServer, assembleApiServer } from "#cluster/api-server.ts";
import { bootstrapCluster } from "#cluster/bootstrap.ts";
import { systemUser } from "#cluster/control-plane.ts";
import { runControllers } from "#controllers/all.ts";
import { signingKey } from "#lib/jwt.ts";
import { type Log, silentLog } from "#lib/log.ts";
import { seededRandom } from "#lib/random.ts";
import { runTogether, type Task } from "#lib/tasks.ts";
import { createAuthority, createKey, keyToPem } from "#lib/x509.ts";
import { type Informers } from "#runtime/informer.ts";
import { type Cause, type RunDeps } from "#runtime/run-reconciler.ts";
import { type WorkQueue } from "#runtime/work-queue.ts";
import { runScheduler } from "#scheduler/scheduler.ts";
import { Verdicts } from "#scheduler/verdicts.ts";
import { sharing } from "#server/objects/encode-once.ts";
import { type HistoryLimits } from "#store/history.ts";
import { openMemoryStore } from "#store/memory.ts";
import { type Store, type StoreEvent } from "#store/store.ts";
import { createVirtualClock, type VirtualClock } from "./virtual-clock.ts";

export interface ClusterOptions {
  /** Where warnings and errors go; default: nowhere. */
  readonly log?: Log;
  /** The same seed makes the same names and choices; default 1. */
  readonly seed?: number;
  /** How much history the store keeps. */
  readonly historyLimits?: HistoryLimits;
  /** false: only the API server, and what a test writes stays as it wrote it. */
  readonly controllers?: boolean;
  /** Components of the caller's own, which run beside the others until the cluster ends. */
  components?(deps: RunDeps): readonly Task[];
}

/** A whole control plane in this process: the real server and controllers, no socket, no disk, no waiting. */
export interface TestCluster extends AsyncDisposable {
  /** Through all gates, as an administrator. */
  readonly client: Client;
  readonly informers: Informers;
  readonly clock: VirtualClock;
  readonly store: Store;
  readonly api: AssembledServer;
  readonly verdicts: Verdicts;
  clientFor(user: UserInfo): Client;
  /** Server-side apply, by force. */
  apply<T extends ApiObject>(resource: Resource<T>, object: InputOf<T>): Promise<T>;
  /** All objects of a kind, or those of one namespace, in the order of their names. */
  list<T extends ApiObject>(resource: Resource<T>, namespace?: string): Promise<readonly T[]>;
  /** Lets virtual time run until no queue holds work and nothing has changed for a while. */
  settle(options?: SettleOptions): Promise<void>;
}

export interface SettleOptions {
  /** Virtual time without a change after which the cluster has settled; heartbeats and events are no changes. */
  readonly quietMs?: number;
  /** Virtual time after which it never will. */
  readonly limitMs?: number;
}

/** Objects that readers share are frozen from here on, so that a component which changes one fails. */
export async function startCluster(options: ClusterOptions = {}): Promise<TestCluster> {
  sharing.freeze = true;
  const { log = silentLog, seed = 1, historyLimits, controllers = true } = options;
  const clock = createVirtualClock();
  const random = seededRandom(seed);
  const store = openMemoryStore({ clock, ...(historyLimits ? { limits: historyLimits } : {}) });
  const key = signingKey(keyToPem(createKey()));
  const verdicts = new Verdicts();
  const serverAddress = "127.0.0.1:6443";
  const api = await assembleApiServer({ store, clock, log, random, signingKey: key, serverAddress, verdicts });
  await bootstrapCluster(api.clientFor(systemUser("apiserver")));

  const queues = new Map<string, WorkQueue<Cause>>();
  const onQueue = (name: string, queue: WorkQueue<Cause>): void => void queues.set(name, queue);
  const { informers, recorder } = api;
  const clientOf = (name: string): Client => api.clientFor(systemUser(name));
  const base = { informers, clock, log, recorder, onQueue };
  const events = createEventRecorder(clientOf("kube-scheduler"), { component: "default-scheduler", clock, log });
  const validity = { notBeforeMs: clock.now(), notAfterMs: clock.now() + authorityLifeMs };
  const rootCa = createAuthority({ subject: { commonName: "kubernetes" }, ...validity }).certificate;
  const controlPlane: readonly Task[] = [
    (stop) => runControllers({ ...base, client: clientOf("kube-controller-manager"), rootCa }, stop),
    (stop) => runScheduler({ ...base, client: clientOf("kube-scheduler"), random, events, verdicts }, stop),
  ];
  const own = options.components?.({ ...base, client: clientOf("test-components") }) ?? [];
  const running = startTasks([...(controllers ? controlPlane : []), ...own]);

  const client = api.clientFor(administrator);
  return {
    client,
    informers,
    clock,
    store,
    api,
    verdicts,
    clientFor: (user) => api.clientFor(user),
    apply: (resource, object) => client.apply(resource, object, { fieldManager: "test", force: true }),
    list: async (resource, namespace) => (await client.list(resource, namespace ? { namespace } : {})).items,
    settle: (settleOptions) => settle({ store, clock, queues, running }, settleOptions),
    async [Symbol.asyncDispose]() {
      await events[Symbol.asyncDispose]();
      await running.stop();
      await api[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    },
  };
}

const administrator: UserInfo = { name: "kubernetes-admin", groups: ["system:masters", "system:authenticated"] };
const authorityLifeMs = 3650 * 86_400_000;

interface Running {
  /** Throws what ended a task too early. */
  check(): void;
  stop(): Promise<void>;
}

function startTasks(tasks: readonly Task[]): Running {
  const end = new AbortController();
  let failure: { readonly error: unknown } | undefined;
  const ended = runTogether(end.signal, tasks).catch((error: unknown) => {
    failure = { error };
  });
  const check = (): void => {
    if (failure) throw failure.error;
  };
  return {
    check,
    async stop() {
      end.abort(new Error("the cluster ends"));
      await ended;
      check();
    },
  };
}

interface Settling {
  readonly store: Store;
  readonly clock: VirtualClock;
  readonly queues: ReadonlyMap<string, WorkQueue<Cause>>;
  readonly running: Running;
}

const stepMs = 1000;
/** Longer than the longest pause of anything that is still on its way to what is wanted. */
const defaultQuietMs = 15_000;
const defaultLimitMs = 3_600_000;

async function settle(
  { store, clock, queues, running }: Settling,
  { quietMs = defaultQuietMs, limitMs = defaultLimitMs }: SettleOptions = {},
): Promise<void> {
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
    await clock.settle();
    while (isBusy(queues) || clock.now() - quietSince < quietMs) {
      running.check();
      if (clock.now() >= limit) throw new Error(`the cluster did not settle: ${describeWork(queues)}`);
      await clock.advance(Math.min(stepMs, quietMs || stepMs));
    }
    running.check();
  } finally {
    stop();
  }
}

const isBusy = (queues: ReadonlyMap<string, WorkQueue<Cause>>): boolean => queues.values().some(({ size }) => size > 0);

function describeWork(queues: ReadonlyMap<string, WorkQueue<Cause>>): string {
  const busy = [...queues].filter(([, { size }]) => size > 0).map(([name, { size }]) => `${name} has ${size}`);
  return busy.length > 0 ? busy.join(", ") : "objects keep changing";
}

/** Leases, events and the heartbeats of nodes go on for ever. */
function isChange({ key, value, previous }: StoreEvent): boolean {
  if (key.startsWith("/registry/leases/") || key.startsWith("/registry/events/")) return false;
  return !(key.startsWith("/registry/minions/") && value && previous);
}
