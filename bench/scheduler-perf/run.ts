import { parseArgs } from "node:util";
import { fillCompileCache } from "../lib/server-process.ts";
import { sizes as clusterSizes, measureGrowth, renderGrowth } from "./growth.ts";
import { measureWorkload, type Result } from "./measure.ts";
import { renderResults } from "./report.ts";
import { workloads } from "./workloads.ts";

/**
 * Upstream's scheduler_perf workloads against our server, from a pod that is created through the API to one that is bound
 * through the API: `npm run bench -- scheduler-perf`.
 */
export async function runSchedulerPerf(args: readonly string[]): Promise<void> {
  const { values: flags } = parseArgs({
    args: [...args],
    options: {
      only: { type: "string", default: workloads.map(({ name }) => name).join(",") },
      nodes: { type: "string", default: "5000" },
      divisor: { type: "string", default: "1" },
      growth: { type: "boolean", default: false },
    },
  });
  await fillCompileCache();
  if (flags.growth) return await runGrowth();
  const wanted = flags.only.split(",");
  const sizes = { nodes: Number(flags.nodes), divisor: Number(flags.divisor) };
  const results: Result[] = [];
  for (const workload of workloads.filter(({ name }) => wanted.some((part) => name.startsWith(part)))) {
    const result = await measureWorkload(workload, sizes);
    process.stdout.write(renderResults([result]));
    results.push(result);
  }
  process.stdout.write(`\n${renderResults(results)}`);
}

/** `--growth`: what a pod costs in small and large clusters. */
async function runGrowth(): Promise<void> {
  const grown: Awaited<ReturnType<typeof measureGrowth>>[] = [];
  for (const size of clusterSizes) {
    grown.push(await measureGrowth(size));
    process.stdout.write(renderGrowth(grown.slice(-1)));
  }
  process.stdout.write(`\n${renderGrowth(grown)}`);
}
