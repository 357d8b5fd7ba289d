/**
 * Pods that are deleted within their first second on a real node, while Orlop is killed repeatedly. Everything that must be
 * gone afterwards is counted.
 */
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Namespace } from "#api/core/namespace.ts";
import { Pod } from "#api/core/pod.ts";
import type { InputOf } from "#api/resource.ts";
import { isNotFound } from "#api/status.ts";
import type { Client } from "#client/client.ts";
import { loadKubeconfig, resolveContext } from "#client/kubeconfig/kubeconfig.ts";
import { httpClient } from "#client/transport/http.ts";
import { containerdPaths } from "#kubelet/containerd/paths.ts";
import { ContainerdRuntime } from "#kubelet/runtime/containerd.ts";
import { systemClock } from "#lib/async/clock.ts";
import { type Random, seededRandom } from "#lib/data/random.ts";
import { mountsUnder } from "#lib/fs/mounts.ts";
import { silentLog } from "#lib/process/log.ts";
import { freePorts } from "#testing/peers/free-ports.ts";
import { freeRange, makeTempDir, runOrlop } from "./server.ts";

export interface ChurnOptions {
  readonly pods: number;
  readonly kills: number;
  /** How many pods exist concurrently. */
  readonly together: number;
  readonly seed: number;
  /** How long the deletion of a pod or of the namespace may take. */
  readonly limitMs: number;
  progress?(text: string): void;
}

/** What is left at the end; every number should be 0. */
export interface ChurnReport {
  readonly podsLeft: number;
  readonly namespacesLeft: number;
  readonly refusedStatuses: number;
  readonly sandboxes: number;
  readonly containers: number;
  readonly podDirectories: number;
  readonly logDirectories: number;
  readonly cgroups: number;
  readonly mounts: number;
  readonly networkNamespaces: number;
  /** Log lines that report problems. */
  readonly complaints: readonly string[];
}

const namespace = "churn";

export async function churnPods(options: ChurnOptions): Promise<ChurnReport> {
  const cluster = await startCluster();
  try {
    const podsLeft = await churn(cluster, options);
    const namespacesLeft = await deleteNamespace(cluster.client, options.limitMs);
    return { podsLeft, namespacesLeft, ...(await countLeftovers(cluster.dataDir)), ...readLog(cluster.dataDir) };
  } finally {
    await cluster.down();
  }
}

interface ChurnedCluster {
  readonly dataDir: string;
  readonly client: Client;
  /** kill -9, and `up` again. */
  restart(): Promise<void>;
  down(): Promise<void>;
}

async function startCluster(): Promise<ChurnedCluster> {
  const [dataDir, home] = [makeTempDir(), makeTempDir()];
  process.env.HOME = home;
  process.env.KUBECONFIG = path.join(home, "config");
  const [port, kubeletPort] = await freePorts(2);
  const args = [
    ...["--data-dir", dataDir, "--port", `${port}`, "--kubelet-port", `${kubeletPort}`],
    ...["--node-name", "churn", "--cluster-cidr", freeRange(40), "--service-cidr", freeRange(190)],
  ];
  const up = async (): Promise<void> => {
    const { code, stdout, stderr } = await runOrlop(["up", ...args]);
    if (code !== 0) throw new Error(`orlop up ended with ${code}: ${stderr}${stdout}`);
  };
  await up();
  const kubeconfig = await loadKubeconfig({ path: path.join(dataDir, "kubeconfig"), env: {} });
  const { config } = await resolveContext(kubeconfig, {});
  const client = httpClient(config, { clock: systemClock, log: silentLog });
  return {
    dataDir,
    client,
    async restart() {
      const { pid } = JSON.parse(readFileSync(path.join(dataDir, "cluster.json"), "utf8")) as { pid: number };
      process.kill(pid, "SIGKILL");
      await up();
    },
    async down() {
      await client[Symbol.asyncDispose]();
      const { code, stderr } = await runOrlop(["down", "--data-dir", dataDir]);
      for (const dir of [dataDir, home]) rmSync(dir, { recursive: true, force: true });
      if (code !== 0) throw new Error(`orlop down ended with ${code}: ${stderr}`);
    },
  };
}

/** Resolves with the number of pods that were not gone in time. */
async function churn(cluster: ChurnedCluster, options: ChurnOptions): Promise<number> {
  const { pods, kills, together, seed, limitMs, progress } = options;
  const random = seededRandom(seed);
  const { client } = cluster;
  await insist(() => client.create(Namespace, { metadata: { name: namespace } }));
  const each = Math.ceil(pods / (kills + 1));
  let [next, done, left] = [0, 0, 0];
  let killing: Promise<void> = Promise.resolve();
  const work = async (): Promise<void> => {
    while (next < pods) {
      const name = `pod-${next++}`;
      if (!(await liveShortly(client, name, { random, limitMs }))) left++;
      if (++done % 50 === 0) progress?.(`${done} pods, ${left} left`);
      if (done % each === 0 && done < pods) killing = killing.then(() => cluster.restart());
    }
  };
  await Promise.all(Array.from({ length: together }, work));
  await killing;
  return left;
}

interface Luck {
  readonly random: Random;
  readonly limitMs: number;
}

