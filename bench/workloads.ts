/**
 * The cost of a pod in Jobs and in StatefulSets of growing size, which must not grow with them, on simulated nodes and
 * virtual time in one process: `npm run bench -- workloads --job 1000,10000 --set 100,1000`.
 */
import { parseArgs } from "node:util";
import { StatefulSet } from "#api/apps/stateful-set.ts";
import { Job } from "#api/batch/job.ts";
import { isFinished } from "#api/batch/job-status.ts";
import { startCluster, type TestCluster } from "#testing/start-cluster.ts";

const nodes = 100;
const ref = { namespace: "default", name: "bench" };
const labels = { app: "bench" };
const containers = [{ name: "main", image: "main:1" }];
const dayMs = 86_400_000;

export async function runWorkloads(args: readonly string[]): Promise<void> {
  const { values: flags } = parseArgs({
    args: [...args],
    options: { job: { type: "string", default: "1000,10000" }, set: { type: "string", default: "100,1000" } },
  });
  for (const size of sizesIn(flags.job)) await measure("Job", size, runJob);
  for (const size of sizesIn(flags.set)) await measure("StatefulSet", size, runSet);
}

const sizesIn = (flag: string): number[] => flag.split(",").filter(Boolean).map(Number);

async function measure(
  kind: string,
  pods: number,
  run: (cluster: TestCluster, pods: number) => Promise<void>,
): Promise<void> {
  const hooks = { ending: () => ({ afterMs: 1, exitCode: 0 }) };
  await using cluster = await startCluster({ nodes, ...(kind === "Job" ? { simulation: { hooks } } : {}) });
  await cluster.settle();
  const before = process.cpuUsage();
  const revision = cluster.store.revision;
  await run(cluster, pods);
  const { user, system } = process.cpuUsage(before);
  const writes = (cluster.store.revision - revision) / pods;
  const ms = (user + system) / 1000 / pods;
  console.log(`${kind.padEnd(12)} ${pods} pods: CPU ${ms.toFixed(2)} ms and ${writes.toFixed(1)} writes a pod`);
}

/** All pods end as soon as they have started. */
async function runJob({ client, informers, until }: TestCluster, pods: number): Promise<void> {
  const template = { spec: { restartPolicy: "Never" as const, containers } };
  await client.create(Job, { metadata: ref, spec: { completions: pods, parallelism: 500, template } });
  const jobs = informers.of(Job);
  await until(() => isFinished(jobs.get(ref)?.status ?? {}), dayMs);
}

async function runSet({ client, informers, until }: TestCluster, pods: number): Promise<void> {
  const template = { metadata: { labels }, spec: { containers } };
  const selector = { matchLabels: labels };
  await client.create(StatefulSet, {
    metadata: ref,
    spec: { replicas: pods, podManagementPolicy: "Parallel", serviceName: "bench", selector, template },
  });
  const sets = informers.of(StatefulSet);
  await until(() => sets.get(ref)?.status.readyReplicas === pods, dayMs);
}
