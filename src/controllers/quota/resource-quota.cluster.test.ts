import assert from "node:assert/strict";
import { test } from "node:test";
import { allResources } from "#api/all.ts";
import { ConfigMap } from "#api/core/config-map.ts";
import { Namespace } from "#api/core/namespace.ts";
import { Pod } from "#api/core/pod.ts";
import { ResourceQuota } from "#api/core/resource-quota.ts";
import { staleObject } from "#api/status.ts";
import { type Client } from "#client/client.ts";
import { seededRandom } from "#lib/data/random.ts";
import { runReconcilers } from "#runtime/run-reconciler.ts";
import { type ComponentDeps, startCluster, type TestCluster } from "#testing/start-cluster.ts";
import { resourceQuotaController } from "./resource-quota.ts";

const namespace = "shop";
const quotaRef = { namespace, name: "few" };
const mapNamed = (name: string) => ({ metadata: { name, namespace } });

/** A namespace with a quota for config maps; the one with the certificates exists already. */
async function limited(cluster: TestCluster, most: number): Promise<void> {
  await cluster.apply(Namespace, { metadata: { name: namespace } });
  await cluster.settle();
  await cluster.client.create(ResourceQuota, { metadata: quotaRef, spec: { hard: { configmaps: String(most) } } });
  await cluster.settle();
}

const usedIn = async ({ client }: TestCluster): Promise<string | undefined> =>
  (await client.get(ResourceQuota, quotaRef)).status.used?.configmaps;

test("200 concurrent creates take exactly what the quota allows, and deletions give it back", async () => {
  await using cluster = await startCluster();
  await limited(cluster, 51);

  const names = Array.from({ length: 200 }, (_, index) => `m-${index}`);
  const outcomes = await Promise.allSettled(names.map((name) => cluster.client.create(ConfigMap, mapNamed(name))));
  const refused = outcomes.filter(({ status }) => status === "rejected");
  const made = await cluster.list(ConfigMap, namespace);

  assert.deepEqual([refused.length, made.length, await usedIn(cluster)], [150, 51, "51"]);
  const [first] = refused as PromiseRejectedResult[];
  assert.match(
    first?.reason.message,
    /^configmaps "m-\d+" is forbidden: exceeded quota: few, requested: configmaps=1, used: configmaps=51, limited: configmaps=51$/,
  );

  await Promise.all(made.slice(0, 20).map(({ metadata }) => cluster.client.delete(ConfigMap, metadata)));
  await cluster.settle();
  assert.equal(await usedIn(cluster), String((await cluster.list(ConfigMap, namespace)).length));
});

test("a create that fails after its charge gives it back", async () => {
  await using cluster = await startCluster({ controllers: true });
  await limited(cluster, 3);
  await cluster.client.create(ConfigMap, mapNamed("a"));
  for (let attempt = 0; attempt < 5; attempt++) {
    await assert.rejects(cluster.client.create(ConfigMap, mapNamed("a")), { reason: "AlreadyExists" });
  }
  await cluster.client.create(ConfigMap, mapNamed("b"));
  assert.equal(await usedIn(cluster), "3");
});

test("a pod takes compute resources until it has ended, and its limits can be changed", async () => {
  await using cluster = await startCluster();
  await cluster.apply(Namespace, { metadata: { name: namespace } });
  await cluster.settle();
  const hard = { pods: "2", "count/pods": "3", "requests.cpu": "1", "requests.example.com/gpu": "1", "count/a.b": "1" };
  await cluster.client.create(ResourceQuota, { metadata: quotaRef, spec: { hard } });
  await cluster.settle();
  const { status: empty } = await cluster.client.get(ResourceQuota, quotaRef);
  assert.deepEqual(empty.hard, hard);
  assert.deepEqual(empty.used, { pods: "0", "count/pods": "0", "requests.cpu": "0", "requests.example.com/gpu": "0" });

  const containers = [{ name: "c", image: "i", resources: { requests: { cpu: "400m" } } }];
  const metadata = { name: "p", namespace };
  await cluster.client.create(Pod, { metadata, spec: { containers } });
  assert.equal((await cluster.client.get(ResourceQuota, quotaRef)).status.used?.["requests.cpu"], "400m");
  await cluster.settle();
  const pod = await cluster.client.get(Pod, metadata);
  await cluster.client.updateStatus(Pod, { ...pod, status: { ...pod.status, phase: "Succeeded" } });
  await cluster.settle();
  const used = { pods: "0", "count/pods": "1", "requests.cpu": "0", "requests.example.com/gpu": "0" };
  assert.deepEqual((await cluster.client.get(ResourceQuota, quotaRef)).status.used, used);

  const body = { spec: { hard: { "count/pods": "1", configmaps: "7" } } };
  await cluster.client.patch(ResourceQuota, quotaRef, { type: "merge", body });
  await cluster.settle();
  const { status } = await cluster.client.get(ResourceQuota, quotaRef);
  assert.deepEqual(status, { hard: { ...hard, ...body.spec.hard }, used: { ...used, configmaps: "1" } });
  await assert.rejects(cluster.client.create(Pod, { metadata: { name: "q", namespace }, spec: { containers } }), {
    message:
      'pods "q" is forbidden: exceeded quota: few, requested: count/pods=1, used: count/pods=1, limited: count/pods=1',
  });
});