/** Creates a pod and deletes it at a random moment of its first second. False if it is not gone in time. */
async function liveShortly(client: Client, name: string, { random, limitMs }: Luck): Promise<boolean> {
  const ref = { namespace, name };
  const spec = specs[Math.floor(random() * specs.length)] ?? {};
  const graces = [undefined, 1, 3, 0];
  const gracePeriodSeconds = graces[Math.floor(random() * graces.length)];
  const [first, second] = [random() * 1000, random() * 500];
  await insist(() => client.create(Pod, { metadata: ref, spec }).catch(ignoreExists));
  await pause(first);
  const remove = (seconds: number | undefined) =>
    insist(() =>
      client.delete(Pod, ref, seconds === undefined ? {} : { gracePeriodSeconds: seconds }).catch(ignoreNotFound),
    );
  await remove(gracePeriodSeconds);
  if (random() < 0.3) {
    await pause(second);
    await remove(1);
  }
  return await goneWithin(limitMs, () => client.get(Pod, ref));
}

const container = (command: string, more: object = {}) => ({
  name: "main",
  image: "orlop.dev/busybox:1",
  command: ["sh", "-c", command],
  ...more,
});
const waits = "trap 'exit 0' TERM; while :; do sleep 1 & wait $!; done";
const hook = { exec: { command: ["true"] } };
const base = { terminationGracePeriodSeconds: 2 };
const specs: readonly InputOf<Pod>["spec"][] = [
  { ...base, restartPolicy: "Never", containers: [container(waits)] },
  { ...base, restartPolicy: "Never", containers: [container("exit 0")] },
  { ...base, restartPolicy: "Never", containers: [container("sleep 0.2; exit 3")] },
  { ...base, restartPolicy: "OnFailure", containers: [container("exit 1")] },
  { ...base, containers: [container(waits, { lifecycle: { postStart: hook, preStop: hook } })] },
  {
    ...base,
    restartPolicy: "Never",
    initContainers: [container("exit 0", { name: "init" })],
    containers: [container(waits, { volumeMounts: [{ name: "data", mountPath: "/data" }] })],
    volumes: [{ name: "data", emptyDir: { medium: "Memory" } }],
  },
];

/** Retries until there is an answer, because Orlop may be dead at the moment. */
async function insist<T>(ask: () => Promise<T>): Promise<T> {
  const end = Date.now() + 120_000;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (Date.now() > end) throw error;
      await pause(100);
    }
  }
}
const ignoreNotFound = (error: unknown): void => {
  if (!isNotFound(error)) throw error;
};
const ignoreExists = (error: unknown): void => {
  if (!(error instanceof Error) || !/already exists/.test(error.message)) throw error;
};

async function goneWithin(limitMs: number, get: () => Promise<unknown>): Promise<boolean> {
  const end = Date.now() + limitMs;
  while (Date.now() < end) {
    const isThere = await get().then(
      () => true,
      (error: unknown) => !isNotFound(error),
    );
    if (!isThere) return true;
    await pause(50);
  }
  return false;
}

async function deleteNamespace(client: Client, limitMs: number): Promise<number> {
  await insist(() => client.delete(Namespace, { name: namespace }).catch(ignoreNotFound));
  return (await goneWithin(limitMs, () => client.get(Namespace, { name: namespace }))) ? 0 : 1;
}

type Leftovers = Omit<ChurnReport, "podsLeft" | "namespacesLeft" | "refusedStatuses" | "complaints">;

/** The node cleans up after the object is gone, so it gets some time for that. */
async function countLeftovers(dataDir: string): Promise<Leftovers> {
  const end = Date.now() + 120_000;
  for (;;) {
    const left = await countOnce(dataDir);
    if (Object.values(left).every((count) => count === 0) || Date.now() > end) return left;
    await pause(500);
  }
}

async function countOnce(dataDir: string): Promise<Leftovers> {
  const paths = containerdPaths(dataDir);
  using runtime = new ContainerdRuntime({ address: `unix://${paths.socket}`, clock: systemClock, log: silentLog });
  const entries = (dir: string): number => (existsSync(dir) ? readdirSync(dir).length : 0);
  const [sandboxes, containers] = await Promise.all([runtime.listSandboxes(), runtime.listContainers()]);
  return {
    sandboxes: sandboxes.length,
    containers: containers.length,
    podDirectories: entries(path.join(dataDir, "pods")),
    logDirectories: entries(path.join(dataDir, "logs")),
    cgroups: podCgroups(paths.cgroupRoot),
    mounts: (await mountsUnder([path.join(dataDir, "pods"), path.join(dataDir, "memory/")])).length,
    networkNamespaces: (await mountsUnder([paths.runDir])).filter((place) => place.includes("/netns/")).length,
  };
}

/** The cgroups of pods below a node's own, in every controller's hierarchy or the unified one. */
function podCgroups(cgroupRoot: string): number {
  const mount = "/sys/fs/cgroup";
  const hierarchies = [mount, ...readdirSync(mount).map((controller) => path.join(mount, controller))];
  const classes = ["", "burstable", "besteffort"];
  const dirs = hierarchies.flatMap((one) => classes.map((qos) => path.join(one, cgroupRoot, "kubepods", qos)));
  const groups = dirs.filter((dir) => existsSync(dir)).flatMap((dir) => readdirSync(dir));
  return groups.filter((name) => name.startsWith("pod")).length;
}

function readLog(dataDir: string): Pick<ChurnReport, "refusedStatuses" | "complaints"> {
  const text = readFileSync(path.join(dataDir, "orlop.log"), "utf8");
  const lines = text.split("\n");
  const isRefusal = (line: string): boolean => /refused the status of a pod|may not be transitioned/.test(line);
  const isComplaint = (line: string): boolean => /"level":"error"/.test(line) || isRefusal(line);
  return { refusedStatuses: lines.filter(isRefusal).length, complaints: lines.filter(isComplaint).slice(0, 20) };
}
