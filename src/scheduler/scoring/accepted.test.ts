import assert from "node:assert/strict";
import { test } from "node:test";
import { type Pod } from "#api/core/pod.ts";
import { Random } from "#testing/arbitrary.ts";
import { makeNode, makePod, podKey, snapshotOf, testProfile } from "#testing/scheduling.ts";
import { Decider } from "../decide.ts";
import { type Snapshot } from "../snapshot.ts";

const host = "kubernetes.io/hostname";
const term = { labelSelector: { matchLabels: { app: "apart" } }, topologyKey: host };
const affinity = { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } };
const apart = (name: string): Pod => makePod(name, { labels: { app: "apart" }, affinity });
const nodeOf = (name: string, random: Random) =>
  makeNode(name, random.chance(90) ? { labels: { [host]: name } } : { labels: { [host]: "shared" } });
const alwaysFirst = () => 0;

/** One thing that happens to a cluster, which may change where pods that keep apart can go. */
function change(snapshot: Snapshot, random: Random): void {
  const placed = snapshot.nodes.flatMap(({ pods }) => [...pods.values()]);
  const pod = placed.length > 0 ? random.pick(placed) : undefined;
  const kind = random.below(10);
  if (kind === 0) snapshot.setNode(nodeOf(`n${random.below(12)}`, random));
  else if (kind === 1) snapshot.removeNode(`n${random.below(12)}`);
  else if (kind === 2) put(snapshot, makePod(`free-${random.below(9)}`), `n${random.below(12)}`);
  else if (kind < 5 && pod) snapshot.removePod(podKey(pod));
  else if (kind < 7 && pod) put(snapshot, relabelled(pod, random.pick(["apart", "other"])), pod.spec.nodeName ?? "");
}

const put = (snapshot: Snapshot, pod: Pod, nodeName: string) =>
  snapshot.setPod(podKey(pod), { ...pod, spec: { ...pod.spec, nodeName } });
const relabelled = (pod: Pod, app: string): Pod => ({ ...pod, metadata: { ...pod.metadata, labels: { app } } });

test("pods that keep apart go where a decider puts them that looks at every node, whatever happens between them", () => {
  for (let seed = 1; seed <= 12; seed++) {
    const random = new Random(seed);
    const snapshot = snapshotOf(Array.from({ length: 8 }, (_, n) => nodeOf(`n${n}`, random)));
    const lasting = new Decider(testProfile(), snapshot, alwaysFirst);
    for (let step = 0; step < 40; step++) {
      change(snapshot, random);
      const pod = apart(`p${step}`);
      const decision = lasting.decide(pod);
      assert.deepEqual(decision, new Decider(testProfile(), snapshot, alwaysFirst).decide(pod), `${seed}, ${step}`);
      if (decision.node !== undefined) put(snapshot, pod, decision.node);
    }
  }
});
