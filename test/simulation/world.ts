import { Event } from "#api/core/event.ts";
import { type UserInfo } from "#api/exchange.ts";
import { type Client } from "#client/client.ts";
import { controllerManagerUser, controllerUser, nodeUser, schedulerUser } from "#cluster/identities.ts";
import { runControllers } from "#controllers/all.ts";
import { Kubelet } from "#kubelet/kubelet.ts";
import { simulatedMachine } from "#kubelet/node/machine.ts";
import { type ContainerConfig, type ContainerRuntime, type SandboxConfig } from "#kubelet/runtime/runtime.ts";
import { SimulatedRuntime } from "#kubelet/runtime/simulated.ts";
import { isAbort } from "#lib/async/tasks.ts";
import { type Random, seededRandom } from "#lib/data/random.ts";
import { type Log, silentLog } from "#lib/process/log.ts";
import { startInformers } from "#runtime/cached-informer.ts";
import { type Informers } from "#runtime/informer.ts";
import { type RunDeps } from "#runtime/run-reconciler.ts";
import { runScheduler } from "#scheduler/scheduler.ts";
import { type FaultRates, Faults, type Life } from "#testing/chaos/faults.ts";
import { startCluster, type TestCluster } from "#testing/start-cluster.ts";

/** A cluster whose components are processes that die and restart. */
export interface World extends AsyncDisposable {
  readonly cluster: TestCluster;
  readonly faults: Faults;
  readonly random: Random;
  readonly machines: readonly Machine[];
  /** Acts as an administrator, through the faults. */
  readonly user: Client;
  /** Containers that started while another one of the same name ran in their pod. */
  readonly doubles: readonly string[];
}

/** A node: its runtime, and whether its kubelet may run. */
export interface Machine {
  readonly name: string;
  readonly runtime: SimulatedRuntime;
  isCutOff: boolean;
  /** Kills the current kubelet. */
  kill(): void;
}

interface ProcessDeps {
  readonly client: Client;
  /** For a process that acts as several users. */
  clientFor(user: UserInfo): Client;
  readonly informers: Informers;
  readonly life: Life;
}
interface Process {
  readonly name: string;
  client(cluster: TestCluster): Client;
  mayRun(): boolean;
  born(life: Life): void;
  main(deps: ProcessDeps, signal: AbortSignal): Promise<void>;
}

export async function startWorld(seed: number, log: Log = silentLog): Promise<World> {
  const random = seededRandom(seed * 7919);
  const started = Promise.withResolvers<TestCluster>();
  const machines: Machine[] = [];
  const doubles: string[] = [];
  let base: RunDeps | undefined;
  let faults: Faults | undefined;
  const cluster = await startCluster({
    controllers: false,
    seed,
    log,
    components: (deps) => {
      base = deps;
      faults = new Faults(deps.clock, random, ratesOf(random));
      const isRemote = random() < 0.7;
      const all = { deps, faults, random, isRemote, started: started.promise };
      const nodes = Array.from({ length: 3 + Math.floor(random() * 2) }, (_, at) =>
        createMachine({ at, deps, random, doubles }),
      );
      machines.push(...nodes.map(({ machine }) => machine));
      const processes = [controllerManager(deps), scheduler(deps, random), ...nodes.map(({ process }) => process)];
      return processes.map((process) => (stop: AbortSignal) => runProcess(process, all, stop));
    },
  });
  if (!faults || !base) throw new Error("the components were not created");
  started.resolve(cluster);
  const user = faults.wrap(cluster.client, { name: "user", signal: new AbortController().signal, kill() {} });
  const end = () => cluster[Symbol.asyncDispose]();
  return { cluster, faults, random, machines, user, doubles, [Symbol.asyncDispose]: end };
}

const whole = Math.floor;
const pick = <T>(random: Random, ...choices: readonly [T, ...T[]]): T =>
  choices[Math.floor(random() * choices.length)] ?? choices[0];

const ratesOf = (random: Random): FaultRates => ({
  conflictEvery: pick(random, 3, 3, 3, 4, 7),
  lostReply: pick(random, 0, 0.03, 0.1),
  unavailable: pick(random, 0, 0.02, 0.1),
  slow: pick(random, 0, 0.05, 0.3),
  kill: pick(random, 0, 0.003, 0.01),
  watchLifeMs: pick(random, 5_000, 20_000, 120_000),
  watchLagMs: pick(random, 0, 100, 2000),
  expired: pick(random, 0, 0.2),
});

interface Surroundings {
  readonly deps: RunDeps;
  readonly faults: Faults;
  readonly random: Random;
  /** Whether processes have their own informers, over the client, or share the server's. */
  readonly isRemote: boolean;
  readonly started: Promise<TestCluster>;
}

