import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { findCondition, withCondition } from "#api/meta/condition.ts";
import { ignoreNotFound, isConflict } from "#api/status.ts";
import { neverAborted } from "#lib/async/tasks.ts";
import { type Random, seededRandom } from "#lib/data/random.ts";
import { type Reconciler } from "#runtime/reconciler.ts";
import { type ReconcilerFactory, runReconcilers } from "#runtime/run-reconciler.ts";
import { heartbeats, type PodRunnerOptions, podRunner } from "../pod-runner.ts";
import { type ClusterOptions, type ComponentDeps, startCluster, type TestCluster } from "../start-cluster.ts";
import { type FaultRates, Faults } from "./faults.ts";
import { runLeaders } from "./leaders.ts";

/** The seeds of a chaos test: `SEEDS=200` runs more of them, `SEED=17` only one. */
export function chaosSeeds(usual: number): number[] {
  const { SEED, SEEDS } = process.env;
  return SEED ? SEED.split(",").map(Number) : Array.from({ length: Number(SEEDS ?? usual) }, (_, at) => at + 1);
}

export interface ChaosOptions extends PodRunnerOptions, Pick<ClusterOptions, "nodeMetrics"> {
  /** The nodes that are alive; default: `node-1`. One that is removed from the list is silent from then on. */
  readonly nodes?: readonly string[];
  /** Which faults there are; default: crashes, and a third of all writes is refused. */
  rates?(random: Random): FaultRates;
  /** How many leaders there may be for a moment; default 1. */
  readonly leaders?: number;
  readonly nodeAnnotations?: Readonly<Record<string, string>>;
  /** Programs of others, which neither crash nor are refused. */
  readonly peers?: readonly ReconcilerFactory[];
}

/** A cluster whose controllers crash and are lied to. */
export interface ChaosCluster extends TestCluster {
  /** They are on until a test turns them off. */
  readonly faults: Faults;
}

const noWatchFaults = { watchLifeMs: Infinity, watchLagMs: 0, expired: 0 };
const crashesAndConflicts = (): FaultRates => ({
  ...noWatchFaults,
  conflictEvery: 3,
  lostReply: 0,
  unavailable: 0,
  slow: 0,
  kill: 0.01,
});

/** A cluster whose controllers crash at random between writes, and a third of whose writes are refused. */
export async function startChaos(seed: number, options: ChaosOptions = {}): Promise<ChaosCluster> {
  const { nodeMetrics, nodes = ["node-1"], rates = crashesAndConflicts, leaders = 1 } = options;
  const { nodeAnnotations: annotations = {}, peers = [] } = options;
  const random = seededRandom(seed);
  let faults: Faults | undefined;
  const cluster = await startCluster({
    controllers: false,
    ...(nodeMetrics ? { nodeMetrics } : {}),
    seed,
    components: (deps) => {
      const placed = new Faults(deps.clock, random, rates(random));
      placed.isOn = true;
      faults = placed;
      return [
        (stop) => runLeaders(deps, { faults: placed, random, leaders }, stop),
        (stop) => runReconcilers([podRunner(options), binder, kubelets(nodes, options), ...peers], deps, stop),
        (stop) => heartbeats(deps, nodes, stop),
        (stop) => reportNodes(deps, nodes, stop),
      ];
    },
  });
  if (!faults) throw new Error("the components were not created");
  for (const [index, name] of nodes.entries()) {
    const addresses = [{ type: "InternalIP" as const, address: `192.168.0.${index + 1}` }];
    const status = { addresses, conditions: [{ type: "Ready", status: "True" as const }] };
    await cluster.client.create(Node, { metadata: { name, annotations }, status });
  }
  await cluster.settle();
  return { ...cluster, faults };
}

/** Who marked the pods of a living node as not ready, because it saw no heartbeats, is corrected. */
const kubelets =
  (nodes: readonly string[], { isReady = () => true }: PodRunnerOptions) =>
  ({ client }: Pick<ComponentDeps, "client">): Reconciler<Pod> => ({
    name: "readiness",
    reconciles: Pod,
    async reconcile(pod, signal) {
      const { phase, conditions } = pod.status;
      const ready = findCondition(conditions, "Ready");
      if (phase !== "Running" || pod.metadata.deletionTimestamp || ready?.status !== "False" || !isReady(pod)) return;
      if (!nodes.includes(pod.spec.nodeName ?? "")) return;
      const status = { ...pod.status, conditions: withCondition(conditions, { ...ready, status: "True" as const }) };
      await client.updateStatus(Pod, { ...pod, status }, { signal }).catch(ignoreNotFound);
    },
  });

/** The same for the nodes themselves: a kubelet looks at its Node every ten seconds. */
async function reportNodes(
  { client, clock }: Pick<ComponentDeps, "client" | "clock">,
  nodes: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    await clock.sleep(reportMs, signal);
    for (const name of nodes) {
      const node = await client.get(Node, { name }, { signal });
      const ready = findCondition(node.status.conditions, "Ready");
      if (!ready || ready.status === "True") continue;
      const conditions = withCondition(node.status.conditions, { ...ready, status: "True" as const });
      // Whoever was faster is corrected the next time.
      await client
        .updateStatus(Node, { ...node, status: { ...node.status, conditions } }, { signal })
        .catch((error: unknown) => {
          if (!isConflict(error)) throw error;
        });
    }
  }
}
const reportMs = 10_000;

/** A minimal scheduler: the node that the pod demands, or the first one. */
const binder = ({ client }: Pick<ComponentDeps, "client">) => ({
  name: "binder",
  reconciles: Pod,
  async reconcile(pod: Pod) {
    if (pod.spec.nodeName || pod.metadata.deletionTimestamp) return;
    const { namespace, name } = pod.metadata;
    const target = { kind: "Node", name: demandedNode(pod) ?? "node-1" };
    const body = { apiVersion: "v1", kind: "Binding", metadata: { name }, target };
    await client.createSubresource(Pod, { namespace, name }, "binding", body, { signal: neverAborted });
  },
});

/** Pods of DaemonSets name their node by its field. */
function demandedNode({ spec }: Pod): string | undefined {
  const terms = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  return terms?.[0]?.matchFields?.find(({ key }) => key === "metadata.name")?.values?.[0];
}
