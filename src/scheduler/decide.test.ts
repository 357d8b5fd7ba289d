import assert from "node:assert/strict";
import { test } from "node:test";
import { type Pod } from "#api/core/pod.ts";
import { seededRandom } from "#lib/data/random.ts";
import { Random } from "#testing/arbitrary.ts";
import { asking, makeNode, makePod, podKey, roomy, snapshotOf, testProfile } from "#testing/scheduling.ts";
import { Decider, type Decision } from "./decide.ts";
import { type Profile, rejectFinally, type SchedulerPlugin } from "./framework.ts";
import { Nominations } from "./preemption/nominations.ts";
import { type Snapshot } from "./snapshot.ts";

const profile = testProfile();
const withPlugins = (...plugins: SchedulerPlugin[]): Profile => ({ schedulerName: "test", plugins });
/** Always chooses the first of equal nodes. */
const alwaysFirst = () => 0;

const place = (snapshot: Snapshot, pod: Pod, node: string) =>
  snapshot.setPod(podKey(pod), { ...pod, spec: { ...pod.spec, nodeName: node } });

test("a decider reports that there are no nodes", () => {
  const decision = new Decider(profile, snapshotOf([]), alwaysFirst).decide(makePod("p"));

  assert.deepEqual(decision, {
    node: undefined,
    rejections: new Map(),
    evaluated: 0,
    message: "no nodes available to schedule pods",
    rejectedBy: new Set(),
  });
});

test("a decider reports which plugin refused which node, and why", () => {
  const nodes = [
    makeNode("cordoned", { spec: { unschedulable: true } }),
    makeNode("tainted", { spec: { taints: [{ key: "a", effect: "NoSchedule" }] } }),
    makeNode("small", { status: { allocatable: { cpu: "1", memory: "1", pods: "10" } } }),
  ];
  const decider = new Decider(profile, snapshotOf(nodes), alwaysFirst);

  const decision = decider.decide(makePod("p", { containers: [asking({ cpu: "2", memory: "1Gi" })] }));

  assert(decision.node === undefined);
  assert.equal(
    decision.message,
    "0/3 nodes are available: 1 Insufficient cpu, 1 Insufficient memory, 1 node(s) had untolerated taint(s), " +
      "1 node(s) were unschedulable.",
  );
  assert.deepEqual(
    Array.from(decision.rejections, ([name, { plugin }]) => [name, plugin]),
    [
      ["cordoned", "NodeUnschedulable"],
      ["tainted", "TaintToleration"],
      ["small", "NodeResourcesFit"],
    ],
  );
  assert.deepEqual(decision.rejectedBy, new Set(["NodeUnschedulable", "TaintToleration", "NodeResourcesFit"]));
});

test("a decider chooses the node with the most room", () => {
  const nodes = ["1", "4", "2"].map((cpu) => makeNode(`cpu-${cpu}`, { status: { allocatable: { ...roomy, cpu } } }));
  const decision = new Decider(profile, snapshotOf(nodes), alwaysFirst).decide(makePod("p"));

  assert.equal(decision.node, "cpu-4");
  assert(decision.node !== undefined);
  assert.deepEqual([decision.feasible, decision.evaluated], [3, 3]);
});

test("a decider spreads evenly over nodes that are equal", () => {
  const snapshot = snapshotOf(["a", "b", "c", "d"].map((name) => makeNode(name)));
  const decider = new Decider(profile, snapshot, seededRandom(7));
  const counts = new Map<string | undefined, number>();

  for (let i = 0; i < 4000; i++) {
    const { node } = decider.decide(makePod("p"));
    counts.set(node, (counts.get(node) ?? 0) + 1);
  }

  assert.equal(counts.size, 4);
  for (const count of counts.values()) assert.ok(count > 850 && count < 1150, `${count} of 4000`);
});

const nodeNamed = (...names: string[]) => ({
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: names.map((name) => ({
          matchFields: [{ key: "metadata.name", operator: "In" as const, values: [name] }],
        })),
      },
    },
  },
});

test("a decider evaluates only the nodes that plugins name", () => {
  const nodes = [makeNode("a", { spec: { unschedulable: true } }), makeNode("b"), makeNode("c")];
  const decider = new Decider(profile, snapshotOf(nodes), alwaysFirst);

  const placed = decider.decide(makePod("p", nodeNamed("b")));
  assert.deepEqual([placed.node, placed.evaluated], ["b", 1]);

  const refused = decider.decide(makePod("p", nodeNamed("a", "gone")));
  assert(refused.node === undefined);
  assert.equal(
    refused.message,
    "0/3 nodes are available: 1 node(s) were unschedulable, 2 node(s) didn't satisfy plugin(s) [NodeAffinity].",
  );
  assert.deepEqual(refused.rejectedBy, new Set(["NodeAffinity", "NodeUnschedulable"]));
});

