import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { test } from "node:test";
import { Deployment } from "#api/apps/deployment.ts";
import { ConfigMap } from "#api/core/config-map.ts";
import { Node } from "#api/core/node.ts";
import { isReady } from "#api/core/pod/pod-state.ts";
import { Pod } from "#api/core/pod.ts";
import { isConditionTrue } from "#api/meta/condition.ts";
import { StatusError } from "#api/status.ts";
import { startCluster } from "../public.ts";

const metadata = { namespace: "default", name: "web" };
const labels = { app: "web" };
const containers = [{ name: "web", image: "web:1" }];
const web = {
  metadata,
  spec: { replicas: 3, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers } } },
};
const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: gadgets.example.com }
spec:
  group: example.com
  names: { plural: gadgets, singular: gadget, kind: Gadget, listKind: GadgetList }
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      schema: { openAPIV3Schema: { type: object, properties: { spec: { type: object, properties: { size: { type: integer } } } } } }
`;
const gadget = "apiVersion: example.com/v1\nkind: Gadget\nmetadata: { name: small }\nspec: { size: 3 }\n";

test("applyYaml() installs a directory in an order that works, and refuses unknown fields by file", async () => {
  const directory = await mkdtemp(`${tmpdir()}/orlop-yaml-`);
  try {
    await writeFile(`${directory}/a-gadget.yaml`, gadget);
    await writeFile(`${directory}/b-definition.yaml`, `---\n# nothing\n---${definition}---\n`);
    await using cluster = await startCluster();

    const applied = await cluster.applyYaml(directory);

    assert.deepEqual(
      applied.map(({ kind, metadata: about }) => `${kind} ${about.namespace ?? ""}/${about.name}`),
      ["CustomResourceDefinition /gadgets.example.com", "Gadget default/small"],
    );
    await writeFile(`${directory}/c.yaml`, gadget.replace("size", "sise"));
    await assert.rejects(cluster.applyYaml(`${directory}/c.yaml`), /c\.yaml: .*sise/s);
    await assert.rejects(cluster.applyYaml("nowhere.yaml"), /cannot read "nowhere\.yaml"/);
    await assert.rejects(
      cluster.applyYaml("kind: Pod\nmetadata: {}\n"),
      /the text: an object needs apiVersion and kind/,
    );
    await assert.rejects(cluster.applyYaml("apiVersion: a/v1\nkind: B\n"), /the cluster has no kind B in a\/v1/);
  } finally {
    await rm(directory, { recursive: true });
  }
});

test("unknown fields and missing names are refused, and the error has the line of the test", async () => {
  await using cluster = await startCluster();

  const wrong = { metadata, data: {}, sise: 3 };
  await assert.rejects(cluster.apply(ConfigMap, wrong), /\.sise: field not declared in schema/);
  await assert.rejects(cluster.client.create(ConfigMap, wrong), /unknown field "sise"/);
  const nowhere = await cluster.apply(ConfigMap, { metadata: { name: "a" } }).catch((error: unknown) => error);
  assert(nowhere instanceof StatusError);
  assert.match(nowhere.message, /metadata\.namespace is needed/);
  const late = await cluster.until(() => false, 1000).catch((error: unknown) => error);
  assert(late instanceof Error);
  assert.match(late.stack ?? "", /verbs\.cluster\.test\.ts/);
});

const wrongOptions: readonly [object, RegExp][] = [
  [{ nodes: -1 }, /nodes must be a whole number from 0 to 32768, not -1/],
  [{ node: 1 }, /startCluster\(\) has no option "node"; its options are/],
  [{ clock: "wall" }, /clock must be "virtual" or "system", not "wall"/],
  [{ simulation: { capacity: { cpu: "lots" } } }, /simulation\.capacity\.cpu must be a quantity/],
  [{ simulation: { hooks: { pull: () => {} } } }, /simulation\.hooks has no option "pull"/],
  [{ simulation: { delays: { pullMs: -1 } } }, /simulation\.delays\.pullMs must be milliseconds/],
];
for (const [options, message] of wrongOptions) {
  test(`startCluster() refuses ${JSON.stringify(options)}`, async () => {
    await assert.rejects(startCluster(options), message);
  });
}

test("as() acts with the rights of a service account", async () => {
  await using cluster = await startCluster();

  await assert.rejects(cluster.as("agent").list(Pod), /User "system:serviceaccount:default:agent" cannot list/);
  assert.throws(() => cluster.as("a/b/c"), /name a service account/);
});

test("why(), trace() and events() tell about an object, and a failed until() tells by itself", async () => {
  await using cluster = await startCluster({ nodes: 1 });
  const volumes = [{ name: "data", persistentVolumeClaim: { claimName: "nothing" } }];
  await cluster.apply(Pod, { metadata, spec: { containers, volumes, nodeName: "node-1" } });
  await cluster.clock.advance(5000);

  assert.match(await cluster.why("pod/web"), /nothing/);
  assert.match(await cluster.trace("default/pod/web"), /web/);
  assert((await cluster.events("pod/web")).some(({ reason }) => reason === "FailedMount"));
  await assert.rejects(
    cluster.until(() => false, 1000),
    /within 1000 ms[\s\S]*FailedMount[\s\S]*nothing/,
  );
  await assert.rejects(cluster.why("web"), /name an object as "pod\/web"/);
});

test("a settle() that fails names the objects that keep changing", async () => {
  await using cluster = await startCluster({
    components: ({ client, clock }) => [
      async (signal) => {
        for (let turn = 0; !signal.aborted; turn++) {
          await client.apply(ConfigMap, { metadata, data: { turn: `${turn}` } }, { fieldManager: "busy", force: true });
          await clock.sleep(1000, signal).catch(() => {});
        }
      },
    ],
  });

  await assert.rejects(
    cluster.settle({ limitMs: 60_000 }),
    /did not settle within 60 s\n.*configmaps\/default\/web \(\d+ times\)/s,
  );
});

