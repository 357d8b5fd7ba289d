/**
 * What a cluster costs that has many workloads and nothing to do, on simulated nodes and real time in one process:
 * `npm run bench -- idle-workloads --each 100 --seconds 60`. `--profile FILE` writes what used the CPU.
 */
import { writeFile } from "node:fs/promises";
import { Session } from "node:inspector/promises";
import { parseArgs } from "node:util";
import { DaemonSet } from "#api/apps/daemon-set.ts";
import { Deployment } from "#api/apps/deployment.ts";
import { StatefulSet } from "#api/apps/stateful-set.ts";
import { HorizontalPodAutoscaler } from "#api/autoscaling/horizontal-pod-autoscaler.ts";
import { CronJob } from "#api/batch/cron-job.ts";
import { Job } from "#api/batch/job.ts";
import { PodDisruptionBudget } from "#api/policy/pod-disruption-budget.ts";
import { type Client } from "#client/client.ts";
import { systemClock } from "#lib/async/clock.ts";
import { startCluster } from "#testing/start-cluster.ts";

export async function runIdleWorkloads(args: readonly string[]): Promise<void> {
  const { values: flags } = parseArgs({
    args: [...args],
    options: {
      each: { type: "string", default: "100" },
      seconds: { type: "string", default: "60" },
      nodes: { type: "string", default: "4" },
      profile: { type: "string" },
    },
  });
  const usage = () => ({ cpuMillis: 10, memoryBytes: 1_000_000 });
  const capacity = { cpu: "100", memory: "100Gi", pods: "1000" };
  await using cluster = await startCluster({
    clock: "system",
    nodes: Number(flags.nodes),
    simulation: { hooks: { usage }, capacity },
  });
  for (let index = 0; index < Number(flags.each); index++) await createAll(cluster.client, index);
  await cluster.settle({ quietMs: 5_000 });
  // The first metrics of new pods come within the first minute.
  await systemClock.sleep(60_000);
  const profile = flags.profile ? await startProfile() : undefined;
  const before = process.cpuUsage();
  const revision = cluster.store.revision;
  await systemClock.sleep(Number(flags.seconds) * 1000);
  const { user, system } = process.cpuUsage(before);
  const share = (user + system) / 10_000 / Number(flags.seconds);
  const writes = cluster.store.revision - revision;
  console.log(
    `${flags.each} of each workload: ${share.toFixed(2)} % of a core, ${writes} writes in ${flags.seconds} s`,
  );
  if (flags.profile && profile) await writeFile(flags.profile, await profile());
}

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
