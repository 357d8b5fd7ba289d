/**
 * Decisions per second, without the writes: `./orlop run bench/scheduler.ts`. Alike: all pods come from one template.
 * Unlike: every pod has its own requests. Full: alike, and no node has room. Spread and apart: alike, with rules about the other pods.
 */
import { type Node } from "#api/core/node.ts";
import { type Pod } from "#api/core/pod.ts";
import { type InputOf } from "#api/resource.ts";
import { seededRandom } from "#lib/data/random.ts";
import { Decider } from "#scheduler/decide.ts";
import { Snapshot } from "#scheduler/snapshot.ts";
import { asking, makeNode, makePod, testProfile } from "#testing/scheduling.ts";

const forMs = 2000;

function main(): void {
  for (const count of [500, 5000]) {
    const nodes = Array.from({ length: count }, (_, n) => nodeOf(n));
    const small = () => asking({ cpu: "10m", memory: "16Mi" });
    report(`alike   ${count} nodes`, nodes, small);
    report(`unlike  ${count} nodes`, nodes, (n) => asking({ cpu: "10m", memory: `${16 * 2 ** 20 + n}` }));
    report(`full    ${count} nodes`, nodes, () => asking({ cpu: "64", memory: "16Mi" }));
    report(`spread  ${count} nodes`, nodes, small, { topologySpreadConstraints: [overZones] });
    report(`apart   ${count} nodes`, nodes, small, { affinity: { podAntiAffinity: preferred } });
  }
}

const labels = { app: "web" };
const labelSelector = { matchLabels: labels };
const overZones = {
  topologyKey: "topology.kubernetes.io/zone",
  maxSkew: 5,
  whenUnsatisfiable: "DoNotSchedule" as const,
  labelSelector,
};
const preferred = {
  preferredDuringSchedulingIgnoredDuringExecution: [
    { weight: 10, podAffinityTerm: { topologyKey: "kubernetes.io/hostname", labelSelector } },
  ],
};

const nodeOf = (n: number): Node =>
  makeNode(`node-${n}`, {
    labels: { "kubernetes.io/hostname": `node-${n}`, "topology.kubernetes.io/zone": `z${n % 3}` },
    status: { allocatable: { cpu: "32", memory: "256Gi", pods: "110" } },
  });

function report(
  name: string,
  nodes: readonly Node[],
  containerOf: (n: number) => ReturnType<typeof asking>,
  spec: Partial<InputOf<Pod>["spec"]> = {},
): void {
  const snapshot = new Snapshot();
  for (const node of nodes) snapshot.setNode(node);
  const decider = new Decider(testProfile(), snapshot, seededRandom(1));
  const pods = Array.from({ length: 2000 }, (_, n) =>
    makePod(`pod-${n}`, { containers: [containerOf(n)], labels, ...spec }),
  );
  const start = performance.now();
  let done = 0;
  let spentMs = 0;
  while (spentMs < forMs) {
    for (const pod of pods) place(snapshot, pod, decider.decide(pod).node, done++);
    spentMs = performance.now() - start;
  }
  const rate = Math.round((done * 1000) / spentMs).toLocaleString("en");
  process.stdout.write(`${name}  ${rate} decisions/s, ${((spentMs * 1000) / done).toFixed(1)} µs each\n`);
}

/** In rounds: a pod that is placed again frees its earlier place. */
function place(snapshot: Snapshot, pod: Pod, node: string | undefined, round: number): void {
  if (node !== undefined) snapshot.setPod(`pod-${round % 20_000}`, { ...pod, spec: { ...pod.spec, nodeName: node } });
}

main();
