import assert from "node:assert/strict";
import { test } from "node:test";
import { Deployment } from "#api/apps/deployment.ts";
import { ConfigMap } from "#api/core/config-map.ts";
import { Namespace } from "#api/core/namespace.ts";
import { Node } from "#api/core/node.ts";
import { isReady } from "#api/core/pod/pod-state.ts";
import { Pod } from "#api/core/pod.ts";
import { ServiceAccount } from "#api/core/service-account.ts";
import { isConditionTrue } from "#api/meta/condition.ts";
import { isForbidden } from "#api/status.ts";
import { startCluster } from "./start-cluster.ts";

test("startCluster() starts a control plane that settles", async () => {
  await using cluster = await startCluster();

  await cluster.apply(Namespace, { metadata: { name: "shop" } });
  await cluster.settle();

  const accounts = await cluster.list(ServiceAccount, "shop");
  assert.deepEqual(
    accounts.map(({ metadata }) => metadata.name),
    ["default"],
  );
  const [certificates] = await cluster.list(ConfigMap, "shop");
  assert.match(certificates?.data?.["ca.crt"] ?? "", /BEGIN CERTIFICATE/);
});

test("a later cluster of a process does the same as the first one with its seed", async () => {
  const run = async (): Promise<readonly string[]> => {
    await using cluster = await startCluster({ seed: 4711, nodes: 1 });
    const spec = { containers: [{ name: "web", image: "nginx" }] };
    await cluster.apply(Pod, { metadata: { namespace: "default", name: "web" }, spec });
    await cluster.settle();
    const { entries } = await cluster.store.list("/registry/");
    // The keys of authorities are secret and differ.
    return entries.map(({ value }) =>
      Buffer.from(value)
        .toString()
        .replace(/-----BEGIN[^"]*/g, ""),
    );
  };

  const [first, later] = [await run(), await run()];

  assert(first.length > 0);
  assert.deepEqual(later, first);
});

test("startCluster() places a pod on a node that is created later", async () => {
  await using cluster = await startCluster();
  const { apply, settle } = cluster;
  await settle();
  const spec = { containers: [{ name: "web", image: "nginx" }] };
  await apply(Pod, { metadata: { namespace: "default", name: "web" }, spec });
  await settle();

  const resources = { cpu: "2", memory: "4Gi", pods: "10" };
  await apply(Node, { metadata: { name: "node-1" } });
  const status = {
    capacity: resources,
    allocatable: resources,
    conditions: [{ type: "Ready", status: "True" as const }],
  };
  await cluster.client.updateStatus(Node, { metadata: { name: "node-1" }, status });
  await cluster.client.patch(Node, { name: "node-1" }, { type: "merge", body: { spec: { taints: null } } });
  await settle();

  const [pod] = await cluster.list(Pod);
  assert.equal(pod?.spec.nodeName, "node-1");
});

test("startCluster() runs all checks and freezes shared objects", async () => {
  await using cluster = await startCluster({ controllers: false });

  const stranger = cluster.clientFor({ name: "stranger", groups: [] });
  await assert.rejects(stranger.list(Pod), isForbidden);
  const [namespace] = await cluster.list(Namespace);

  assert(namespace);
  assert.throws(() => Object.assign(namespace.metadata, { name: "changed" }), TypeError);
});

const labels = { app: "web" };
const web = (replicas: number) => ({
  metadata: { namespace: "default", name: "web" },
  spec: {
    replicas,
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: [{ name: "web", image: "web:1" }] } },
  },
});
test("startCluster() with nodes runs pods until they are ready, and stops them", async () => {
  await using cluster = await startCluster({ nodes: 3 });

  await cluster.apply(Deployment, web(6));
  await cluster.settle();
  const pods = await cluster.list(Pod);
  await cluster.client.delete(Deployment, { namespace: "default", name: "web" });
  await cluster.settle();

  assert.deepEqual(pods.map(isReady), Array(6).fill(true));
  assert.equal(new Set(pods.map(({ spec }) => spec.nodeName)).size, 3);
  assert.equal(new Set(pods.map(({ status }) => status.podIP)).size, 6);
  assert.deepEqual(await cluster.list(Pod), []);
  for (const { runtime } of cluster.nodes) assert.deepEqual(await runtime.listSandboxes(), []);
});

/** Every change of a rollout, in order. The machine is slow at some of them. */
async function changesOf(isSlow: (change: number) => boolean): Promise<readonly string[]> {
  await using cluster = await startCluster({ nodes: 3, seed: 7 });
  const changes: string[] = [];
  cluster.store.watch("/registry/", cluster.store.revision, {
    events(events) {
      for (const { key } of events) if (isSlow(changes.push(key))) keepBusy(10);
    },
    failed: () => {},
  });
  await cluster.apply(Deployment, web(10));
  await cluster.settle();
  return changes;
}

function keepBusy(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

test("the same seed does the same on a slow machine", async () => {
  const quick = await changesOf(() => false);
  const slow = await changesOf((change) => change % 5 === 0);

  assert.ok(quick.length > 50);
  assert.deepEqual(slow, quick);
});

test("a simulated node that stops loses its pods, and gets pods again when it is back", async () => {
  await using cluster = await startCluster({ nodes: 2 });
  const [lost] = cluster.nodes;
  assert(lost);
  await cluster.settle();
  await cluster.apply(Deployment, web(4));
  await cluster.settle();
  const before = await lost.runtime.listContainers();

  await lost.stop();
  await cluster.clock.advance(400_000);
  const replaced = (await cluster.list(Pod)).filter((pod) => !pod.metadata.deletionTimestamp);
  const left = await lost.runtime.listContainers();
  lost.start();
  await cluster.settle();

  assert.deepEqual(
    replaced.map(({ spec }) => spec.nodeName),
    Array(4).fill("node-2"),
  );
  assert.equal(left.length, before.length);
  assert.deepEqual(await lost.runtime.listContainers(), []);
  const nodes = await cluster.list(Node);
  assert(nodes.every(({ status, spec }) => isConditionTrue(status.conditions, "Ready") && !spec.taints));
});

test("startCluster() on the system clock runs by itself", async () => {
  await using cluster = await startCluster({ nodes: 1, clock: "system" });

  await cluster.apply(Deployment, web(1));
  await cluster.until(async () => (await cluster.list(Pod)).some(isReady));
  await cluster.until(async () => (await cluster.list(Deployment))[0]?.status.availableReplicas === 1);
  await cluster.settle({ quietMs: 50 });

  const pods = await cluster.list(Pod);
  assert.equal(pods.length, 1);
});

test("a component that fails ends the test with its own error", async () => {
  const broken = async (): Promise<void> => {
    await using cluster = await startCluster({
      components: () => [() => Promise.reject(new Error("the component is broken"))],
    });
    await cluster.settle();
  };

  await assert.rejects(broken(), { message: "the component is broken" });
});
