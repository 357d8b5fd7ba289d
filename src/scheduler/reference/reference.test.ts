import assert from "node:assert/strict";
import { test } from "node:test";
import { type Node } from "#api/core/node.ts";
import { type Pod } from "#api/core/pod.ts";
import { PodDisruptionBudget } from "#api/policy/pod-disruption-budget.ts";
import { atOnce } from "#lib/async/turns.ts";
import { seededRandom } from "#lib/data/random.ts";
import { Random } from "#testing/arbitrary.ts";
import { build } from "#testing/build.ts";
import { podKey, testProfile } from "#testing/scheduling.ts";
import { Decider, type Decision } from "../decide.ts";
import { type Profile } from "../framework.ts";
import { interPodAffinity } from "../plugins/inter-pod-affinity/inter-pod-affinity.ts";
import { Budgets } from "../preemption/budgets.ts";
import { Nominations } from "../preemption/nominations.ts";
import { planPreemption } from "../preemption/plan-preemption.ts";
import { Snapshot } from "../snapshot.ts";
import { type World } from "./across-nodes.suite.ts";
import {
  labelsOfNamespace,
  namespaceLabels,
  randomBusyPod,
  randomLabels,
  randomSizedNode,
} from "./random-cluster.suite.ts";
import { bestEndings, type Cluster, reasonBeside, reasonOf, totalsOf, type Waiting } from "./whole.suite.ts";

/** `SEEDS=10000` for a long run. */
const count = Number(process.env.SEEDS ?? 40);
const seeds = process.env.SEED ? [Number(process.env.SEED)] : Array.from({ length: count }, (_, n) => n + 1);

const profile = (): Profile => {
  const { schedulerName, plugins } = testProfile();
  const withNamespaces = interPodAffinity(labelsOfNamespace);
  return {
    schedulerName,
    plugins: plugins.map((plugin) => (plugin.name === withNamespaces.name ? withNamespaces : plugin)),
  };
};

/** A cluster under change, once as the scheduler knows it and once as plain lists. */
class Twin {
  readonly #random: Random;
  readonly #nodes = new Map<string, Node>();
  readonly #pods = new Map<string, Pod>();
  readonly #waiting: Waiting[] = [];
  readonly #budgets: readonly PodDisruptionBudget[];
  readonly #profile = profile();
  readonly #snapshot = new Snapshot();
  readonly #nominations = new Nominations();
  readonly #decider: Decider;
  #started = 0;

  constructor(random: Random, seed: number) {
    this.#random = random;
    this.#decider = new Decider(this.#profile, this.#snapshot, seededRandom(seed), this.#nominations);
    this.#budgets = random.chance(50) ? [randomBudget(random)] : [];
    for (let n = 2 + random.below(5); n > 0; n--) this.#setNode(`n${n}`);
  }

