import assert from "node:assert/strict";
import { test } from "node:test";
import { makePod } from "#testing/scheduling.ts";
import { type Labels } from "./affinity-term.ts";
import { Holders } from "./holders.ts";

/** A pod that wants to be apart from pods of other namespaces with this label. */
const apartFrom = (name: string, labels: readonly string[]) =>
  makePod(name, {
    affinity: {
      podAntiAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: labels.map((label) => ({
          topologyKey: "zone",
          labelSelector: { matchLabels: { [label]: "1" } },
          namespaceSelector: { matchLabels: { team: "a" } },
        })),
      },
    },
  });

/** Counts how often a term is compared with a pod that has all labels: each of them asks for the namespace. */
function countingLabels(): { count: number; of: () => Labels } {
  const counted = { count: 0, of: () => ({ team: "a" }) };
  counted.of = () => {
    counted.count++;
    return { team: "a" };
  };
  return counted;
}

test("Holders compares a pod only with terms that are new since the last time, however often pods come and go", () => {
  const labels = Array.from({ length: 500 }, (_, n) => `l${n}`);
  const all = makePod("all", { labels: Object.fromEntries([...labels, "last"].map((label) => [label, "1"])) });
  const holders = new Holders();
  const namespace = countingLabels();
  const many = apartFrom("many", labels);
  holders.add(many, 0, 1);
  assert.equal(holders.concerning(all, namespace.of).length, 500);
  assert.equal(namespace.count, 500);

  for (let n = 0; n < 10; n++) {
    holders.add(many, 0, -1);
    assert.equal(holders.concerning(all, namespace.of).length, 0);
    holders.add(many, 0, 1);
    assert.equal(holders.concerning(all, namespace.of).length, 500);
  }
  holders.add(apartFrom("one", ["last"]), 1, 1);
  assert.equal(holders.concerning(all, namespace.of).length, 501);
  assert.equal(namespace.count, 501);
});

test("Holders forgets terms that no pod has any more", () => {
  const holders = new Holders();
  const namespace = countingLabels();
  const labels: Record<string, string> = {};
  for (let n = 0; n < 5000; n++) {
    labels[`l${n}`] = "1";
    const pod = apartFrom(`p${n}`, [`l${n}`]);
    holders.add(pod, 0, 1);
    holders.add(pod, 0, -1);
  }
  holders.add(apartFrom("kept", ["l1"]), 0, 1);
  assert.equal(holders.concerning(makePod("all", { labels }), namespace.of).length, 1);
  assert.ok(namespace.count <= 2000, `${namespace.count} terms are kept`);
});
