import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "#api/core/pod.ts";
import { PriorityClass } from "#api/scheduling/priority-class.ts";
import { startCluster } from "#testing/start-cluster.ts";
import { keyOf } from "../pod-key.ts";
import { renderVerdicts } from "./verdicts.ts";

test("a decision can be read: scores by plugin, the place of a pod, what wakes it, and who ends for it", async () => {
  const capacity = { cpu: "2", memory: "4Gi", pods: "10" };
  await using cluster = await startCluster({ nodes: 2, simulation: { capacity } });
  await cluster.settle();
  const create = (name: string, cpu: string, spec = {}) =>
    cluster.apply(Pod, {
      metadata: { name, namespace: "default" },
      spec: { containers: [{ name: "main", image: "web:1", resources: { requests: { cpu } } }], ...spec },
    });
  const see = (pod: Pod) => renderVerdicts(cluster.verdicts.of(keyOf(pod)), cluster.verdicts.whereIs(keyOf(pod)));
  await cluster.client.create(PriorityClass, { metadata: { name: "high" }, value: 10 });

  const placed = await create("placed", "1500m");
  await cluster.settle();
  const scores = see(placed).attempts.at(-1)?.scores ?? [];
  assert.equal(scores.length, 2);
  const [best] = scores;
  assert(best && see(placed).queue === undefined);
  const parts = Object.values(best.plugins).reduce((sum, score) => sum + score, 0);
  assert.equal(best.total, parts);
  assert.ok((best.plugins.NodeResourcesFit ?? 0) > 0 && (best.plugins.TaintToleration ?? 0) === 300);

  await create("second", "1500m");
  await cluster.settle();
  const large = await create("large", "1");
  await cluster.until(() => see(large).queue?.place === "unschedulable");
  assert.deepEqual(see(large).queue, {
    place: "unschedulable",
    wokenBy: { NodeResourcesFit: ["Node", "Pod", "DeviceClass"] },
  });

  const gated = await create("gated", "1", { schedulingGates: [{ name: "example.com/later" }] });
  await cluster.settle();
  assert.deepEqual(see(gated).queue, {
    place: "gated",
    plugin: "SchedulingGates",
    reason: "waiting for scheduling gates: [example.com/later]",
    wokenBy: {},
  });

  const high = await create("high", "1500m", { priorityClassName: "high" });
  await cluster.until(() => see(high).attempts.some(({ victims }) => victims?.length));
  const [victim] = see(high).attempts.flatMap(({ victims }) => victims ?? []);
  assert.match(victim ?? "", /^default\/(placed|second)$/);
});
