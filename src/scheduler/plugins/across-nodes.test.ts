import assert from "node:assert/strict";
import { test } from "node:test";
import { type Node } from "#api/core/node.ts";
import { type Pod } from "#api/core/pod.ts";
import { Random } from "#testing/arbitrary.ts";
import { podKey } from "#testing/scheduling.ts";
import { lookAcross } from "../across.ts";
import { type SchedulerPlugin } from "../framework.ts";
import {
  affinityReason,
  affinityScores,
  spreadReason,
  spreadScores,
  type World,
} from "../reference/across-nodes.suite.ts";
import {
  labelsOfNamespace,
  namespaceLabels,
  randomLabels,
  randomNode,
  randomPod,
} from "../reference/random-cluster.suite.ts";
import { Snapshot } from "../snapshot.ts";
import { interPodAffinity } from "./inter-pod-affinity/inter-pod-affinity.ts";
import { podTopologySpread } from "./pod-topology-spread/pod-topology-spread.ts";

/** `SEEDS=10000` for a long run. */
const seeds = Number(process.env.SEEDS ?? 60);
/** A cluster that has changed a few times, in a snapshot that was asked in between, and as plain lists. */
function randomWorld(random: Random, plugins: readonly SchedulerPlugin[]) {
  const snapshot = new Snapshot();
  const nodes = new Map<string, Node>();
  const pods = new Map<string, Pod>();
  const count = 2 + random.below(6);
  const setNode = (name: string) => {
    const node = randomNode(random, name);
    nodes.set(name, node);
    snapshot.setNode(node);
  };
  for (let n = 0; n < count; n++) setNode(`n${n}`);
  for (let step = 0; step < 30; step++) {
    const name = `n${random.below(count)}`;
    const gone = random.pick([...pods.keys(), ""]);
    if (random.chance(10)) setNode(name);
    else if (random.chance(20) && gone) {
      pods.delete(gone);
      snapshot.removePod(gone);
    } else {
      const pod = random.chance(15) && gone ? relabelled(pods.get(gone) as Pod, random) : randomPod(random, name);
      pods.set(podKey(pod), pod);
      snapshot.setPod(podKey(pod), pod);
    }
    if (random.chance(20)) lookAcross(plugins, randomPod(random), snapshot)?.filter(0);
  }
  const world: World = {
    nodes: snapshot.nodes.map(({ name }) => nodes.get(name) as Node),
    pods: [...pods.values()],
    namespaceLabels,
  };
  return { snapshot, world };
}

const relabelled = (pod: Pod, random: Random): Pod => ({
  ...pod,
  metadata: { ...pod.metadata, labels: randomLabels(random) },
});

const compared = [
  { plugin: podTopologySpread(() => []), reason: spreadReason, scores: spreadScores },
  { plugin: interPodAffinity(labelsOfNamespace), reason: affinityReason, scores: affinityScores },
];
for (const { plugin, reason, scores } of compared) {
  test(`${plugin.name} agrees with the reference on ${seeds} random clusters`, () => {
    for (let seed = 1; seed <= seeds; seed++) {
      const random = new Random(seed);
      const { snapshot, world } = randomWorld(random, [plugin]);
      for (let attempt = 0; attempt < 4; attempt++) {
        const pod = randomPod(random);
        const answer = plugin.acrossNodes?.(pod, snapshot);
        const reasons = snapshot.nodes.map(({ slot }) => answer?.filter?.(slot)?.reasons[0]);
        const rejected = new Uint8Array(snapshot.slots);
        answer?.rejectAll?.(rejected);
        const feasible = world.nodes.filter((_, at) => reasons[at] === undefined);
        const slots = Int32Array.from(feasible, ({ metadata }) => snapshot.get(metadata.name)?.slot ?? -1);
        const given = answer?.score ? [...answer.score(slots, new Float64Array(slots.length))] : feasible.map(() => 0);

        const where = `seed ${seed}, attempt ${attempt}`;
        assert.deepEqual(
          reasons,
          world.nodes.map((node) => reason(world, pod, node)),
          where,
        );
        assert.deepEqual(
          snapshot.nodes.map(({ slot }) => rejected[slot] === 1),
          reasons.map((given) => given !== undefined),
          where,
        );
        assert.deepEqual(given, scores(world, pod, feasible), where);
      }
    }
  });
}