test("what somebody wrote into the status is corrected", async () => {
  await using cluster = await startCluster();
  await limited(cluster, 5);
  const quota = await cluster.client.get(ResourceQuota, quotaRef);
  await cluster.client.updateStatus(ResourceQuota, { ...quota, status: { hard: { configmaps: "99" } } });
  await cluster.settle();
  const { status } = await cluster.client.get(ResourceQuota, quotaRef);
  assert.deepEqual(status, { hard: { configmaps: "5" }, used: { configmaps: "1" } });

  await cluster.client.updateStatus(ResourceQuota, {
    ...quota,
    metadata: { ...quota.metadata, resourceVersion: "" },
    status: { ...status, used: { configmaps: "4" } },
  });
  await cluster.clock.advance(10_000);
  await cluster.settle();
  assert.equal(await usedIn(cluster), "1");
});

for (const seed of [1, 2, 3, 4, 5]) {
  test(`a quota is never exceeded while objects come and go and the controller crashes (seed ${seed})`, async () => {
    await using cluster = await startCluster({
      seed,
      controllers: false,
      components: (deps) => [(stop) => runCrashing(deps, seed, stop)],
    });
    await cluster.apply(Namespace, { metadata: { name: namespace } });
    await cluster.client.create(ResourceQuota, { metadata: quotaRef, spec: { hard: { configmaps: "12" } } });
    await cluster.until(async () => (await usedIn(cluster)) !== undefined);
    const there = new Set<string>();
    let most = 0;
    cluster.informers.of(ConfigMap).subscribe(({ type, object: { metadata } }) => {
      if (metadata.namespace !== namespace) return;
      if (type === "delete") there.delete(metadata.name);
      else there.add(metadata.name);
      most = Math.max(most, there.size);
    });

    const random = seededRandom(seed);
    const worker = async (id: number): Promise<void> => {
      for (let round = 0; round < 40; round++) {
        const name = `m-${id}-${Math.floor(random() * 5)}`;
        const task =
          random() < 0.6
            ? cluster.client.create(ConfigMap, mapNamed(name))
            : cluster.client.delete(ConfigMap, { namespace, name });
        await task.catch(() => undefined);
        if (random() < 0.2) await cluster.clock.sleep(random() * 200);
      }
    };
    const workers = Promise.all(Array.from({ length: 12 }, (_, id) => worker(id)));
    let isDone = false;
    void workers.then(() => {
      isDone = true;
    });
    await cluster.until(() => isDone);
    await cluster.clock.advance(30_000);
    await cluster.settle();

    assert(most <= 12, `${most} objects at the same time`);
    assert(most >= 8, `the quota was hardly used: ${most}`);
    assert.equal(await usedIn(cluster), String(there.size));
  });
}

/** The controller, restarted whenever it crashes. Every third of its writes is refused. */
async function runCrashing(deps: ComponentDeps, seed: number, signal: AbortSignal): Promise<void> {
  const random = seededRandom(seed);
  let writes = 0;
  while (!signal.aborted) {
    const crash = new AbortController();
    const client: Client = {
      ...deps.client,
      async updateStatus(resource, object, options) {
        if (random() < 0.05) crash.abort(new Error("crash"));
        if (++writes % 3 === 0) throw staleObject(resource, "chaos");
        return await deps.client.updateStatus(resource, object, options);
      },
    };
    const stop = AbortSignal.any([signal, crash.signal]);
    await runReconcilers([resourceQuotaController(() => allResources)], { ...deps, client }, stop);
    await deps.clock.sleep(100, signal).catch(() => undefined);
  }
}
