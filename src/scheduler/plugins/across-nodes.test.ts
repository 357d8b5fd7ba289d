import assert from "node:assert/strict";
import { test } from "node:test";
import { type Node } from "#api/core/node.ts";
import { type Pod } from "#api/core/pod.ts";
import { type InputOf } from "#api/resource.ts";
import { Random } from "#testing/arbitrary.ts";
import { makeNode, makePod, podKey } from "#testing/scheduling.ts";
import { lookAcross } from "../across.ts";
import { type SchedulerPlugin } from "../framework.ts";
import { Snapshot } from "../snapshot.ts";
import { affinityReason, affinityScores, spreadReason, spreadScores, type World } from "./across-nodes.suite.ts";
import { interPodAffinity } from "./inter-pod-affinity/inter-pod-affinity.ts";
import { podTopologySpread } from "./pod-topology-spread/pod-topology-spread.ts";

/** `SEEDS=10000` for a long run. */
const seeds = Number(process.env.SEEDS ?? 60);
const namespaceLabels = { default: { team: "a" }, other: { team: "b" }, third: {} };
const keys = ["kubernetes.io/hostname", "zone", "rack"];
type Spec = NonNullable<Partial<InputOf<Pod>["spec"]>>;
type Term = { topologyKey: string; labelSelector?: object; namespaces?: string[]; namespaceSelector?: object };

function randomNode(random: Random, name: string): Node {
  const labels: Record<string, string> = random.chance(90) ? { "kubernetes.io/hostname": name } : {};
  if (random.chance(80)) labels.zone = random.pick(["z1", "z2", "z3"]);
  if (random.chance(50)) labels.rack = random.pick(["r1", "r2"]);
  const taints = random.chance(20) ? [{ key: "a", effect: random.pick(["NoSchedule", "PreferNoSchedule"]) }] : [];
  return makeNode(name, { labels, spec: { taints } as InputOf<Node>["spec"] });
}

const randomLabels = (random: Random): Record<string, string> => ({
  ...(random.chance(80) ? { app: random.pick(["web", "db"]) } : {}),
  ...(random.chance(30) ? { tier: random.pick(["front", "back"]) } : {}),
});

const randomSelector = (random: Random): object | undefined =>
  random.pick<object | undefined>([
    { matchLabels: { app: "web" } },
    { matchLabels: { app: "db" } },
    { matchExpressions: [{ key: "tier", operator: "Exists" }] },
    { matchExpressions: [{ key: "app", operator: "NotIn", values: ["db"] }] },
    {},
    undefined,
  ]);

function randomTerm(random: Random): Term {
  const labelSelector = randomSelector(random);
  const namespaceSelector = random.pick<object | undefined>([undefined, undefined, {}, { matchLabels: { team: "b" } }]);
  return {
    topologyKey: random.pick(keys),
    ...(labelSelector ? { labelSelector } : {}),
    ...(random.chance(30) ? { namespaces: ["other"] } : {}),
    ...(namespaceSelector ? { namespaceSelector } : {}),
  };
}

function randomSpec(random: Random): Spec {
  const required = () => ({
    requiredDuringSchedulingIgnoredDuringExecution: Array.from({ length: random.below(3) }, () => randomTerm(random)),
  });
  const preferred = () => ({
    preferredDuringSchedulingIgnoredDuringExecution: Array.from({ length: random.below(3) }, () => ({
      weight: 1 + random.below(100),
      podAffinityTerm: randomTerm(random),
    })),
  });
  const rules = Array.from({ length: random.below(3) }, () => {
    const labelSelector = randomSelector(random);
    return {
      topologyKey: random.pick(keys),
      maxSkew: 1 + random.below(2),
      whenUnsatisfiable: random.pick(["DoNotSchedule", "ScheduleAnyway"]),
      ...(labelSelector ? { labelSelector } : {}),
      ...(random.chance(20) ? { minDomains: 1 + random.below(4) } : {}),
      ...(random.chance(30) ? { nodeAffinityPolicy: random.pick(["Honor", "Ignore"]) } : {}),
      ...(random.chance(30) ? { nodeTaintsPolicy: random.pick(["Honor", "Ignore"]) } : {}),
    };
  });
  const spec = {
    ...(random.chance(50) ? { topologySpreadConstraints: rules } : {}),
    ...(random.chance(20) ? { nodeSelector: { zone: "z1" } } : {}),
    affinity: {
      ...(random.chance(30) ? { podAffinity: { ...required(), ...preferred() } } : {}),
      ...(random.chance(40) ? { podAntiAffinity: { ...required(), ...preferred() } } : {}),
    },
  };
  return spec as Spec;
}

let made = 0;
function randomPod(random: Random, nodeName?: string): Pod {
  const pod = makePod(`p${made++}`, {
    ...randomSpec(random),
    labels: randomLabels(random),
    ...(nodeName ? { nodeName } : {}),
  });
  const ends = random.chance(10) ? { deletionTimestamp: "2026-01-01T00:00:00Z" } : {};
  const metadata = { ...pod.metadata, namespace: random.pick(["default", "default", "other", "third"]), ...ends };
  return { ...pod, metadata: { ...metadata, uid: pod.metadata.name } };
}

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

const labelsOf = (name: string) => namespaceLabels[name as keyof typeof namespaceLabels];
const compared = [
  { plugin: podTopologySpread(() => []), reason: spreadReason, scores: spreadScores },
  { plugin: interPodAffinity(labelsOf), reason: affinityReason, scores: affinityScores },
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
        const feasible = world.nodes.filter((_, at) => reasons[at] === undefined);
        const slots = Int32Array.from(feasible, ({ metadata }) => snapshot.get(metadata.name)?.slot ?? -1);
        const given = answer?.score ? [...answer.score(slots)] : feasible.map(() => 0);

        const where = `seed ${seed}, attempt ${attempt}`;
        assert.deepEqual(
          reasons,
          world.nodes.map((node) => reason(world, pod, node)),
          where,
        );
        assert.deepEqual(given, scores(world, pod, feasible), where);
      }
    }
  });
}
