import { tempDir } from "../boot.ts";
import { noTime, PerfCluster, sumOf, type Taken } from "./cluster.ts";
import { fillCluster } from "./fill-cluster.ts";
import { cpuOf, rateOf, renderRows } from "./report.ts";

interface Size {
  readonly nodes: number;
  /** Pods that have a node already. */
  readonly bound: number;
}

export const sizes: readonly Size[] = [
  { nodes: 500, bound: 0 },
  { nodes: 1000, bound: 0 },
  { nodes: 5000, bound: 0 },
  { nodes: 15_000, bound: 0 },
  { nodes: 15_000, bound: 150_000 },
];

interface Grown extends Size {
  readonly taken: Taken;
  readonly floor: Taken;
  readonly residentMiB: number;
}

const rounds = 3;
const each = 1000;

/** What a pod costs in clusters of several sizes, and how much of that is the scheduling. All pods are alike. */
export async function measureGrowth(size: Size): Promise<Grown> {
  const dir = tempDir();
  await fillCluster(dir.path, size);
  await using cluster = await PerfCluster.start(dir);
  for (const name of ["measured", "floor"]) await cluster.makeNamespace(name);
  await cluster.rest();
  const place = (namespace: string, round: string | number, spec: object): Promise<Taken> =>
    cluster.place(namespace, each, (n) => ({ namespace, name: `pod-${round}-${n}`, spec }));
  // The first pods find a server that has not compiled anything yet.
  await place("floor", "first", { schedulerName: "floor" });
  await cluster.withRest(() => place("measured", "first", {}));
  let taken = noTime;
  let floor = noTime;
  for (let round = 0; round < rounds; round++) {
    floor = sumOf(floor, await place("floor", round, { schedulerName: "floor" }));
    taken = sumOf(taken, await cluster.withRest(() => place("measured", round, {})));
  }
  return { ...size, taken, floor, residentMiB: cluster.usage.residentMiB };
}

export function renderGrowth(grown: readonly Grown[]): string {
  const head = ["nodes", "bound pods", "pods/s", "floor/s", "CPU/pod", "CPU/floor", "scheduling", "resident"];
  const rows = grown.map(({ nodes, bound, taken, floor, residentMiB }) => [
    nodes.toLocaleString("en"),
    bound.toLocaleString("en"),
    Math.round(rateOf(taken)).toLocaleString("en"),
    Math.round(rateOf(floor)).toLocaleString("en"),
    `${cpuOf(taken).toFixed(3)} ms`,
    `${cpuOf(floor).toFixed(3)} ms`,
    `${(cpuOf(taken) - cpuOf(floor)).toFixed(3)} ms`,
    `${Math.round(residentMiB).toLocaleString("en")} MiB`,
  ]);
  return renderRows([head, ...rows]);
}
