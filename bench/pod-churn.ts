/**
 * Counts what is left of pods that are deleted within their first second on a real node, while Orlop is killed repeatedly.
 * `npm run bench -- pod-churn --pods 2000 --kills 100`. Needs root. The test pod-churn.machine.test.ts is the short form.
 */
import { parseArgs } from "node:util";
import { churnPods } from "../test/support/pod-churn.ts";

export async function runPodChurn(args: readonly string[]): Promise<void> {
  const { values: flags } = parseArgs({
    args: [...args],
    options: {
      pods: { type: "string", default: "2000" },
      kills: { type: "string", default: "100" },
      together: { type: "string", default: "4" },
      seed: { type: "string", default: "1" },
      "limit-ms": { type: "string", default: "120000" },
    },
  });

  const start = performance.now();
  const { complaints, ...counts } = await churnPods({
    pods: Number(flags.pods),
    kills: Number(flags.kills),
    together: Number(flags.together),
    seed: Number(flags.seed),
    limitMs: Number(flags["limit-ms"]),
    progress: (text) => process.stderr.write(`${text}\n`),
  });
  const seconds = Math.round((performance.now() - start) / 1000);
  process.stdout.write(`${flags.pods} pods, ${flags.kills} kills, seed ${flags.seed}, ${seconds} s\n`);
  for (const [name, count] of Object.entries(counts)) process.stdout.write(`${String(count).padStart(6)}  ${name}\n`);
  for (const line of complaints) process.stdout.write(`${line}\n`);
  process.exitCode = Object.values(counts).some((count) => count > 0) ? 1 : 0;
}