/** Runs a process, and restarts it whenever it is killed. */
async function runProcess(
  process: Process,
  { deps, faults, random, isRemote, started }: Surroundings,
  stop: AbortSignal,
): Promise<void> {
  const { clock, log } = deps;
  const cluster = await started;
  while (!stop.aborted) {
    const end = new AbortController();
    const signal = AbortSignal.any([stop, end.signal]);
    const life: Life = { name: process.name, signal, kill: () => end.abort(new Error(`${process.name} was killed`)) };
    const client = faults.wrap(process.client(cluster), life);
    const clientFor = (user: UserInfo) => faults.wrap(cluster.clientFor(user), life);
    if (process.mayRun()) {
      process.born(life);
      const informers = isRemote ? startInformers(client, { clock, log, random }) : deps.informers;
      try {
        await process.main({ client, clientFor, informers, life }, signal);
      } catch (error) {
        if (!isAbort(error, signal)) throw error;
      }
      if (isRemote) await informers[Symbol.asyncDispose]();
    }
    await clock.sleep(whole(50 + random() ** 2 * 3000), stop).catch(() => undefined);
  }
}

/** The labels that identify a container. */
const podUid = "io.kubernetes.pod.uid";
const containerName = "io.kubernetes.container.name";

const always = { mayRun: () => true, born() {} };

/** The controllers that a deployment and its pods meet. */
const involved: ReadonlySet<string> = new Set([
  "deployment-controller",
  "endpointslice-controller",
  "garbage-collector-controller",
  "namespace-controller",
  "node-ipam-controller",
  "node-lifecycle-controller",
  "pod-garbage-collector-controller",
  "replicaset-controller",
  "root-ca-certificate-publisher-controller",
  "serviceaccount-controller",
  "taint-eviction-controller",
]);

const controllerManager = (deps: RunDeps): Process => ({
  ...always,
  name: "controllers",
  client: (cluster) => cluster.clientFor(controllerManagerUser),
  main({ informers, clientFor }, signal) {
    const clientOf = (account: string) => clientFor(controllerUser(account));
    const runs = (controller: string): boolean => involved.has(controller);
    return runControllers({ ...deps, informers, clientFor: clientOf, rootCa: "certificate", runs }, signal);
  },
});

const scheduler = ({ recorder, ...deps }: RunDeps, random: Random): Process => ({
  ...always,
  name: "scheduler",
  client: (cluster) => cluster.clientFor(schedulerUser),
  async main({ client, informers }, signal) {
    if (!recorder) throw new Error("there is no recorder");
    await runScheduler({ ...deps, recorder, client, informers, random }, signal);
  },
});

interface MachineParts {
  readonly at: number;
  readonly deps: RunDeps;
  readonly random: Random;
  readonly doubles: string[];
}

function createMachine({ at, deps, random, doubles }: MachineParts): { machine: Machine; process: Process } {
  const { clock } = deps;
  const name = `node-${at + 1}`;
  const podCidr = `10.128.${at}.0/24`;
  const delays = {
    sandboxMs: whole(random() * 300),
    pullMs: whole(random() * 1000),
    startMs: whole(random() * 200),
    stopMs: whole(random() * 2000),
  };
  const startContainer = (started: ContainerConfig, { pod }: SandboxConfig): void => {
    void runtime.listContainers().then((all) => {
      const isDouble = all.some(
        ({ state, labels }) =>
          state === "running" && labels[podUid] === pod.uid && labels[containerName] === started.name,
      );
      if (isDouble) doubles.push(`${started.name} of ${pod.name} on ${name}`);
    });
  };
  const runtime = new SimulatedRuntime({ clock, random, podCidr, delays, hooks: { startContainer } });
  let current: Life | undefined;
  const machine: Machine = { name, runtime, isCutOff: false, kill: () => current?.kill() };
  const process: Process = {
    name: `kubelet ${name}`,
    client: (cluster) => cluster.clientFor(nodeUser(name)),
    mayRun: () => !machine.isCutOff,
    born: (life) => {
      current = life;
    },
    async main({ client, informers, life }, signal) {
      const kubelet = new Kubelet({
        ...deps,
        client,
        informers,
        random,
        nodeName: name,
        machine: simulatedMachine(name, `172.16.0.${at + 1}`),
        runtime: mortal(runtime, life),
        podCidrs: [podCidr],
      });
      await kubelet.run(signal);
    },
  };
  return { machine, process };
}

/** The runtime as one run of a kubelet sees it: a dead kubelet's new calls fail, but its earlier calls continue. */
function mortal(runtime: SimulatedRuntime, { signal }: Life): ContainerRuntime {
  return new Proxy<ContainerRuntime>(runtime, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== "function") return value;
      return (...args: readonly unknown[]): unknown => {
        if (signal.aborted && property !== "events") return Promise.reject(signal.reason);
        return Reflect.apply(value, target, args);
      };
    },
  });
}

/** Events are written and deleted independently of the story. */
export const isAboutEvents = (key: string): boolean => key.startsWith(`/registry/${Event.storagePrefix}/`);
