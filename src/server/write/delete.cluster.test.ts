import assert from "node:assert/strict";
import { test } from "node:test";
import { Job } from "#api/batch/job.ts";
import { ConfigMap } from "#api/core/config-map.ts";
import { Pod } from "#api/core/pod.ts";
import { ReplicationController } from "#api/core/replication-controller.ts";
import { ServiceAccount } from "#api/core/service-account.ts";
import { isConflict, isNotFound } from "#api/status.ts";
import { ask } from "#testing/peers/ask.ts";
import { startCluster, type TestCluster } from "#testing/start-cluster.ts";

const path = "/api/v1/namespaces/default/configmaps";
const place = { namespace: "default" };

async function clusterWith(...names: string[]): Promise<TestCluster> {
  const cluster = await startCluster({ controllers: false });
  for (const name of names) {
    await cluster.client.create(ConfigMap, { metadata: { name, ...place, labels: { first: name.slice(0, 1) } } });
  }
  return cluster;
}
const names = async ({ list }: TestCluster): Promise<(string | undefined)[]> =>
  (await list(ConfigMap, "default")).map(({ metadata }) => metadata.name);

test("deleting answers with a Status that names the object", async () => {
  await using cluster = await clusterWith("a");

  const said = await ask(cluster.api.server, `DELETE ${path}/a`);

  assert.equal(said.status, 200);
  assert.equal(said.json.status, "Success");
  assert.equal(said.json.details?.name, "a");
  assert.equal(said.json.details?.kind, "configmaps");
  assert.deepEqual(await names(cluster), []);
});

test("foreground deletion keeps the object until its dependents are gone", async () => {
  await using cluster = await clusterWith("a");

  const said = await ask(cluster.api.server, `DELETE ${path}/a?propagationPolicy=Foreground`);

  assert.equal(said.status, 200);
  assert.deepEqual(said.json.metadata?.finalizers, ["foregroundDeletion"]);
  assert.deepEqual(await names(cluster), ["a"]);
});

test("orphanDependents=false is answered with 202", async () => {
  await using cluster = await clusterWith();
  await cluster.client.create(ConfigMap, { metadata: { name: "a", ...place, finalizers: ["example.com/hold"] } });

  const said = await ask(cluster.api.server, `DELETE ${path}/a?orphanDependents=false`);

  assert.equal(said.status, 202);
});

test("a job has labels with its uid, and its deletion keeps the pods and warns of that", async () => {
  await using cluster = await clusterWith();
  const template = { spec: { restartPolicy: "Never" as const, containers: [{ name: "a", image: "a" }] } };
  const job = await cluster.client.create(Job, { metadata: { generateName: "sum-", ...place }, spec: { template } });
  const url = `/apis/batch/v1/namespaces/default/jobs/${job.metadata.name}`;

  const said = await ask(cluster.api.server, `DELETE ${url}`);
  const again = await ask(cluster.api.server, `DELETE ${url}?propagationPolicy=Background`);

  const { matchLabels } = job.spec.selector ?? {};
  assert.deepEqual(matchLabels, { "batch.kubernetes.io/controller-uid": job.metadata.uid });
  assert.equal(job.spec.template.metadata.labels?.["job-name"], job.metadata.name);
  assert.deepEqual(said.json.metadata?.finalizers, ["orphan"]);
  assert.match(said.warnings[0] ?? "", /child pods are preserved by default when jobs are deleted/);
  assert.equal(again.json.status, "Success");
  assert.deepEqual(again.warnings, []);
});

test("the deletion of a ReplicationController keeps its pods, without a warning", async () => {
  await using cluster = await clusterWith();
  const template = { metadata: { labels: { app: "a" } }, spec: { containers: [{ name: "a", image: "a" }] } };
  await cluster.client.create(ReplicationController, {
    metadata: { name: "old", ...place },
    spec: { selector: { app: "a" }, template },
  });

  const said = await ask(cluster.api.server, "DELETE /api/v1/namespaces/default/replicationcontrollers/old");

  assert.deepEqual(said.json.metadata?.finalizers, ["orphan"]);
  assert.deepEqual(said.warnings, []);
});

