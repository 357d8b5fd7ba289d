import assert from "node:assert/strict";
import { test } from "node:test";
import { type Node } from "#api/core/node.ts";
import { type Pod } from "#api/core/pod.ts";
import { Random } from "#testing/arbitrary.ts";
import { asking, infoOf, makeNode, makePod, podKey, roomy, snapshotOf } from "#testing/scheduling.ts";
import { Snapshot } from "./snapshot.ts";

test("a snapshot counts a pod on its node until it finishes", () => {
  const pod = makePod("p", { nodeName: "a", containers: [asking({ cpu: "1" })] });
  const snapshot = snapshotOf([makeNode("a")], [pod]);
  assert.equal(infoOf(snapshot, "a").requested.milliCpu, 1000);

  const freed = snapshot.setPod(podKey(pod), { ...pod, status: { phase: "Succeeded" } });

  assert.equal(freed, true);
  assert.equal(infoOf(snapshot, "a").requested.milliCpu, 0);
  assert.equal(infoOf(snapshot, "a").pods.size, 0);
});

test("a snapshot keeps the version when only the status of a pod changes", () => {
  const pod = makePod("p", { nodeName: "a" });
  const snapshot = snapshotOf([makeNode("a")], [pod]);
  const { version } = infoOf(snapshot, "a");

  assert.equal(snapshot.setPod(podKey(pod), { ...pod, status: { phase: "Running" } }), false);

  assert.equal(infoOf(snapshot, "a").version, version);
  assert.equal(snapshot.podOf(podKey(pod))?.status?.phase, "Running");
});

test("a snapshot reports when a resize frees resources", () => {
  const pod = (cpu: string) => makePod("p", { nodeName: "a", containers: [asking({ cpu })] });
  const snapshot = snapshotOf([makeNode("a")], [pod("2")]);

  assert.equal(snapshot.setPod(podKey(pod("3")), pod("3")), false);
  assert.equal(infoOf(snapshot, "a").requested.milliCpu, 3000);
  assert.equal(snapshot.setPod(podKey(pod("1")), pod("1")), true);
  assert.equal(infoOf(snapshot, "a").requested.milliCpu, 1000);
});

test("a snapshot keeps the pods of a node that comes back", () => {
  const snapshot = snapshotOf([makeNode("a")], [makePod("p", { nodeName: "a", containers: [asking({ cpu: "1" })] })]);

  snapshot.removeNode("a");
  assert.deepEqual(snapshot.nodes, []);
  snapshot.setNode(makeNode("a"));

  assert.equal(infoOf(snapshot, "a").requested.milliCpu, 1000);
  assert.equal(snapshot.nodes.length, 1);
});

test("a snapshot reuses the slots of nodes that are gone, under new versions", () => {
  const snapshot = snapshotOf([makeNode("a"), makeNode("b")]);
  const { slot, version } = infoOf(snapshot, "a");

  snapshot.removeNode("a");
  snapshot.setNode(makeNode("c"));

  assert.equal(infoOf(snapshot, "c").slot, slot);
  assert.ok(infoOf(snapshot, "c").version > version);
  assert.equal(snapshot.slots, 2);
});

/** Everything a snapshot returns except versions and slots. */
const described = (snapshot: Snapshot) => ({
  nodes: Object.fromEntries(
    snapshot.nodes
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .map(({ name, version: _version, slot: _slot, pods, ...info }) => [
        name,
        { ...info, pods: new Set(pods.keys()) },
      ]),
  ),
  spread: images.map((image) => snapshot.imageSpread(image)),
});

const names = ["a", "b", "c", "d"];
const images = ["web:1", "db:1"];

function randomNode(random: Random): Node {
  const name = random.pick(names);
  const allocatable = { ...roomy, cpu: String(1 + random.below(8)), pods: String(1 + random.below(20)) };
  const kept = images
    .filter(() => random.chance(50))
    .map((image) => ({ names: [image], sizeBytes: random.below(900) }));
  return makeNode(name, { status: { allocatable, images: kept } });
}

function randomPod(random: Random): Pod {
  const requests: Record<string, string> = {};
  if (random.chance(70)) requests.cpu = `${random.below(900)}m`;
  if (random.chance(50)) requests.memory = `${random.below(900)}Mi`;
  if (random.chance(30)) requests["example.com/gpu"] = String(random.below(3));
  const ports = random.chance(30) ? [{ containerPort: 80, hostPort: 80 + random.below(3) }] : [];
  const nodeName = random.chance(85) ? random.pick([...names, "e"]) : undefined;
  return makePod(`p${random.below(12)}`, {
    ...(nodeName ? { nodeName } : {}),
    containers: [{ ...asking(requests), ports }],
    status: { phase: random.chance(85) ? "Running" : "Failed" },
  });
}

for (let seed = 1; seed <= 40; seed++) {
  test(`an updated snapshot equals a new one (seed ${seed})`, () => {
    const random = new Random(seed);
    const snapshot = new Snapshot();
    const nodes = new Map<string, Node>();
    const pods = new Map<string, Pod>();

    for (let step = 0; step < 150; step++) {
      const chance = random.below(100);
      if (chance < 25) {
        const node = randomNode(random);
        nodes.set(node.metadata.name, node);
        snapshot.setNode(node);
      } else if (chance < 35) {
        const name = random.pick(names);
        nodes.delete(name);
        snapshot.removeNode(name);
      } else if (chance < 85) {
        const pod = randomPod(random);
        pods.set(podKey(pod), pod);
        snapshot.setPod(podKey(pod), pod);
      } else {
        const key = podKey(makePod(`p${random.below(12)}`));
        pods.delete(key);
        snapshot.removePod(key);
      }
      if (step % 10 === 9) {
        assert.deepEqual(described(snapshot), described(snapshotOf([...nodes.values()], [...pods.values()])));
      }
    }
    assert.ok(snapshot.slots <= names.length + 1);
    assert.equal(new Set(snapshot.nodes.map(({ slot }) => slot)).size, snapshot.nodes.length);
  });
}