test("a decider refuses a pod with contradictory constraints before it evaluates nodes", () => {
  const only = (name: string, ...names: string[]): SchedulerPlugin => ({ name, candidates: () => new Set(names) });
  const refuses: SchedulerPlugin = { name: "Refuses", candidates: () => rejectFinally("never") };
  const decide = (...plugins: SchedulerPlugin[]): Decision =>
    new Decider(withPlugins(...plugins), snapshotOf([makeNode("a"), makeNode("b")]), alwaysFirst).decide(makePod("p"));

  const cases = [
    { plugins: [refuses], message: "never", rejectedBy: ["Refuses"] },
    { plugins: [only("X")], message: "node(s) didn't satisfy plugin X", rejectedBy: ["X"] },
    {
      plugins: [only("Y", "a"), only("X", "b")],
      message: "node(s) didn't satisfy plugin(s) [X Y] simultaneously",
      rejectedBy: ["Y", "X"],
    },
  ];
  for (const { plugins, message, rejectedBy } of cases) {
    const decision = decide(...plugins);
    assert(decision.node === undefined);
    assert.equal(decision.message, `0/2 nodes are available: ${message}.`);
    assert.deepEqual(decision.rejectedBy, new Set(rejectedBy));
  }
});

test("a decider leaves room for more important pods that wait for it, on however many of the best nodes", () => {
  const big = { ...roomy, cpu: "8" };
  const nodes = Array.from({ length: 50 }, (_, n) =>
    makeNode(`n${n}`, { status: { allocatable: n < 40 ? big : roomy } }),
  );
  const nominations = new Nominations();
  const decider = new Decider(profile, snapshotOf(nodes), alwaysFirst, nominations);
  const rival = (n: number) => makePod(`rival-${n}`, { priority: 10, containers: [asking({ cpu: "8" })] });
  const pod = makePod("p", { containers: [asking({ cpu: "1" })] });

  for (let n = 0; n < 39; n++) nominations.set(`default/rival-${n}`, rival(n), `n${n}`);
  assert.equal(decider.decide(pod).node, "n39");
  nominations.set("default/rival-39", rival(39), "n39");
  assert.equal(decider.decide(pod).node, "n40");
  for (let n = 40; n < 50; n++) nominations.set(`default/rival-${n}`, rival(n), `n${n}`);
  const refused = decider.decide(pod);
  assert.equal(refused.node, undefined);
  assert.match("message" in refused ? refused.message : "", /50 Insufficient cpu/);

  for (let n = 0; n < 50; n++) nominations.delete(`default/rival-${n}`);
  assert.equal(decider.decide(pod).node, "n0");
});

test("a decider chooses the nominated node if the pod fits there, although others score higher", () => {
  const small = { status: { allocatable: { ...roomy, cpu: "1" } } };
  const snapshot = snapshotOf([makeNode("small", small), makeNode("large")]);
  const decider = new Decider(profile, snapshot, alwaysFirst);
  const nominated = (nominatedNodeName: string, cpu = "100m") =>
    makePod("p", { containers: [asking({ cpu })], status: { nominatedNodeName } });

  assert.equal(decider.decide(nominated("small")).node, "small");
  assert.equal(decider.decide(nominated("small", "2")).node, "large");
  assert.equal(decider.decide(nominated("gone")).node, "large");
});

test("equivalent pods are evaluated once per node, and again where it changed", () => {
  let judged = 0;
  const counting: SchedulerPlugin = {
    name: "Counting",
    looksAt: ({ spec }) => spec.priority,
    filter() {
      judged++;
      return undefined;
    },
  };
  const snapshot = snapshotOf(["a", "b", "c"].map((name) => makeNode(name)));
  const decider = new Decider(withPlugins(counting), snapshot, alwaysFirst);
  const judgedFor = (pod: Pod): number => {
    judged = 0;
    decider.decide(pod);
    return judged;
  };

  assert.equal(judgedFor(makePod("p")), 3);
  assert.equal(judgedFor(makePod("q")), 0);
  place(snapshot, makePod("q"), "b");
  assert.equal(judgedFor(makePod("r")), 1);
  assert.equal(judgedFor(makePod("s", { priority: 5 })), 3);
});