test("a deletion with a body ignores the query", async () => {
  await using cluster = await clusterWith("a");

  await ask(cluster.api.server, `DELETE ${path}/a?dryRun=All`, { body: { kind: "DeleteOptions" } });

  assert.deepEqual(await names(cluster), []);
});

test("an immediate deletion returns the pod with its deletion mark", async () => {
  await using cluster = await clusterWith();
  const pods = "/api/v1/namespaces/default/pods";
  await cluster.client.create(ServiceAccount, { metadata: { name: "default", ...place } });
  const spec = { containers: [{ name: "web", image: "registry.example/web:1" }] };
  await cluster.client.create(Pod, { metadata: { name: "web", ...place }, spec });

  const pod = await ask(cluster.api.server, `DELETE ${pods}/web`);
  const account = await ask(cluster.api.server, "DELETE /api/v1/namespaces/default/serviceaccounts/default");

  assert.equal(pod.json.kind, "Pod");
  assert.equal(pod.json.metadata?.deletionGracePeriodSeconds, 0);
  assert.equal(account.json.kind, "ServiceAccount");
  assert.equal(account.json.metadata?.deletionTimestamp, undefined);
});

test("an event has no dependents, so it is deleted immediately", async () => {
  await using cluster = await clusterWith();
  const events = "/api/v1/namespaces/default/events";
  const involvedObject = { kind: "Pod", name: "p", ...place };
  await ask(cluster.api.server, `POST ${events}`, { body: { metadata: { name: "e" }, involvedObject } });

  const said = await ask(cluster.api.server, `DELETE ${events}/e?propagationPolicy=Foreground`);

  assert.equal(said.json.status, "Success");
});

test("a namespace has no grace period, and its own messages for preconditions", async () => {
  await using cluster = await clusterWith();
  await ask(cluster.api.server, "POST /api/v1/namespaces", { body: { metadata: { name: "n" } } });
  const remove = (body?: object) => ask(cluster.api.server, "DELETE /api/v1/namespaces/n", body ? { body } : {});

  const refused = await remove({ preconditions: { uid: "other" } });
  const ended = await remove();

  assert.match(
    String(refused.json.message),
    /^Operation cannot be fulfilled on namespaces "n": Precondition failed: UID in precondition: other, UID in object meta: /,
  );
  assert.ok(ended.json.metadata?.deletionTimestamp);
  assert.equal(ended.json.metadata?.deletionGracePeriodSeconds, undefined);
});

test("a deletion whose preconditions fail is refused", async () => {
  await using cluster = await clusterWith("a");
  const { uid, resourceVersion } = (await cluster.client.get(ConfigMap, { name: "a", ...place })).metadata;
  const remove = (preconditions: object) =>
    cluster.client.delete(ConfigMap, { name: "a", ...place }, { preconditions });

  await assert.rejects(remove({ uid: "other" }), isConflict);
  await assert.rejects(remove({ uid, resourceVersion: "1" }), isConflict);
  assert.deepEqual(await names(cluster), ["a"]);
  await remove({ uid, resourceVersion });

  assert.deepEqual(await names(cluster), []);
});

test("a dry run deletes nothing, whether the query or the body says so", async () => {
  await using cluster = await clusterWith("a");
  const { revision } = cluster.store;

  const byQuery = await ask(cluster.api.server, `DELETE ${path}/a?dryRun=All`);
  const byBody = await ask(cluster.api.server, `DELETE ${path}/a`, {
    body: { kind: "DeleteOptions", dryRun: ["All"] },
  });
  const held = await ask(cluster.api.server, `DELETE ${path}/a?dryRun=All&propagationPolicy=Foreground`);
  const all = await ask(cluster.api.server, `DELETE ${path}?dryRun=All`);

  assert.deepEqual([byQuery.status, byBody.status, held.status, all.status], [200, 200, 200, 200]);
  assert.ok(held.json.metadata?.deletionTimestamp);
  assert.equal(cluster.store.revision, revision);
});

