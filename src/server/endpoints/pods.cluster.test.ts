import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { Binding } from "#api/core/binding.ts";
import { Pod } from "#api/core/pod.ts";
import { ServiceAccount } from "#api/core/service-account.ts";
import { isConflict, isNotFound } from "#api/status.ts";
import { ask, type Said } from "#testing/peers/ask.ts";
import { startCluster, type TestCluster } from "#testing/start-cluster.ts";

let cluster: TestCluster;
let pod: Pod;
const ref = { namespace: "default", name: "web" };
const path = "/api/v1/namespaces/default/pods/web";

before(async () => {
  cluster = await startCluster({ controllers: false });
  await cluster.client.create(ServiceAccount, { metadata: { namespace: "default", name: "default" } });
});
beforeEach(async () => {
  await cluster.client
    .delete(Pod, ref, { gracePeriodSeconds: 0 })
    .catch((error: unknown) => assert.ok(isNotFound(error)));
  const resources = { requests: { cpu: "100m" } };
  const spec = { containers: [{ name: "web", image: "registry.example/web:1", resources }] };
  pod = await cluster.client.create(Pod, { metadata: { ...ref, labels: { app: "web" } }, spec });
});
after(() => cluster[Symbol.asyncDispose]());

const patch = (subresource: string, body: unknown): Promise<Said> =>
  ask(cluster.api.server, `PATCH ${path}/${subresource}`, {
    headers: { "content-type": "application/strategic-merge-patch+json" },
    body,
  });
const bind = (target: object, metadata: object = {}): Promise<Said> =>
  ask(cluster.api.server, `POST ${path}/binding`, {
    body: { kind: "Binding", apiVersion: "v1", metadata: { name: "web", ...metadata }, target },
  });

test("a pod is resized through its own endpoint, which changes nothing else", async () => {
  const resources = { requests: { cpu: "200m" } };

  const said = await patch("resize", {
    metadata: { labels: { app: "other" } },
    spec: { containers: [{ name: "web", image: "registry.example/other:1", resources }] },
  });

  assert.equal(said.status, 200, String(said.json.message));
  const resized = await cluster.client.get(Pod, ref);
  assert.equal(resized.spec.containers[0]?.resources?.requests?.cpu, "200m");
  assert.equal(resized.spec.containers[0]?.image, "registry.example/web:1");
  assert.equal(resized.metadata.generation, 2);
  const refused = await ask(cluster.api.server, `PATCH ${path}`, {
    headers: { "content-type": "application/strategic-merge-patch+json" },
    body: { spec: { containers: [{ name: "web", resources: { requests: { cpu: "300m" } } }] } },
  });
  assert.equal(refused.status, 422);
});

test("ephemeral containers are added through their own endpoint, and stay", async () => {
  const debug = { name: "debug", image: "registry.example/debug:1" };

  const added = await patch("ephemeralcontainers", { spec: { ephemeralContainers: [debug] } });
  const elsewhere = await ask(cluster.api.server, `PATCH ${path}`, {
    headers: { "content-type": "application/strategic-merge-patch+json" },
    body: { spec: { ephemeralContainers: [{ ...debug, name: "more" }] } },
  });
  const removed = await ask(cluster.api.server, `PATCH ${path}/ephemeralcontainers`, {
    headers: { "content-type": "application/merge-patch+json" },
    body: { spec: { ephemeralContainers: [] } },
  });

  assert.equal(added.status, 200, String(added.json.message));
  assert.deepEqual([elsewhere.status, removed.status], [422, 422]);
  const { spec } = await cluster.client.get(Pod, ref);
  assert.deepEqual(
    spec.ephemeralContainers?.map(({ name }) => name),
    ["debug"],
  );
});

test("a pod is bound once, to a node, with the binding's labels and annotations", async () => {
  const said = await bind({ kind: "Node", name: "node-1" }, { annotations: { by: "test" } });
  const again = await bind({ name: "node-2" });

  assert.equal(said.status, 201, String(said.json.message));
  assert.equal(again.status, 409);
  const bound = await cluster.client.get(Pod, ref);
  assert.equal(bound.spec.nodeName, "node-1");
  assert.deepEqual(bound.metadata.annotations, { by: "test" });
  assert.ok(bound.status?.conditions?.some(({ type, status }) => type === "PodScheduled" && status === "True"));
});

test("a binding for another pod, or without a node, is refused", async () => {
  const statuses = [
    await bind({ name: "node-1" }, { uid: "other" }),
    await bind({ name: "node-1" }, { resourceVersion: "1" }),
    await bind({ kind: "Pod", name: "node-1" }),
    await bind({ name: "" }),
    await bind({ name: "a/b" }),
  ].map(({ status }) => status);

  assert.deepEqual(statuses, [409, 409, 422, 422, 422]);
  assert.equal((await cluster.client.get(Pod, ref)).spec.nodeName, undefined);
});

test("a binding must have the name of the pod, and does not own the node name", async () => {
  const nameless = await bind({ name: "node-1" }, { name: "" });
  await bind({ name: "node-1" });
  const { managedFields } = (await cluster.client.get(Pod, ref)).metadata;

  assert.equal(nameless.json.message, "name in URL does not match name in Binding object");
  assert.deepEqual(managedFields, pod.metadata.managedFields);
});

test("a binding can also be posted to the bindings resource", async () => {
  const body = { metadata: { name: "web" }, target: { kind: "Node", name: "node-1" } };

  const said = await ask(cluster.api.server, "POST /api/v1/namespaces/default/bindings", { body });

  assert.equal(said.status, 201, String(said.json.message));
  assert.equal((await cluster.client.get(Pod, ref)).spec.nodeName, "node-1");
  assert.equal(Binding.kind, "Binding");
});

test("a dry run binds, evicts and resizes nothing", async () => {
  const { revision } = cluster.store;
  const post = (what: string, body: object) => ask(cluster.api.server, `POST ${path}/${what}?dryRun=All`, { body });
  const eviction = { kind: "Eviction", apiVersion: "policy/v1", metadata: { name: "web" } };

  const said = [
    await post("binding", { metadata: { name: "web" }, target: { name: "node-1" } }),
    await post("eviction", eviction),
    await ask(cluster.api.server, `POST ${path}/eviction`, {
      body: { ...eviction, deleteOptions: { dryRun: ["All"] } },
    }),
  ];

  assert.deepEqual(
    said.map(({ status }) => status),
    [201, 201, 201],
  );
  assert.equal(cluster.store.revision, revision);
});

test("an eviction deletes the pod with its uid", async () => {
  const evict = (preconditions: object) =>
    cluster.client.createSubresource(Pod, ref, "eviction", {
      kind: "Eviction",
      apiVersion: "policy/v1",
      metadata: ref,
      deleteOptions: { preconditions },
    });

  await assert.rejects(evict({ uid: "other" }), isConflict);
  await evict({ uid: pod.metadata.uid });

  await assert.rejects(cluster.client.get(Pod, ref), isNotFound);
});
