import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { ServiceAccount } from "#api/core/service-account.ts";
import { PodDisruptionBudget } from "#api/policy/pod-disruption-budget.ts";
import { type InputOf } from "#api/resource.ts";
import { StatusError } from "#api/status.ts";
import { seededRandom } from "#lib/data/random.ts";
import { runReconcilers } from "#runtime/run-reconciler.ts";
import { Random } from "#testing/arbitrary.ts";
import { type FaultRates, Faults } from "#testing/chaos/faults.ts";
import { podRunner } from "#testing/pod-runner.ts";
import { asking } from "#testing/scheduling.ts";
import { startCluster, type TestCluster } from "#testing/start-cluster.ts";
import { reasonOf } from "../reference/whole.suite.ts";
import { healthyOf, namespace } from "./disruptions.suite.ts";
import { type OnBinding, type Tried, twoSchedulers } from "./two-schedulers.suite.ts";
import { Watchman } from "./watchman.suite.ts";

const rates: FaultRates = {
  conflictEvery: 15,
  lostReply: 0.05,
  unavailable: 0.05,
  slow: 0.1,
  kill: 0.01,
  watchLifeMs: 60_000,
  watchLagMs: 100,
  expired: 0.05,
};

/** What happened in one run. */
export interface Story {
  readonly faults: readonly string[];
  readonly bound: number;
  readonly preempted: number;
  readonly kills: number;
}

/** Random pods, losses, resizes and budgets against two schedulers, which crash if there are faults. */
export async function runOrdeal(seed: number, steps: number, hasFaults = true): Promise<Story> {
  const random = new Random(seed);
  let made: Faults | undefined;
  let watchman: Watchman | undefined;
  const onTried = (tried: Tried): void => watchman?.onTried(tried);
  const onRead = (by: string, pod: Pod): void => watchman?.onRead(by, pod);
  const onEnd = (by: string, pod: string): void => watchman?.onEnd(by, pod);
  const onFailure = (by: string, pod: string): void => watchman?.onFailure(by, pod);
  const onBinding: OnBinding = (binding) => watchman?.onBinding(binding) ?? (() => undefined);
  await using cluster = await startCluster({
    controllers: false,
    seed,
    components: (deps) => {
      const chance = seededRandom(seed);
      const faults = new Faults(deps.clock, chance, rates);
      made = faults;
      return [
        ...twoSchedulers(deps, { faults, random: chance, onBinding, onTried, onRead, onEnd, onFailure }),
        (stop) => runReconcilers([podRunner()], deps, stop),
      ];
    },
  });
  if (!made) throw new Error("the components were not created");
  watchman = new Watchman(cluster.clock, cluster.informers);
  const ordeal = new Ordeal(cluster, watchman, random);
  await ordeal.prepare();
  const stop = watchman.follow();
  made.isOn = hasFaults;
  for (let step = 0; step < steps; step++) {
    await ordeal.step();
    await cluster.clock.advance(random.below(1500));
    await ordeal.count();
  }
  made.isOn = false;
  await ordeal.end();
  stop();
  return { ...watchman, faults: watchman.faults, kills: made.counts.kills };
}

class Ordeal {
  readonly #cluster: TestCluster;
  readonly #watchman: Watchman;
  readonly #random: Random;
  #made = 0;

  constructor(cluster: TestCluster, watchman: Watchman, random: Random) {
    this.#cluster = cluster;
    this.#watchman = watchman;
    this.#random = random;
  }

  async prepare(): Promise<void> {
    const { client } = this.#cluster;
    await client.create(ServiceAccount, { metadata: { name: "default", namespace } });
    await client.create(PodDisruptionBudget, {
      metadata: { name: "guarded", namespace },
      spec: { minAvailable: 2, selector: { matchLabels: { app: "guarded" } } },
    });
    for (let n = 0; n < 4; n++) await this.#addNode();
  }

  /** One thing that a user or a machine does. It may come too late, or be refused. */
  async step(): Promise<void> {
    const random = this.#random;
    const kind = random.below(100);
    try {
      if (kind < 62) for (let n = 1 + random.below(4); n > 0; n--) await this.#addPod();
      else if (kind < 74) await this.#removePod();
      else if (kind < 84) await this.#resizePod();
      else if (kind < 90) await this.#bindByHand();
      else if (kind < 95) await this.#changeNode();
      else if (kind < 97) await this.#loseNode();
      else await this.#addNode();
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
    }
  }

  /** Brings the budgets up to date, as a controller would. */
  async count(): Promise<void> {
    const { client, informers } = this.#cluster;
    for (const budget of informers.of(PodDisruptionBudget).list()) {
      const currentHealthy = healthyOf(informers, budget).length;
      const disruptionsAllowed = Math.max(currentHealthy - Number(budget.spec?.minAvailable ?? 0), 0);
      if (budget.status?.disruptionsAllowed === disruptionsAllowed) continue;
      const status = { disruptionsAllowed, currentHealthy, desiredHealthy: 2, expectedPods: currentHealthy };
      await client.updateStatus(PodDisruptionBudget, { ...budget, status } as PodDisruptionBudget);
    }
  }