  get #world(): World {
    const nodes = this.#snapshot.nodes.map(({ name }) => this.#nodes.get(name) as Node);
    return { nodes, pods: [...this.#pods.values()], namespaceLabels };
  }

  change(): void {
    const random = this.#random;
    const known = random.pick([...this.#pods.keys(), ""]);
    const name = random.pick([...this.#nodes.keys()]);
    if (random.chance(8)) this.#setNode(name);
    else if (random.chance(4)) this.#removeNode(name);
    else if (random.chance(20) && known) this.#removePod(known);
    else if (random.chance(9) && known) this.#setPod(relabelled(this.#pods.get(known) as Pod, random));
    else if (random.chance(10) && known) this.#setPod(resized(this.#pods.get(known) as Pod, random));
    else if (random.chance(5)) this.#wait(randomBusyPod(random), name);
    else this.#setPod(randomBusyPod(random, name));
  }

  /** Decides for a pod, compares, and puts it where it belongs. */
  check(pod: Pod): void {
    const decision = this.#decider.decide(pod);
    const world = this.#world;
    const reasons = world.nodes.map((node) => reasonBeside(world, pod, node, this.#waiting));
    const feasible = world.nodes.filter((_, at) => !reasons[at]);
    this.#compareReasons(decision, pod);
    if (feasible.length === 0) return this.#checkVictims(decision, pod);
    const totals = totalsOf(world, pod, feasible);
    const best = Math.max(...totals);
    const good = feasible.filter((_, at) => totals[at] === best).map(({ metadata }) => metadata.name);
    assert.ok(decision.node !== undefined, `it fits on ${good}`);
    assert.deepEqual(
      { score: decision.score, feasible: decision.feasible },
      { score: best, feasible: feasible.length },
    );
    assert.ok(good.includes(decision.node), `${decision.node} instead of ${good}`);
    const startTime = new Date(1e12 + 1000 * this.#started++).toISOString();
    this.#setPod({ ...pod, spec: { ...pod.spec, nodeName: decision.node }, status: { ...pod.status, startTime } });
  }

  #compareReasons(decision: Decision, pod: Pod): void {
    if (decision.node !== undefined) return;
    const world = this.#world;
    for (const node of world.nodes) {
      const expected = reasonOf(world, pod, node) ?? reasonBeside(world, pod, node, this.#waiting);
      const given = decision.rejections.get(node.metadata.name);
      assert.deepEqual(given && { ...given }, expected, `on ${node.metadata.name}`);
    }
  }

  #checkVictims(decision: Decision, pod: Pod): void {
    assert.ok(decision.node === undefined, `it fits nowhere, and not on ${decision.node}`);
    const cluster: Cluster = { world: this.#world, waiting: this.#waiting, budgets: this.#budgets };
    const best = bestEndings(cluster, pod).map(describe);
    const deps = {
      plugins: this.#profile.plugins,
      snapshot: this.#snapshot,
      nominations: this.#nominations,
      budgets: new Budgets((namespace) => this.#budgets.filter(({ metadata }) => metadata.namespace === namespace)),
      random: () => 0,
    };
    const plan = atOnce(planPreemption(deps, { key: podKey(pod), pod }, decision.rejections));
    if (plan.node === undefined) return assert.deepEqual(best, [], plan.message);
    const found = describe({ node: plan.node, victims: plan.victims.map((victim) => victim.pod) });
    assert.ok(best.includes(found), `${found} instead of ${best}`);
    for (const { key } of plan.victims) this.#removePod(key);
  }

  #setNode(name: string): void {
    const node = randomSizedNode(this.#random, name);
    this.#nodes.set(name, node);
    this.#snapshot.setNode(node);
  }

  /** Its pods stay, until the node comes back or they are removed. */
  #removeNode(name: string): void {
    if (this.#snapshot.nodes.length > 1) this.#snapshot.removeNode(name);
  }

  #setPod(pod: Pod): void {
    this.#pods.set(podKey(pod), pod);
    this.#snapshot.setPod(podKey(pod), pod);
  }

  #removePod(key: string): void {
    this.#pods.delete(key);
    this.#snapshot.removePod(key);
  }

  #wait(pod: Pod, node: string): void {
    this.#waiting.push({ pod, node });
    this.#nominations.set(podKey(pod), pod, node);
  }
}

const describe = ({ node, victims }: { readonly node: string; readonly victims: readonly Pod[] }): string =>
  `${node}: ${victims
    .map(({ metadata }) => metadata.name)
    .sort()
    .join(" ")}`;

const randomBudget = (random: Random): PodDisruptionBudget =>
  build(PodDisruptionBudget, {
    metadata: { name: "b", namespace: "default" },
    spec: { selector: { matchLabels: { app: random.pick(["web", "db"]) } } },
    status: { disruptionsAllowed: random.below(2), currentHealthy: 1, desiredHealthy: 1, expectedPods: 1 },
  });

/** Its first container has more or less than it asks for, because a resize is under way. */
function resized(pod: Pod, random: Random): Pod {
  const [first] = pod.spec.containers;
  if (!first?.resources.requests?.cpu) return pod;
  const requests = { ...first.resources.requests, cpu: random.pick(["100m", "750m", "2"]) };
  const held = { name: first.name, resources: { requests }, allocatedResources: requests, image: "", imageID: "" };
  return { ...pod, status: { ...pod.status, containerStatuses: [held] } } as unknown as Pod;
}

/** It has other labels, or begins to end. */
const relabelled = (pod: Pod, random: Random): Pod => ({
  ...pod,
  metadata: {
    ...pod.metadata,
    labels: randomLabels(random),
    ...(random.chance(30) ? { deletionTimestamp: "2026-01-01T00:00:00Z" } : {}),
  },
});

test(`decisions and victims agree with the reference in ${seeds.length} random clusters`, () => {
  for (const seed of seeds) {
    const random = new Random(seed);
    const twin = new Twin(random, seed);
    for (let step = 0; step < 30; step++) {
      try {
        if (step < 10 || random.chance(40)) twin.change();
        else twin.check(random.chance(30) ? alike(random) : randomBusyPod(random));
      } catch (error) {
        throw new Error(`seed ${seed}, step ${step}: ${(error as Error).message}`, { cause: error });
      }
    }
  }
});

let copies = 0;
const templates = new Map<number, Pod>();

/** One of a few pods again, so that cached results are used. */
function alike(random: Random): Pod {
  const which = random.below(3);
  const template = templates.get(which) ?? randomBusyPod(new Random(which));
  templates.set(which, template);
  const name = `copy${copies++}`;
  return { ...template, metadata: { ...template.metadata, name, uid: name } };
}
