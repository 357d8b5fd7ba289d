import assert from "node:assert/strict";
import { test } from "node:test";
import { Deployment } from "#api/apps/deployment.ts";
import { Pod } from "#api/core/pod.ts";
import { type InputOf } from "#api/resource.ts";
import { asking } from "#testing/scheduling.ts";
import { startCluster } from "#testing/start-cluster.ts";

const labels = { app: "web" };
const selector = { matchLabels: labels };
type Spec = Partial<InputOf<Pod>["spec"]>;

/** Where the pods of a Deployment are: three nodes, of which the first two are in one zone. */
async function place(replicas: number, spec: Spec): Promise<string[]> {
  const simulation = { labels: (index: number) => ({ zone: index < 2 ? "a" : "b" }) };
  await using cluster = await startCluster({ nodes: 3, simulation });
  const template = { metadata: { labels }, spec: { containers: [asking({ cpu: "10m" })], ...spec } };
  await cluster.apply(Deployment, {
    metadata: { name: "web", namespace: "default" },
    spec: { replicas, selector, template },
  });
  await cluster.settle();
  const pods = await cluster.list(Pod, "default");
  return pods.map(({ spec: { nodeName } }) => nodeName ?? "").sort();
}

test("pods of a Deployment are spread over the nodes without being told so", async () => {
  assert.deepEqual(await place(6, {}), ["node-1", "node-1", "node-2", "node-2", "node-3", "node-3"]);
});

test("pods that must be apart wait when there is no node left", async () => {
  const requiredDuringSchedulingIgnoredDuringExecution = [
    { topologyKey: "kubernetes.io/hostname", labelSelector: selector },
  ];
  const affinity = { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution } };

  assert.deepEqual(await place(4, { affinity }), ["", "node-1", "node-2", "node-3"]);
});

test("pods are spread over zones as their constraint says", async () => {
  const topologySpreadConstraints = [
    { topologyKey: "zone", maxSkew: 1, whenUnsatisfiable: "DoNotSchedule" as const, labelSelector: selector },
  ];

  const placed = await place(6, { topologySpreadConstraints });

  assert.equal(placed.filter((node) => node === "node-3").length, 3, placed.join());
});
