import assert from "node:assert/strict";
import { test } from "node:test";
import { Deployment } from "#api/apps/deployment.ts";
import { StatefulSet } from "#api/apps/stateful-set.ts";
import { type ManagedFieldsEntry } from "#api/meta/object-meta.ts";
import { ask, type Said } from "#testing/peers/ask.ts";
import { startCluster, type TestCluster } from "#testing/start-cluster.ts";

const path = "/apis/apps/v1/namespaces/default/deployments/web";
const ref = { namespace: "default", name: "web" };

async function clusterWithWeb(): Promise<TestCluster> {
  const cluster = await startCluster({ controllers: false });
  const labels = { app: "web" };
  const template = { metadata: { labels }, spec: { containers: [{ name: "web", image: "registry.example/web:1" }] } };
  const spec = { replicas: 2, selector: { matchLabels: labels }, template };
  await cluster.client.create(Deployment, { metadata: ref, spec }, { fieldManager: "author" });
  return cluster;
}

const scaleBody = (replicas: number, metadata: object = {}) => ({
  kind: "Scale",
  apiVersion: "autoscaling/v1",
  metadata: { name: "web", ...metadata },
  spec: { replicas },
});
const put = ({ api }: TestCluster, body: object, query = ""): Promise<Said> =>
  ask(api.server, `PUT ${path}/scale?fieldManager=scaler${query}`, { body });
const apply = ({ api }: TestCluster, manager: string, replicas: number, query = ""): Promise<Said> =>
  ask(api.server, `PATCH ${path}/scale?fieldManager=${manager}${query}`, {
    headers: { "content-type": "application/apply-patch+yaml" },
    body: scaleBody(replicas),
  });

/** `manager operation subresource`, for each owner of the number of replicas. */
async function owners({ client }: TestCluster): Promise<string[]> {
  const { metadata } = await client.get(Deployment, ref);
  const owns = ({ fieldsV1 }: ManagedFieldsEntry) =>
    "f:replicas" in ((fieldsV1 as { "f:spec"?: object } | undefined)?.["f:spec"] ?? {});
  const found = (metadata.managedFields ?? []).filter(owns);
  return found.map(({ manager, operation, apiVersion, subresource }) =>
    [manager, operation, apiVersion, subresource].filter(Boolean).join(" "),
  );
}

test("a Scale is read as a separate object", async () => {
  await using cluster = await clusterWithWeb();
  const { metadata } = await cluster.client.get(Deployment, ref);

  const said = await ask(cluster.api.server, `GET ${path}/scale`);

  const { uid, resourceVersion, creationTimestamp } = metadata;
  assert.deepEqual(said.json, {
    kind: "Scale",
    apiVersion: "autoscaling/v1",
    metadata: { name: "web", namespace: "default", uid, resourceVersion, creationTimestamp },
    spec: { replicas: 2 },
    status: { replicas: 0, selector: "app=web" },
  });
  const accept = "application/json;as=Table;g=meta.k8s.io;v=v1";
  const table = await ask(cluster.api.server, `GET ${path}/scale`, { headers: { accept } });
  assert.equal(table.json.kind, "Table");
});

test("scaling owns only the number of replicas", async () => {
  await using cluster = await clusterWithWeb();
  assert.deepEqual(await owners(cluster), ["author Update apps/v1"]);

  const said = await put(cluster, scaleBody(5));

  assert.equal(said.json.spec?.replicas, 5);
  assert.deepEqual(await owners(cluster), ["scaler Update apps/v1 scale"]);
  const { spec, metadata } = await cluster.client.get(Deployment, ref);
  assert.equal(spec.replicas, 5);
  assert.equal(metadata.generation, 2);
});

test("scaling to the current number writes nothing", async () => {
  await using cluster = await clusterWithWeb();
  const { revision } = cluster.store;

  assert.equal((await put(cluster, scaleBody(2))).status, 200);
  assert.equal((await put(cluster, scaleBody(7), "&dryRun=All")).json.spec?.replicas, 7);

  assert.equal(cluster.store.revision, revision);
});

test("an applied Scale conflicts with the owner of the number, unless it is forced", async () => {
  await using cluster = await clusterWithWeb();

  const refused = await apply(cluster, "scaler", 5);
  const forced = await apply(cluster, "scaler", 5, "&force=true");
  const shared = await apply(cluster, "other", 5);

  assert.equal(refused.status, 409);
  assert.match(String(refused.json.message), /conflict with "author".*\.spec\.replicas/);
  assert.equal(forced.json.spec?.replicas, 5);
  assert.equal(shared.status, 200);
  assert.deepEqual(await owners(cluster), ["other Apply apps/v1 scale", "scaler Apply apps/v1 scale"]);
});

test("a Scale must match the current object", async () => {
  await using cluster = await clusterWithWeb();
  const status = async (body: object) => (await put(cluster, body)).status;

  assert.equal(await status(scaleBody(3, { name: "other" })), 400);
  assert.equal(await status(scaleBody(3, { namespace: "other" })), 400);
  assert.equal(await status(scaleBody(3, { resourceVersion: "1" })), 409);
  assert.equal(await status(scaleBody(3, { uid: "other" })), 409);
  const { json } = await put(cluster, scaleBody(-1));

  assert.equal(
    json.message,
    'Scale.autoscaling "web" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0',
  );
});

test("a patch of a Scale changes the number", async () => {
  await using cluster = await clusterWithWeb();
  const patch = (type: string, body: unknown) =>
    ask(cluster.api.server, `PATCH ${path}/scale`, { headers: { "content-type": `application/${type}` }, body });

  const merged = await patch("merge-patch+json", { spec: { replicas: 3 } });
  const edited = await patch("json-patch+json", [{ op: "replace", path: "/spec/replicas", value: 4 }]);

  assert.deepEqual([merged.json.spec?.replicas, edited.json.spec?.replicas], [3, 4]);
});

test("a StatefulSet can be scaled", async () => {
  await using cluster = await startCluster({ controllers: false });
  const labels = { app: "web" };
  const template = { metadata: { labels }, spec: { containers: [{ name: "web", image: "registry.example/web:1" }] } };
  await cluster.client.create(StatefulSet, { metadata: ref, spec: { selector: { matchLabels: labels }, template } });

  const url = "/apis/apps/v1/namespaces/default/statefulsets/web/scale";
  const said = await ask(cluster.api.server, `PUT ${url}`, { body: scaleBody(3) });

  assert.deepEqual(said.json.spec, { replicas: 3 });
  assert.deepEqual(said.json.status, { replicas: 0, selector: "app=web" });
  assert.equal((await cluster.client.get(StatefulSet, ref)).metadata.generation, 2);
});