test("requests fail, wait and see old state as the test says", async () => {
  await using cluster = await startCluster({ nodes: 1 });
  const { apiFaults, client, clock } = cluster;

  apiFaults.add({ verb: "create", resource: "configmaps", status: 429, times: 1 });
  await assert.rejects(
    client.create(ConfigMap, { metadata }),
    (error) => error instanceof StatusError && error.code === 429,
  );
  const takeBack = apiFaults.add({ verb: "list", resource: "configmaps", namespace: "default", stale: true });
  await client.create(ConfigMap, { metadata });
  const names = async () => (await cluster.list(ConfigMap, "default")).map(({ metadata: { name } }) => name);
  assert(!(await names()).includes("web"));
  takeBack();
  assert((await names()).includes("web"));
  apiFaults.add({ verb: "get", resource: "configmaps", delayMs: 500 });
  const [sent, before] = [client.get(ConfigMap, metadata), clock.now()];
  await clock.advance(1000);
  await sent;
  assert.equal(clock.now() - before, 1000);
  apiFaults.clear();
  apiFaults.add({ verb: "get", resource: "configmaps", status: 500, share: 0.5 });
  const gets = await Promise.allSettled(Array.from({ length: 30 }, () => client.get(ConfigMap, metadata)));
  assert.deepEqual(new Set(gets.map(({ status }) => status)), new Set(["fulfilled", "rejected"]));
  apiFaults.clear();
  const before500 = apiFaults.count;
  apiFaults.add({ verb: "create", resource: "pods", status: 500, times: 2 });
  await cluster.apply(Deployment, web);
  await cluster.settle();
  assert.equal((await cluster.list(Pod)).filter(isReady).length, 3);
  assert.equal(apiFaults.count - before500, 2);
  assert.throws(() => apiFaults.add({ status: 200 }), /status must be an HTTP status from 400 to 599/);
  assert.throws(() => apiFaults.add({}), /a fault needs a status/);
});

test("settle() waits for retries that may succeed, and not for those that cannot", async () => {
  await using cluster = await startCluster({ nodes: 1 });
  const { apiFaults } = cluster;
  const ready = async () => (await cluster.list(Pod)).filter(isReady).length;
  const fault = { verb: "create", resource: "pods", status: 500 };

  apiFaults.add(fault);
  await cluster.apply(Deployment, web);
  await cluster.settle();
  assert.equal(await ready(), 0);

  apiFaults.clear();
  await cluster.settle();
  assert.equal(await ready(), 3);

  apiFaults.add({ ...fault, times: 14 });
  await cluster.apply(Deployment, { ...web, spec: { ...web.spec, replicas: 4 } });
  await cluster.settle();
  assert.equal(await ready(), 4);

  apiFaults.add({ ...fault, share: 0.999 });
  await cluster.apply(Deployment, { ...web, spec: { ...web.spec, replicas: 5 } });
  await assert.rejects(cluster.settle({ limitMs: 60_000 }), /queues that wait to retry what failed: .*replicaset/);
});

test("a watch that is cut ends, and its reader can start another", async () => {
  await using cluster = await startCluster({ controllers: false });
  const signal = AbortSignal.timeout(60_000);
  const watch = cluster.client.watch(ConfigMap, {
    signal,
    namespace: "default",
    resourceVersion: `${cluster.store.revision}`,
  });
  const read = Array.fromAsync(watch);
  await cluster.client.create(ConfigMap, { metadata });
  await cluster.clock.settle();

  cluster.apiFaults.cutWatches();

  assert.equal((await read).length, 1);
  assert.equal(signal.aborted, false);
});

test("components crash and come back, and zones fail and recover", async () => {
  await using cluster = await startCluster({ nodes: 4, simulation: { zones: ["a", "b"] } });
  await cluster.components.get("kube-controller-manager")?.stop();
  await cluster.apply(Deployment, web);
  await cluster.settle();
  assert.equal((await cluster.list(Pod)).length, 0);
  cluster.components.get("kube-controller-manager")?.start();
  await cluster.settle();
  assert.equal((await cluster.list(Pod)).filter(isReady).length, 3);

  const recover = await cluster.fail({ zone: "a" });
  await cluster.clock.advance(60_000);
  const readyNodes = async () => {
    const ready = (await cluster.list(Node)).filter(({ status }) => isConditionTrue(status.conditions, "Ready"));
    return ready.map(({ metadata: { name } }) => name);
  };
  assert.deepEqual(await readyNodes(), ["node-2", "node-4"]);
  recover();
  await cluster.clock.advance(60_000);

  assert.equal((await readyNodes()).length, 4);
  await assert.rejects(cluster.fail({ node: "node-9" }), /no simulated node matches/);
});

test("a fork has the same state, and both go their own way", async () => {
  await using cluster = await startCluster({ nodes: 2 });
  await cluster.apply(Deployment, web);
  await cluster.settle();
  const before = (await cluster.list(Pod)).map(({ metadata: { uid, name } }) => `${name} ${uid}`);

  await using fork = await cluster.fork();
  await fork.settle();
  const kept = (await fork.list(Pod)).map(({ metadata: { uid, name } }) => `${name} ${uid}`);
  await fork.client.delete(Deployment, metadata);
  await fork.settle();

  assert.deepEqual(kept, before);
  assert.equal((await fork.list(Pod)).length, 0);
  assert.equal((await cluster.list(Pod)).filter(isReady).length, 3);
  const restarts = (await cluster.list(Pod)).flatMap(({ status }) => status.containerStatuses ?? []);
  assert(restarts.every(({ restartCount }) => restartCount === 0));
});
