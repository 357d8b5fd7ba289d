/** Measures the time from a bound pod to readiness, and from deletion to removal, on a real node. Needs root. */

import { parseArgs } from "node:util";
import { isReady } from "#api/core/pod/pod-state.ts";
import { Pod } from "#api/core/pod.ts";
import { jsonLog, silentLog } from "#lib/process/log.ts";
import { busyboxImage, realNodeName, startRealNode } from "#testing/real-node.ts";

const { values: flags } = parseArgs({
  options: {
    rounds: { type: "string", default: "10" },
    together: { type: "string", default: "30" },
    verbose: { type: "boolean", default: false },
  },
});

const script = "trap 'exit 0' TERM; while :; do sleep 1 & wait $!; done";
const spec = {
  nodeName: realNodeName,
  terminationGracePeriodSeconds: 1,
  containers: [{ name: "main", image: busyboxImage, command: ["sh", "-c", script] }],
};
const log = flags.verbose ? jsonLog((line) => process.stderr.write(line), "debug") : silentLog;
const report = (name: string, times: readonly number[]) => {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number) => Math.round(sorted[Math.floor(sorted.length * share)] ?? 0);
  console.log(`${name}: p50 ${at(0.5)} ms, p90 ${at(0.9)} ms, max ${Math.round(sorted.at(-1) ?? 0)} ms`);
};

await using node = await startRealNode({ log });
const ready: number[] = [];
const gone: number[] = [];
for (let round = 0; round < Number(flags.rounds); round++) {
  const name = `one-${round}`;
  const start = performance.now();
  await node.client.create(Pod, { metadata: { namespace: "default", name }, spec });
  await node.podWhen(name, isReady);
  const middle = performance.now();
  await node.client.delete(Pod, { namespace: "default", name });
  await node.podGone(name);
  ready.push(middle - start);
  gone.push(performance.now() - middle);
}
report("bound to ready", ready);
report("deleted to gone", gone);

const count = Number(flags.together);
if (count > 0) {
  const names = Array.from({ length: count }, (_, n) => `many-${n}`);
  const start = performance.now();
  await Promise.all(names.map((name) => node.client.create(Pod, { metadata: { namespace: "default", name }, spec })));
  await Promise.all(names.map((name) => node.podWhen(name, isReady, 60_000)));
  console.log(`${count} concurrently, ready: ${Math.round(performance.now() - start)} ms`);
  const middle = performance.now();
  await Promise.all(names.map((name) => node.client.delete(Pod, { namespace: "default", name })));
  await Promise.all(names.map((name) => node.podGone(name, 60_000)));
  console.log(`${count} concurrently, gone: ${Math.round(performance.now() - middle)} ms`);
}