  /** Afterwards a pod without a node must really fit nowhere. */
  async end(): Promise<void> {
    for (const { metadata } of this.#cluster.informers.of(Node).list()) await this.#cordon(metadata.name, false);
    await this.#cluster.clock.advance(400_000);
    const { world } = this.#watchman;
    for (const pod of this.#cluster.informers.of(Pod).list()) {
      if (pod.spec.nodeName || pod.metadata.deletionTimestamp) continue;
      const fitting = world.nodes.filter((node) => !reasonOf(world, pod, node)).map(({ metadata }) => metadata.name);
      const waits = this.#cluster.informers
        .of(Pod)
        .list()
        .some(({ spec, status }) => !spec.nodeName && status?.nominatedNodeName);
      if (fitting.length > 0 && !waits)
        this.#watchman.faults.push(`${pod.metadata.name} waits, although it fits on ${fitting}`);
    }
  }

  async #addNode(): Promise<void> {
    const name = `n${this.#made++}`;
    const { client } = this.#cluster;
    const status = { ...this.#size(), conditions: [{ type: "Ready", status: "True" as const }] };
    const labels = { "kubernetes.io/hostname": name, zone: this.#random.pick(["z1", "z2"]) };
    await client.create(Node, { metadata: { name, labels }, status });
    await client.patch(Node, { name }, { type: "merge", body: { spec: { taints: null } } });
  }

  #size() {
    return {
      allocatable: { cpu: this.#random.pick(["2", "3", "4"]), memory: "8Gi", pods: this.#random.pick(["4", "8"]) },
    };
  }

  async #addPod(): Promise<void> {
    const random = this.#random;
    const app = random.pick(["guarded", "plain", "plain", "apart", "spread"]);
    const labelSelector = { matchLabels: { app } };
    const term = { labelSelector, topologyKey: "kubernetes.io/hostname" };
    const rule = { maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "DoNotSchedule" as const, labelSelector };
    const spec: NonNullable<InputOf<Pod>["spec"]> = {
      containers: [asking({ cpu: random.pick(["250m", "500m", "1"]) })],
      ...(app === "apart"
        ? { affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } } }
        : {}),
      ...(app === "spread" ? { topologySpreadConstraints: [rule] } : {}),
      ...(app === "plain" && random.chance(20) ? { nodeSelector: { zone: "z1" } } : {}),
      ...(app !== "guarded" && random.chance(30) ? { priorityClassName: "system-cluster-critical" } : {}),
    };
    await this.#create({ labels: { app } }, spec);
  }

  async #create(metadata: object, spec: NonNullable<InputOf<Pod>["spec"]>): Promise<void> {
    const name = `p${this.#made++}`;
    await this.#cluster.client.create(Pod, { metadata: { ...metadata, name, namespace }, spec });
  }

  #anyPod(): Pod | undefined {
    const placed = this.#cluster.informers
      .of(Pod)
      .list()
      .filter(({ spec }) => spec.nodeName);
    return placed.length > 0 ? this.#random.pick(placed) : undefined;
  }

  async #removePod(): Promise<void> {
    const pod = this.#anyPod();
    if (pod) await this.#cluster.client.delete(Pod, pod);
  }

  async #resizePod(): Promise<void> {
    const pod = this.#anyPod();
    if (!pod) return;
    this.#watchman.disturb(pod.spec.nodeName ?? "");
    const cpu = this.#random.pick(["250m", "500m", "1", "1500m"]);
    const body = { spec: { containers: [{ name: "main", resources: { requests: { cpu } } }] } };
    await this.#cluster.client.patch(Pod, pod, { type: "strategic", body }, { subresource: "resize" });
  }

  /** Somebody names the node himself, without asking whether there is room. */
  async #bindByHand(): Promise<void> {
    const nodeName = this.#anyNode();
    this.#watchman.disturb(nodeName);
    await this.#create({ labels: { app: "by-hand" } }, { containers: [asking({ cpu: "500m" })], nodeName });
  }

  #anyNode(): string {
    return this.#random.pick(this.#cluster.informers.of(Node).list()).metadata.name;
  }

  async #changeNode(): Promise<void> {
    const name = this.#anyNode();
    this.#watchman.disturb(name);
    const { client } = this.#cluster;
    if (this.#random.chance(50)) {
      await client.patch(Node, { name }, { type: "merge", body: { status: this.#size() } }, { subresource: "status" });
    } else await this.#cordon(name, this.#random.chance(30));
  }

  async #cordon(name: string, unschedulable: boolean): Promise<void> {
    await this.#cluster.client.patch(Node, { name }, { type: "merge", body: { spec: { unschedulable } } });
  }

  async #loseNode(): Promise<void> {
    const { client, informers } = this.#cluster;
    if (informers.of(Node).list().length <= 3) return;
    const name = this.#anyNode();
    this.#watchman.disturb(name);
    await client.delete(Node, { name });
    const lost = informers
      .of(Pod)
      .list()
      .filter(({ spec }) => spec.nodeName === name);
    for (const pod of lost) await client.delete(Pod, pod, { gracePeriodSeconds: 0 });
  }
}
