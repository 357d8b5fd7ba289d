import { tempDir } from "../boot.ts";
import { noTime, PerfCluster, sumOf, type Taken } from "./cluster.ts";
import { fillCluster } from "./fill-cluster.ts";
import { claimTemplateOf, deviceClass, podOf, sliceOf, volumeOf } from "./objects.ts";
import { type Workload } from "./workloads.ts";

export interface Result {
  readonly workload: Workload;
  readonly nodes: number;
  readonly taken: Taken;
  /** The same pods, created and bound without being scheduled, in turns with the others. */
  readonly floor: Taken;
  readonly residentMiB: number;
}

export interface Sizes {
  readonly nodes: number;
  /** Divides the number of pods, for a quick look. */
  readonly divisor: number;
}

/** Measured pods and those of the floor take turns, because other work on the machine disturbs both. */
const rounds = 3;
const floorPods = 1500;
const devicesPerNode = 10;

export async function measureWorkload(workload: Workload, sizes: Sizes): Promise<Result> {
  const nodes = workload.nodes ?? sizes.nodes;
  const dir = tempDir();
  await fillCluster(dir.path, { nodes, ...(workload.nodeOf ? { nodeOf: workload.nodeOf } : {}) });
  await using cluster = await PerfCluster.start(dir);
  await prepare(cluster, workload, nodes, sizes.divisor);
  await placeInitial(cluster, workload, sizes.divisor);
  await cluster.rest();
  let taken = noTime;
  let floor = noTime;
  // Never more in all than are asked for: some workloads fill every node.
  const each = Math.max(1, Math.floor(workload.measured / sizes.divisor / rounds));
  for (let round = 0; round < rounds; round++) {
    floor = sumOf(floor, await measureFloor(cluster, workload, round));
    taken = sumOf(taken, await cluster.withRest(() => measureRound(cluster, workload, { round, each })));
  }
  floor = sumOf(floor, await measureFloor(cluster, workload, rounds));
  return { workload, nodes, taken, floor, residentMiB: cluster.usage.residentMiB };
}

async function prepare(cluster: PerfCluster, workload: Workload, nodes: number, divisor: number): Promise<void> {
  const { extra, namespaces = 1, namespaceLabels, initial, measured } = workload;
  await cluster.create("/apis/scheduling.k8s.io/v1/priorityclasses", priorityClass);
  for (let n = 0; n < namespaces; n++) await cluster.makeNamespace(`sched-${n}`, namespaceLabels);
  await cluster.makeNamespace("measured", namespaceLabels);
  await cluster.makeNamespace("floor");
  await cluster.makeNamespace("churn");
  if (extra === "devices") await prepareDevices(cluster, nodes);
  if (extra !== "volumes") return;
  await prepareVolumes(cluster, "sched-0", Math.ceil(initial / divisor));
  await prepareVolumes(cluster, "measured", Math.ceil(measured / divisor) + rounds);
}

const priorityClass = {
  apiVersion: "scheduling.k8s.io/v1",
  kind: "PriorityClass",
  metadata: { name: "high" },
  value: 10,
};

async function prepareDevices(cluster: PerfCluster, nodes: number): Promise<void> {
  const path = "/apis/resource.k8s.io/v1";
  await cluster.create(`${path}/deviceclasses`, deviceClass);
  for (const namespace of ["sched-0", "measured"]) {
    await cluster.create(`${path}/namespaces/${namespace}/resourceclaimtemplates`, claimTemplateOf(namespace));
  }
  await cluster.createAll(`${path}/resourceslices`, nodes, (n) => sliceOf(`node-${n}`, devicesPerNode));
}

async function prepareVolumes(cluster: PerfCluster, namespace: string, count: number): Promise<void> {
  const name = (n: number): string => `${namespace}-${n}`;
  await cluster.createAll("/api/v1/persistentvolumes", count, (n) => volumeOf(namespace, name(n)).volume);
  const claims = `/api/v1/namespaces/${namespace}/persistentvolumeclaims`;
  await cluster.createAll(claims, count, (n) => volumeOf(namespace, name(n)).claim);
  await cluster.untilAllBound(claims);
}

async function placeInitial(cluster: PerfCluster, workload: Workload, divisor: number): Promise<void> {
  const { namespaces = 1, initial, initialPod, measuredPod } = workload;
  const count = Math.ceil(initial / divisor / namespaces);
  const parts = initialPod?.() ?? measuredPod?.("green") ?? {};
  for (let at = 0; at < namespaces; at++) {
    const namespace = `sched-${at}`;
    await cluster.place(namespace, count, (n) => ({
      ...withExtra(parts, workload, `${namespace}-${n}`),
      namespace,
      name: `initial-${n}`,
    }));
  }
}

async function measureRound(
  cluster: PerfCluster,
  workload: Workload,
  { round, each }: { readonly round: number; readonly each: number },
): Promise<Taken> {
  using _churn = startChurn(cluster, workload, round);
  const parts = workload.measuredPod?.("green") ?? {};
  const namespace = "measured";
  return await cluster.place(namespace, each, (n) => ({
    ...withExtra(parts, workload, `${namespace}-${round * each + n}`),
    namespace,
    name: `pod-${round}-${n}`,
  }));
}

/** Pods of the same size that nobody schedules. They are removed afterwards, so that they are in nobody's way. */
async function measureFloor(cluster: PerfCluster, workload: Workload, round: number): Promise<Taken> {
  const namespace = "floor";
  const parts = workload.measuredPod?.(`floor-${round}`) ?? {};
  const spec = { ...parts.spec, schedulerName: "floor" };
  const taken = await cluster.place(namespace, floorPods, (n) => ({
    ...parts,
    spec,
    namespace,
    name: `f-${round}-${n}`,
  }));
  await cluster.removePods(namespace);
  return taken;
}

type Parts = ReturnType<NonNullable<Workload["measuredPod"]>>;

/** Names the volume or the device of a pod. */
function withExtra(parts: Parts, { extra }: Workload, claimName: string): Parts {
  const spec = { ...parts.spec };
  if (extra === "volumes") {
    return { ...parts, spec: { ...spec, volumes: [{ name: "v", persistentVolumeClaim: { claimName } }] } };
  }
  if (extra !== "devices") return parts;
  const resourceClaims = [{ name: "resource", resourceClaimTemplateName: "test-claim-template" }];
  return { ...parts, spec: { ...spec, resourceClaims } };
}

const churnMs = 200;

function startChurn(cluster: PerfCluster, { churn }: Workload, round: number): Disposable {
  if (!churn) return { [Symbol.dispose]() {} };
  let made = 0;
  const timer = setInterval(() => {
    const pod = podOf({ ...churn, namespace: "churn", name: `churn-${round}-${made++}` });
    void cluster.create("/api/v1/namespaces/churn/pods", pod);
  }, churnMs);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
