import assert from "node:assert/strict";
import { test } from "node:test";
import { Deployment } from "#api/apps/deployment.ts";
import { ReplicaSet } from "#api/apps/replica-set.ts";
import { ConfigMap } from "#api/core/config-map.ts";
import { Namespace } from "#api/core/namespace.ts";
import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { type Resource } from "#api/resource.ts";
import { isNotFound, staleObject } from "#api/status.ts";
import { type Client } from "#client/client.ts";
import { controllerUser } from "#cluster/identities.ts";
import { neverAborted } from "#lib/async/tasks.ts";
import { type Random, seededRandom } from "#lib/data/random.ts";
import { runReconcilers } from "#runtime/run-reconciler.ts";
import { heartbeats, podRunner } from "#testing/pod-runner.ts";
import { type ComponentDeps, startCluster, type TestCluster } from "#testing/start-cluster.ts";
import { runControllers } from "./all.ts";

/** Refuses every third write, and calls back before some of the others. */
function unreliable(client: Client, random: Random, onCrash: () => void): Client {
  let writes = 0;
  const disturb = (resource: Resource): void => {
    writes++;
    if (random() < 0.02) onCrash();
    if (writes % 3 === 0) throw staleObject(resource, "chaos");
  };
  return {
    ...client,
    async create(resource, object, options) {
      disturb(resource);
      return await client.create(resource, object, options);
    },
    async update(resource, object, options) {
      disturb(resource);
      return await client.update(resource, object, options);
    },
    async updateStatus(resource, object, options) {
      disturb(resource);
      return await client.updateStatus(resource, object, options);
    },
    async patch(resource, ref, patch, options) {
      disturb(resource);
      return await client.patch(resource, ref, patch, options);
    },
    async delete(resource, ref, options) {
      disturb(resource);
      return await client.delete(resource, ref, options);
    },
  };
}

/** The controllers, restarted whenever they crash. */
async function runCrashing(deps: ComponentDeps, seed: number, signal: AbortSignal): Promise<void> {
  const random = seededRandom(seed);
  while (!signal.aborted) {
    const crash = new AbortController();
    const clientFor = (account: string) =>
      unreliable(deps.clientFor(controllerUser(account)), random, () => crash.abort(new Error("crash")));
    await runControllers({ ...deps, clientFor, rootCa: "certificate" }, AbortSignal.any([signal, crash.signal]));
    await deps.clock.sleep(100, signal).catch(() => undefined);
  }
}

async function startChaos(seed: number): Promise<TestCluster> {
  const cluster = await startCluster({
    controllers: false,
    seed,
    components: (deps) => [
      (stop) => runCrashing(deps, seed, stop),
      (stop) => runReconcilers([podRunner(), binder], deps, stop),
      (stop) => heartbeats(deps, ["node-1"], stop),
    ],
  });
  await cluster.client.create(Node, {
    metadata: { name: "node-1" },
    status: { conditions: [{ type: "Ready", status: "True" }] },
  });
  await cluster.settle();
  return cluster;
}

/** A minimal scheduler. */
const binder = ({ client }: Pick<ComponentDeps, "client">) => ({
  name: "binder",
  reconciles: Pod,
  async reconcile(pod: Pod) {
    if (pod.spec.nodeName || pod.metadata.deletionTimestamp) return;
    const { namespace, name } = pod.metadata;
    const body = { apiVersion: "v1", kind: "Binding", metadata: { name }, target: { kind: "Node", name: "node-1" } };
    await client.createSubresource(Pod, { namespace, name }, "binding", body, { signal: neverAborted });
  },
});

const labels = { app: "web" };
const metadata = { name: "web", namespace: "shop" };
const deployment = (replicas: number, image: string) => ({
  metadata,
  spec: {
    replicas,
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: [{ name: "web", image }] } },
  },
});

for (const seed of [1, 2, 3, 4, 5]) {
  test(`controllers converge within their limits despite crashes and conflicts (seed ${seed})`, async () => {
    await using cluster = await startChaos(seed);
    await cluster.apply(Namespace, { metadata: { name: "shop" } });
    await cluster.settle();
    let most = 0;
    const alive = new Set<string>();
    cluster.informers.of(Pod).subscribe(({ type, object: { metadata } }) => {
      if (type === "delete" || metadata.deletionTimestamp) alive.delete(metadata.uid);
      else alive.add(metadata.uid);
      most = Math.max(most, alive.size);
    });

    await cluster.apply(Deployment, deployment(20, "web:1"));
    await cluster.settle();
    const first = alive.size;
    await cluster.apply(Deployment, deployment(20, "web:2"));
    await cluster.settle();

    const pods = await cluster.list(Pod, "shop");
    const sets = await cluster.list(ReplicaSet, "shop");
    const { status } = await cluster.client.get(Deployment, metadata);
    assert.deepEqual([first, pods.length, status.availableReplicas], [20, 20, 20]);
    assert(pods.every(({ spec }) => spec.containers[0]?.image === "web:2"));
    assert.equal(sets.length, 2);
    assert(most <= 25, `${most} pods at the same time`);

    await cluster.client.create(ConfigMap, { metadata: { name: "m", namespace: "shop" } });
    await cluster.client.delete(Namespace, { name: "shop" });
    await cluster.settle();
    await assert.rejects(cluster.client.get(Namespace, { name: "shop" }), isNotFound);
    assert.deepEqual(await cluster.list(Pod, "shop"), []);
  });
}
