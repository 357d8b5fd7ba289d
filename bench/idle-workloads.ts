/**
 * What a cluster costs that has many workloads and nothing to do, on simulated nodes and real time in one process:
 * `npm run bench -- idle-workloads --each 100 --seconds 60`. `--profile FILE` writes what used the CPU. With `--server` it
 * is an `orlop server` in a process of its own.
 */
import { writeFile } from "node:fs/promises";
import { Session } from "node:inspector/promises";
import path from "node:path";
import { parseArgs } from "node:util";
import { DaemonSet } from "#api/apps/daemon-set.ts";
import { Deployment } from "#api/apps/deployment.ts";
import { StatefulSet } from "#api/apps/stateful-set.ts";
import { HorizontalPodAutoscaler } from "#api/autoscaling/horizontal-pod-autoscaler.ts";
import { CronJob } from "#api/batch/cron-job.ts";
import { Job } from "#api/batch/job.ts";
import { Namespace } from "#api/core/namespace.ts";
import { PodDisruptionBudget } from "#api/policy/pod-disruption-budget.ts";
import { type Client } from "#client/client.ts";
import { httpClient } from "#client/transport/http.ts";
import { systemClock } from "#lib/async/clock.ts";
import { silentLog } from "#lib/process/log.ts";
import { startCluster } from "#testing/start-cluster.ts";
import { tempDir } from "./boot.ts";
import { startServer } from "./lib/server-process.ts";
import { usageOf } from "./lib/usage.ts";

export async function runIdleWorkloads(args: readonly string[]): Promise<void> {
  const { values: flags } = parseArgs({
    args: [...args],
    options: {
      each: { type: "string", default: "100" },
      seconds: { type: "string", default: "60" },
      nodes: { type: "string", default: "4" },
      server: { type: "boolean", default: false },
      profile: { type: "string" },
    },
  });
  await using subject = await (flags.server ? openServer(flags.nodes) : openCluster(Number(flags.nodes)));
  for (let index = 0; index < Number(flags.each); index++) await createAll(subject.client, index);
  await subject.settle();
  // The first metrics of new pods come within the first minute.
  await systemClock.sleep(60_000);
  const profile = flags.profile && !flags.server ? await startProfile() : undefined;
  const before = { cpuMs: subject.cpuMs(), revision: await subject.revision() };
  await systemClock.sleep(Number(flags.seconds) * 1000);
  const share = (subject.cpuMs() - before.cpuMs) / 10 / Number(flags.seconds);
  const writes = (await subject.revision()) - before.revision;
  console.log(
    `${flags.each} of each workload: ${share.toFixed(2)} % of a core, ${writes} writes in ${flags.seconds} s`,
  );
  if (flags.profile && profile) await writeFile(flags.profile, await profile());
}

/** What is measured. */
interface Subject extends AsyncDisposable {
  readonly client: Client;
  /** CPU time of its process so far. */
  cpuMs(): number;
  revision(): number | Promise<number>;
  /** Resolves when it has brought about what was created. */
  settle(): Promise<void>;
}

const capacity = { cpu: "100", memory: "100Gi", pods: "1000" };

async function openCluster(nodes: number): Promise<Subject> {
  const usage = () => ({ cpuMillis: 10, memoryBytes: 1_000_000 });
  const cluster = await startCluster({ clock: "system", nodes, simulation: { hooks: { usage }, capacity } });
  return {
    client: cluster.client,
    cpuMs() {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1000;
    },
    revision: () => cluster.store.revision,
    settle: () => cluster.settle({ quietMs: 5_000 }),
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  };
}

async function openServer(nodes: string): Promise<Subject> {
  const ends = new AsyncDisposableStack();
  const dir = ends.use(tempDir());
  const file = path.join(dir.path, "nodes.yaml");
  await writeFile(file, JSON.stringify({ capacity, pods: [{ usage: { cpu: "10m", memory: "1000000" } }] }));
  const { pid, url, tls } = ends.use(await startServer(dir.path, ["--nodes", nodes, "--nodes-file", file]));
  const client = ends.use(httpClient({ server: url, tls }, { clock: systemClock, log: silentLog }));
  const revision = async () => Number((await client.list(Namespace)).metadata.resourceVersion);
  return {
    client,
    cpuMs: () => usageOf(pid).cpuMs,
    revision,
    async settle() {
      for (let before = -1, now = await revision(); now > before + fewWrites; now = await revision()) {
        before = now;
        await systemClock.sleep(5_000);
      }
    },
    [Symbol.asyncDispose]: () => ends.disposeAsync(),
  };
}

/** Leases of a few nodes in five seconds. */
const fewWrites = 20;

async function createAll(client: Client, index: number): Promise<void> {
  const labels = { app: `app-${index}` };
  const selector = { matchLabels: labels };
  const of = (name: string) => ({ metadata: { namespace: "default", name: `${name}-${index}` } });
  const templateOf = (kind: string) => ({
    metadata: { labels: { ...labels, kind } },
    spec: { containers: [{ name: "main", image: "main:1", resources: { requests: { cpu: "20m" } } }] },
  });
  const once = { ...templateOf("job"), spec: { ...templateOf("job").spec, restartPolicy: "Never" as const } };
  const chosen = (kind: string) => ({ selector: { matchLabels: { ...labels, kind } }, template: templateOf(kind) });
  await client.create(Deployment, { ...of("deployment"), spec: chosen("deployment") });
  await client.create(StatefulSet, { ...of("set"), spec: { ...chosen("set"), serviceName: "none" } });
  await client.create(DaemonSet, { ...of("daemon"), spec: chosen("daemon") });
  await client.create(Job, { ...of("job"), spec: { template: once } });
  const jobTemplate = { spec: { template: once } };
  await client.create(CronJob, { ...of("cron"), spec: { schedule: "0 0 1 1 *", jobTemplate } });
  await client.create(PodDisruptionBudget, { ...of("budget"), spec: { selector, maxUnavailable: 1 } });
  const target = { type: "Utilization", averageUtilization: 50 };
  await client.create(HorizontalPodAutoscaler, {
    ...of("autoscaler"),
    spec: {
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: `deployment-${index}` },
      maxReplicas: 3,
      metrics: [{ type: "Resource", resource: { name: "cpu", target } }],
    },
  });
}

async function startProfile(): Promise<() => Promise<string>> {
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.start");
  return async () => JSON.stringify((await session.post("Profiler.stop")).profile);
}