test("a deletion with invalid options is refused", async () => {
  await using cluster = await clusterWith("a");
  const status = async (query: string) => (await ask(cluster.api.server, `DELETE ${path}/a?${query}`)).status;

  assert.equal(await status("propagationPolicy=Sideways"), 422);
  assert.equal(await status("propagationPolicy=Orphan&orphanDependents=true"), 422);
  assert.equal(await status("gracePeriodSeconds=soon"), 400);
  assert.equal(await status("dryRun=Some"), 422);

  assert.deepEqual(await names(cluster), ["a"]);
});

test("a collection is deleted by its selector, and the response lists the objects", async () => {
  await using cluster = await clusterWith("a1", "a2", "b1");

  const said = await ask(cluster.api.server, `DELETE ${path}?labelSelector=first%3Da`);

  assert.equal(said.json.kind, "ConfigMapList");
  assert.deepEqual(
    said.items.map(({ metadata }) => metadata?.name),
    ["a1", "a2"],
  );
  assert.deepEqual(await names(cluster), ["b1"]);
});

test("a collection with a limit is deleted a part at a time", async () => {
  await using cluster = await clusterWith("a1", "a2", "b1");

  const said = await ask(cluster.api.server, `DELETE ${path}?limit=2`);
  assert.deepEqual(await names(cluster), ["b1"]);
  const token = String(said.json.metadata?.continue);
  await ask(cluster.api.server, `DELETE ${path}?limit=2&continue=${token}`);

  assert.deepEqual(await names(cluster), []);
});

test("preconditions apply to every object of a collection", async () => {
  await using cluster = await clusterWith("a1", "a2");
  const { metadata } = await cluster.client.get(ConfigMap, { name: "a1", ...place });
  const preconditions = { uid: metadata.uid };

  await assert.rejects(cluster.client.deleteCollection(ConfigMap, { ...place, preconditions }), isConflict);

  assert.deepEqual(await names(cluster), ["a2"]);
});

test("a running pod is deleted with its grace period, then by force", async () => {
  await using cluster = await startCluster({ controllers: false });
  await cluster.client.create(ServiceAccount, { metadata: { name: "default", ...place } });
  const spec = { containers: [{ name: "web", image: "registry.example/web:1" }], nodeName: "node-1" };
  await cluster.client.create(Pod, { metadata: { name: "web", ...place }, spec });
  const remove = (gracePeriodSeconds?: number) =>
    cluster.client.delete(
      Pod,
      { name: "web", ...place },
      gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds },
    );

  const first = await remove();
  const again = await remove();
  const shorter = await remove(5);

  assert.equal(first?.metadata.deletionGracePeriodSeconds, 30);
  assert.equal(again?.metadata.resourceVersion, first?.metadata.resourceVersion);
  assert.equal(shorter?.metadata.deletionGracePeriodSeconds, 5);
  assert.equal(shorter?.metadata.generation, first?.metadata.generation);
  assert.equal(await remove(0), undefined);
  await assert.rejects(cluster.client.get(Pod, { name: "web", ...place }), isNotFound);
});

test("a force-deleted pod with a finalizer is removed with its finalizer", async () => {
  await using cluster = await startCluster({ controllers: false });
  const { client } = cluster;
  await client.create(ServiceAccount, { metadata: { name: "default", ...place } });
  const spec = { containers: [{ name: "web", image: "registry.example/web:1" }], nodeName: "node-1" };
  await client.create(Pod, { metadata: { name: "web", ...place, finalizers: ["example.com/hold"] }, spec });

  const held = await client.delete(Pod, { name: "web", ...place }, { gracePeriodSeconds: 0 });
  assert.equal(held?.metadata.deletionGracePeriodSeconds, 0);
  const body = { metadata: { finalizers: null } };
  await client.patch(Pod, { name: "web", ...place }, { type: "merge", body });

  await assert.rejects(client.get(Pod, { name: "web", ...place }), isNotFound);
});
