/**
 * Runs load on our own server and shows it beside upstream's figures. `npm run bench -- --help` lists the flags. The client
 * shares the machine with the server: throughput depends on both, but the CPU time is only the server's.
 */
import { parseArgs } from "node:util";
import { type Boot, measureBoot, tempDir } from "./boot.ts";
import { Connections, json } from "./lib/connections.ts";
import { fillCompileCache, type ServerProcess, startServer } from "./lib/server-process.ts";
import { threadsOf, usageOf } from "./lib/usage.ts";
import { churn, create, get, list } from "./load/requests.ts";
import { type Scenario, type Target } from "./load/scenario.ts";
import { deploy, schedule } from "./load/schedule.ts";
import { measureSlowWatch, renderSlowWatch } from "./load/slow-watch.ts";
import { watch } from "./load/watch.ts";
import { type Line, type Report, renderReport } from "./report.ts";
import { type CreateSplit, splitCreate, type ThreadTimes } from "./split-create.ts";

const scenarios: readonly Scenario[] = [create, get, list, churn, watch, schedule, deploy];

/** Benches with their own flags: `npm run bench -- NAME …`. Each is imported when it is used. */
const others: Record<string, (args: readonly string[]) => Promise<void>> = {
  admission: async (args) => (await import("./admission.ts")).runAdmission(args),
  attacks: async (args) => (await import("./attacks/run.ts")).runAttacks(args),
  crds: async (args) => (await import("./crds.ts")).runCrds(args),
  differ: async (args) => (await import("./differ/run.ts")).runDiffer(args),
  "etcd-kills": async (args) => (await import("./etcd-kills.ts")).runEtcdKills(args),
  "example-seeds": async (args) => (await import("./example-seeds.ts")).runExampleSeeds(args),
  expressions: async () => (await import("./expressions.ts")).runExpressions(),
  fairness: async (args) => (await import("./fairness.ts")).runFairness(args),
  gates: async (args) => (await import("./gates.ts")).runGates(args),
  network: async () => (await import("./network.ts")).runNetwork(),
  "package-matrix": async (args) => (await import("./package-matrix.ts")).runPackageMatrix(args),
  "pod-churn": async (args) => (await import("./pod-churn.ts")).runPodChurn(args),
  "idle-workloads": async (args) => (await import("./idle-workloads.ts")).runIdleWorkloads(args),
  "scheduler-perf": async (args) => (await import("./scheduler-perf/run.ts")).runSchedulerPerf(args),
  soak: async (args) => (await import("./soak.ts")).runSoak(args),
  workloads: async (args) => (await import("./workloads.ts")).runWorkloads(args),
};
const [first = "", ...restOfArgs] = process.argv.slice(2);
const other = others[first];

const { values: flags } = parseArgs({
  args: other ? [] : process.argv.slice(2),
  options: {
    json: { type: "boolean", default: false },
    only: { type: "string", default: [...scenarios.map(({ name }) => name), "boot", "split"].join(",") },
    pods: { type: "string", default: "5000" },
    nodes: { type: "string", default: "500" },
    watchers: { type: "string", default: "200" },
    connections: { type: "string", default: "8" },
    width: { type: "string", default: "64" },
    objects: { type: "string", default: "50000" },
    "idle-ms": { type: "string", default: "30000" },
    store: { type: "string", default: "sqlite" },
    seconds: { type: "string", default: "30" },
    help: { type: "boolean", default: false },
  },
});

interface LoadReport {
  readonly lines: readonly Line[];
  readonly residentWithPodsMiB?: number;
  readonly threads?: ThreadTimes;
}

async function main(): Promise<void> {
  const wanted = new Set(flags.only.split(","));
  await fillCompileCache();
  if (wanted.has("slow-watch")) await runSlowWatch();
  if (wanted.size > (wanted.has("slow-watch") ? 1 : 0)) await runLoad(wanted);
}

/** Takes more than a minute, so it runs only on request. */
async function runSlowWatch(): Promise<void> {
  const report = await measureSlowWatch({ seconds: Number(flags.seconds), quick: 50, slow: 50 });
  process.stdout.write(flags.json ? `${JSON.stringify(report, undefined, 2)}\n` : renderSlowWatch(report));
}