test("no pods are equivalent if a plugin does not declare what it looks at", () => {
  let judged = 0;
  const silent: SchedulerPlugin = {
    name: "Silent",
    filter() {
      judged++;
      return undefined;
    },
  };
  const decider = new Decider(withPlugins(silent), snapshotOf([makeNode("a")]), alwaysFirst);

  decider.decide(makePod("p"));
  decider.decide(makePod("q"));

  assert.equal(judged, 2);
});

test("results that depend on other nodes are evaluated again when those change", () => {
  const image = (sizeBytes: number) => ({ status: { images: [{ names: ["web:1"], sizeBytes: sizeBytes * 2 ** 20 }] } });
  const snapshot = snapshotOf([makeNode("has", image(900)), makeNode("empty")]);
  const decider = new Decider(profile, snapshot, alwaysFirst);
  const scoreOf = (pod: Pod): number => {
    const decision = decider.decide(pod);
    assert(decision.node === "has");
    return decision.score;
  };
  const half = scoreOf(makePod("p"));

  for (let i = 0; i < 8; i++) snapshot.setNode(makeNode(`more-${i}`));
  const tenth = scoreOf(makePod("q"));

  assert.ok(tenth < half, `${tenth} is not below ${half}`);
});

test("a decider that has missed many changes decides as if it had seen each one", () => {
  const snapshot = snapshotOf(["a", "b", "c"].map((name) => makeNode(name)));
  const decider = new Decider(profile, snapshot, alwaysFirst);
  decider.decide(makePod("p"));
  snapshot.removeNode("a");
  for (let i = 0; i < 5000; i++) place(snapshot, makePod(`p${i % 2}`), i % 3 === 0 ? "b" : "c");
  snapshot.setNode(makeNode("d"));

  const decision = decider.decide(makePod("q"));

  assert.deepEqual(decision, new Decider(profile, snapshot, alwaysFirst).decide(makePod("q")));
  assert(decision.node !== undefined);
  assert.deepEqual([decision.feasible, decision.evaluated], [3, 3]);
});

const names = Array.from({ length: 8 }, (_, at) => `n${at}`);
const images = ["web:1", "db:1"];

function randomNode(random: Random) {
  const taints = random.chance(20) ? [{ key: "t", effect: random.pick(["NoSchedule", "PreferNoSchedule"]) }] : [];
  return makeNode(random.pick(names), {
    labels: { zone: random.pick(["x", "y"]) },
    spec: { taints, unschedulable: random.chance(10) },
    status: {
      allocatable: { ...roomy, cpu: String(1 + random.below(4)), pods: String(2 + random.below(9)) },
      images: images.filter(() => random.chance(30)).map((name) => ({ names: [name], sizeBytes: 900 * 2 ** 20 })),
    },
  });
}

/** A pod of one of a few kinds, so that many are equivalent. */
function randomPod(random: Random, name: string): Pod {
  const preference = { matchExpressions: [{ key: "zone", operator: "In" as const, values: ["x"] }] };
  const preferredDuringSchedulingIgnoredDuringExecution = [{ weight: 5, preference }];
  const kinds = [
    {},
    { containers: [asking({ cpu: "500m", memory: "1Gi" })] },
    { nodeSelector: { zone: "x" }, containers: [asking({ cpu: "1" })] },
    { affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution } } },
    { containers: [{ name: "main", image: "db:1" }] },
    { tolerations: [{ operator: "Exists" as const }] },
    { containers: [{ name: "web", image: "web:1", ports: [{ containerPort: 80, hostPort: 80 }] }] },
    nodeNamed("n1", "n2"),
    { status: { nominatedNodeName: "n3" } },
  ];
  return makePod(name, random.pick<Parameters<typeof makePod>[1] & object>(kinds));
}

for (let seed = 1; seed <= 25; seed++) {
  test(`a decider with cached results decides like one without (seed ${seed})`, () => {
    const random = new Random(seed);
    const snapshot = snapshotOf([]);
    const decider = new Decider(profile, snapshot, alwaysFirst);
    let made = 0;

    for (let step = 0; step < 200; step++) {
      const chance = random.below(100);
      if (chance < 15) snapshot.setNode(randomNode(random));
      else if (chance < 20) snapshot.removeNode(random.pick(names));
      else if (chance < 35) snapshot.removePod(podKey(makePod(`p${random.below(made + 1)}`)));
      else {
        const pod = randomPod(random, `p${made++}`);
        const decision = decider.decide(pod);
        assert.deepEqual(decision, new Decider(profile, snapshot, alwaysFirst).decide(pod));
        if (decision.node !== undefined) place(snapshot, pod, decision.node);
      }
    }
  });
}
