/** `npm run bench -- soak`: creates and deletes pods for an hour. What the process and the machine hold must not grow. */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { containerdPaths } from "#kubelet/containerd/paths.ts";
import { Connections, json } from "./lib/connections.ts";
import { type RunningCluster, startRunningCluster } from "./lib/running-cluster.ts";
import { usageOf } from "./lib/usage.ts";

/** What is counted, and by how much the last quarter may exceed the second one. */
const limits = {
  memoryMiB: 30,
  descriptors: 20,
  threads: 2,
  mounts: 4,
  namespaces: 2,
  cgroups: 40,
  files: 60,
  pods: 4,
} as const;
type Counts = Record<keyof typeof limits, number>;
const names = Object.keys(limits) as (keyof Counts)[];

export async function runSoak(args: readonly string[]): Promise<void> {
  const { values: flags } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: "string", default: "60" },
      width: { type: "string", default: "4" },
      every: { type: "string", default: "60" },
    },
  });
  // With the usual hour, events would only accumulate during the run.
  await using cluster = await startRunningCluster(["--event-ttl", "5m"]);
  using connections = new Connections(cluster, 2);
  const signal = AbortSignal.timeout(Number(flags.minutes) * 60_000);
  const soak: Soak = { connections, width: Number(flags.width), made: { pods: 0 } };
  const samples: Counts[] = [];
  process.stdout.write(`${["minute", "made", ...names].map((name) => name.padStart(12)).join("")}\n`);
  const start = performance.now();
  while (!signal.aborted) {
    await makePodsFor(soak, Number(flags.every) * 1000);
    await untilQuiet(cluster);
    const counts = await countAll(cluster, connections);
    samples.push(counts);
    const minute = ((performance.now() - start) / 60_000).toFixed(1);
    const row = [minute, soak.made.pods, ...names.map((name) => Math.round(counts[name]))];
    process.stdout.write(`${row.map((value) => `${value}`.padStart(12)).join("")}\n`);
  }
  process.stdout.write(renderGrowth(samples));
  if (grown(samples).length > 0) process.exitCode = 1;
}

interface Soak {
  readonly connections: Connections;
  readonly width: number;
  readonly made: { pods: number };
}

async function makePodsFor(soak: Soak, ms: number): Promise<void> {
  const signal = AbortSignal.timeout(ms);
  await Promise.all(Array.from({ length: soak.width }, (_, index) => makePods(soak, `soak-${index}`, signal)));
}

/** The API forgets a force-deleted pod before the node has cleaned it up. */
async function untilQuiet(cluster: RunningCluster): Promise<void> {
  for (let attempt = 0; attempt < 300 && countPodDirectories(cluster) > 0; attempt++) await sleep(100);
}

/** Creates one pod after another: some are deleted while they start, some run, some end by themselves. */
async function makePods({ connections, made }: Soak, prefix: string, signal: AbortSignal): Promise<void> {
  const pods = "/api/v1/namespaces/default/pods";
  while (!signal.aborted) {
    const round = made.pods++;
    const name = `${prefix}-${round}`;
    await connections.call({ method: "POST", path: pods, body: json(podCalled(name, round)) });
    await sleep((round * 137) % 1500);
    const grace = round % 5 === 0 ? "?gracePeriodSeconds=0" : "";
    await connections.call({ method: "DELETE", path: `${pods}/${name}${grace}` }).catch(() => {});
    await untilGone(connections, `${pods}/${name}`);
  }
}

function podCalled(name: string, round: number): unknown {
  const command = round % 3 === 0 ? ["sh", "-c", "echo done"] : ["sleep", "600"];
  const volumeMounts = [{ name: "scratch", mountPath: "/scratch" }];
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels: { app: "soak" } },
    spec: {
      restartPolicy: round % 2 === 0 ? "Never" : "Always",
      terminationGracePeriodSeconds: 1,
      containers: [{ name: "main", image: "orlop.dev/busybox:1", command, volumeMounts }],
      volumes: [{ name: "scratch", emptyDir: round % 4 === 0 ? { medium: "Memory" } : {} }],
    },
  };
}

async function untilGone(connections: Connections, path: string): Promise<void> {
  for (let attempt = 0; attempt < 1200; attempt++) {
    const isThere = await connections.call({ method: "GET", path }).then(
      () => true,
      () => false,
    );
    if (!isThere) return;
    await sleep(50);
  }
  throw new Error(`${path} was not deleted in time`);
}

async function countAll(cluster: RunningCluster, connections: Connections): Promise<Counts> {
  const pid = cluster.pid();
  const entries = (folder: string): number => readdirSync(folder).length;
  const { runDir, cgroupRoot } = containerdPaths(cluster.dataDir);
  const mounts = readFileSync("/proc/self/mounts", "utf8").split("\n");
  const ours = mounts.filter((line) => line.includes(cluster.dataDir) || line.includes(runDir));
  const list = await connections.call({ method: "GET", path: "/api/v1/pods" });
  return {
    memoryMiB: usageOf(pid).residentMiB,
    descriptors: entries(`/proc/${pid}/fd`),
    threads: entries(`/proc/${pid}/task`),
    mounts: ours.length,
    namespaces: ours.filter((line) => line.startsWith("nsfs ") || line.startsWith("proc ")).length,
    cgroups: ["", "memory/"].reduce((sum, kind) => sum + countFilesIn(`/sys/fs/cgroup/${kind}${cgroupRoot}`), 0),
    files: countFiles(cluster.dataDir),
    pods: (JSON.parse(list.toString()) as { items: unknown[] }).items.length,
  };
}

/** Counts files in the data directory, except containerd's content, which has its own garbage collector. */
function countFiles(folder: string): number {
  let count = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    count++;
    if (entry.isDirectory() && entry.name !== "containerd") count += countFilesIn(path.join(folder, entry.name));
  }
  return count;
}

function countFilesIn(folder: string): number {
  try {
    return countFiles(folder);
  } catch {
    return 0; // It was removed meanwhile.
  }
}

const countPodDirectories = ({ dataDir }: RunningCluster): number => countFilesIn(path.join(dataDir, "pods"));

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** The first quarter warms up; the second and the last are compared. */
function growth(samples: readonly Counts[], name: keyof Counts): number {
  const quarter = Math.max(1, Math.floor(samples.length / 4));
  const of = (part: readonly Counts[]): number => mean(part.map((counts) => counts[name]));
  return of(samples.slice(-quarter)) - of(samples.slice(quarter, 2 * quarter));
}

const grown = (samples: readonly Counts[]): (keyof Counts)[] =>
  names.filter((name) => growth(samples, name) > limits[name]);

function renderGrowth(samples: readonly Counts[]): string {
  const lines = names.map((name) => `  ${name.padEnd(12)} ${growth(samples, name).toFixed(1).padStart(8)}`);
  const bad = grown(samples);
  const verdict = bad.length === 0 ? "flat" : `grown: ${bad.join(", ")}`;
  return `\nfrom the second quarter to the last:\n${lines.join("\n")}\n${verdict}\n`;
}