async function runLoad(wanted: ReadonlySet<string>): Promise<void> {
  const boot: Boot | undefined = wanted.has("boot")
    ? await measureBoot({ objects: Number(flags.objects), idleMs: Number(flags["idle-ms"]) })
    : undefined;
  const { threads, ...load } = await measureLoad(scenarios.filter(({ name }) => wanted.has(name)));
  const split: CreateSplit | undefined = wanted.has("split") && threads ? await splitCreate(threads) : undefined;
  const report: Report = { ...load, ...(boot ? { boot } : {}), ...(split ? { split } : {}) };
  process.stdout.write(flags.json ? `${JSON.stringify(report, undefined, 2)}\n` : renderReport(report));
}

async function measureLoad(chosen: readonly Scenario[]): Promise<LoadReport> {
  using dir = tempDir();
  await using server = await startServer(dir.path, ["--store", flags.store]);
  using connections = new Connections(server, Number(flags.connections));
  const target = await prepareTarget(server, connections);
  const lines: Line[] = [];
  let threads: ThreadTimes | undefined;
  for (const scenario of chosen) {
    await scenario.prepare?.(target);
    const before = threadsOf(server.pid);
    const line = await measure(scenario, target);
    lines.push(line);
    if (scenario === create) threads = threadTimes(before, threadsOf(server.pid), line.count);
  }
  const all = lines.findLast(({ name }) => name === watch.name);
  return { lines, ...(all ? { residentWithPodsMiB: all.residentMiB } : {}), ...(threads ? { threads } : {}) };
}

async function prepareTarget(server: ServerProcess, connections: Connections): Promise<Target> {
  const namespace = "bench";
  const body = json({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  await connections.call({ method: "POST", path: "/api/v1/namespaces", body });
  await untilThere(connections, `/api/v1/namespaces/${namespace}/serviceaccounts/default`);
  const { pods, nodes, watchers, width } = flags;
  return {
    server,
    connections,
    namespace,
    pods: Number(pods),
    nodes: Number(nodes),
    watchers: Number(watchers),
    width: Number(width),
  };
}

/** Waits for the service account that a controller creates in every namespace, because pods need it. */
async function untilThere(connections: Connections, path: string): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      await connections.call({ method: "GET", path });
      return;
    } catch (error) {
      if (attempt > 1000) throw error;
    }
  }
}

async function measure({ name, unit, run }: Scenario, target: Target): Promise<Line> {
  const { pid } = target.server;
  const before = usageOf(pid);
  const start = performance.now();
  const { count, latencies } = await run(target);
  const seconds = (performance.now() - start) / 1000;
  const { cpuMs, residentMiB } = usageOf(pid);
  const each = { perSecond: count / seconds, cpuMs: (cpuMs - before.cpuMs) / count, residentMiB };
  return { name, unit, count, ...each, ...latencies };
}

/** Microseconds of CPU time per operation. */
function threadTimes(before: Map<string, number>, after: Map<string, number>, count: number): ThreadTimes {
  const usOf = (name: string): number => (((after.get(name) ?? 0) - (before.get(name) ?? 0)) * 1000) / count;
  const total = [...after.keys()].reduce((sum, name) => sum + usOf(name), 0);
  return { total, disk: usOf("WorkerThread") };
}

if (other) await other(restOfArgs);
else if (flags.help) {
  process.stdout.write("npm run bench -- [--json] [--only create,get,list,churn,watch,schedule,deploy,boot,split]\n");
  process.stdout.write(
    "  [--pods N] [--nodes N] [--watchers N] [--connections N] [--width N] [--store sqlite|memory]\n",
  );
  process.stdout.write("  [--objects N] [--idle-ms N]\n");
  process.stdout.write("npm run bench -- admission [--objects N]\n");
  process.stdout.write("npm run bench -- attacks [--only NAME,NAME] [--seconds N] [--rest N] [--json]\n");
  process.stdout.write("npm run bench -- crds [--definitions N] [--objects N] [--turns]\n");
  process.stdout.write(
    "npm run bench -- fairness [--clients N] [--strangers N] [--pods N] [--seconds N] [--unfair] [--json]\n",
  );
  process.stdout.write(
    "npm run bench -- differ --upstream KUBECONFIG [--seed N] [--per-kind N] [--only TEXT] [--show N]\n",
  );
  process.stdout.write("npm run bench -- pod-churn [--pods N] [--kills N] [--together N] [--seed N]\n");
  process.stdout.write("npm run bench -- scheduler-perf [--only NAME,NAME] [--nodes N] [--divisor N]\n");
  process.stdout.write("npm run bench -- soak [--minutes N] [--width N] [--every SECONDS]\n");
  process.stdout.write("npm run bench -- --only slow-watch [--seconds N]\n");
} else await main();
