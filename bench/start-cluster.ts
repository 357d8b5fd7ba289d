/**
 * How long `startCluster()` takes to its first ready pod, and how it handles many nodes and pods, on virtual time in one
 * process: `./orlop run bench/start-cluster.ts --nodes 1000 --pods 5000`. With `--turns 100`
 * it uses so many clusters one after another, ten at once, and shows what stays in memory.
 */
import { parseArgs } from "node:util";
import { Deployment } from "#api/apps/deployment.ts";
import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { isConditionTrue } from "#api/meta/condition.ts";
import { collectGarbage } from "#lib/process/collect-garbage.ts";
import { startCluster, type TestCluster } from "#testing/start-cluster.ts";

const { values: flags } = parseArgs({
  options: {
    rounds: { type: "string", default: "3" },
    nodes: { type: "string", default: "0" },
    pods: { type: "string", default: "0" },
    turns: { type: "string", default: "0" },
  },
});

const labels = { app: "web" };
const deployment = (replicas: number) => ({
  metadata: { namespace: "default", name: "web" },
  spec: {
    replicas,
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: [{ name: "web", image: "web:1" }] } },
  },
});
const memory = (): string => `${Math.round(process.memoryUsage().rss / 2 ** 20)} MiB`;
const ms = (since: number): string => `${Math.round(performance.now() - since)} ms`;

function counts(cluster: TestCluster): { readyNodes: number; readyPods: number } {
  const isReady = ({ status }: Pod | Node) => isConditionTrue(status.conditions, "Ready");
  return {
    readyNodes: cluster.informers.of(Node).list().filter(isReady).length,
    readyPods: cluster.informers.of(Pod).list("default").filter(isReady).length,
  };
}

async function firstPod(): Promise<void> {
  const start = performance.now();
  await using cluster = await startCluster({ nodes: 3 });
  const booted = performance.now() - start;
  await cluster.apply(Deployment, deployment(1));
  await cluster.until(() => counts(cluster).readyPods === 1);
  console.log(`3 nodes: first ready pod after ${ms(start)}, of which boot ${Math.round(booted)} ms`);
}

async function many(nodes: number, pods: number): Promise<void> {
  const start = performance.now();
  await using cluster = await startCluster({ nodes });
  await cluster.until(() => counts(cluster).readyNodes === nodes);
  console.log(`${nodes} nodes ready: ${ms(start)}, ${memory()}`);
  const middle = performance.now();
  await cluster.apply(Deployment, deployment(pods));
  // Listing all pods at every step would be most of the work.
  await cluster.until(() => cluster.informers.of(Deployment).list()[0]?.status.availableReplicas === pods);
  console.log(`${pods} pods ready: ${ms(middle)}, ${memory()}`);
  const quiet = performance.now();
  const virtual = cluster.clock.now();
  await cluster.clock.advance(60_000);
  console.log(`a minute of nothing but heartbeats (${cluster.clock.now() - virtual} ms): ${ms(quiet)}`);
  const end = performance.now();
  await cluster.client.delete(Deployment, { namespace: "default", name: "web" });
  await cluster.until(() => cluster.informers.of(Pod).list("default").length === 0);
  console.log(`${pods} pods gone: ${ms(end)}, ${memory()}`);
}

/** Memory that is in use after a collection. */
async function heap(): Promise<string> {
  await collectGarbage();
  await collectGarbage();
  return `${(process.memoryUsage().heapUsed / 2 ** 20).toFixed(1)} MiB`;
}

async function useOne(seed: number): Promise<void> {
  await using cluster = await startCluster({ nodes: 2, seed });
  await cluster.apply(Deployment, deployment(3));
  await cluster.settle();
}

async function inTurn(turns: number): Promise<void> {
  for (let turn = 1; turn <= turns; turn++) {
    await useOne(turn);
    if (turn % Math.ceil(turns / 5) === 0) console.log(`after ${turn} clusters in turn: ${await heap()}`);
  }
  for (let round = 1; round <= 3; round++) {
    await Promise.all(Array.from({ length: 10 }, (_, index) => useOne(1000 * round + index)));
    console.log(`after 10 clusters at once: ${await heap()}`);
  }
  console.log(`what keeps the process alive: ${process.getActiveResourcesInfo().join(", ") || "nothing"}`);
}

console.log(`from the start of the process: ${Math.round(performance.now())} ms`);
for (let round = 0; round < Number(flags.rounds); round++) await firstPod();
if (Number(flags.nodes) > 0) await many(Number(flags.nodes), Number(flags.pods));
if (Number(flags.turns) > 0) await inTurn(Number(flags.turns));
