import assert from "node:assert/strict";
import { test } from "node:test";
import { Job } from "#api/batch/job.ts";
import { ConfigMap } from "#api/core/config-map.ts";
import { ask, type Said } from "#testing/peers/ask.ts";
import { startCluster, type TestCluster } from "#testing/start-cluster.ts";

const path = "/api/v1/namespaces/default/configmaps/a";

async function clusterWithA(): Promise<TestCluster> {
  const cluster = await startCluster({ controllers: false });
  await cluster.client.create(ConfigMap, { metadata: { namespace: "default", name: "a" }, data: { color: "red" } });
  return cluster;
}
const patch = ({ api }: TestCluster, type: string, body: unknown, query = ""): Promise<Said> =>
  ask(api.server, `PATCH ${path}${query && `?${query}`}`, { headers: { "content-type": `application/${type}` }, body });

const config = { apiVersion: "v1", kind: "ConfigMap" };
const refused: readonly { claim: string; type: string; body: unknown; query?: string; status: number }[] = [
  { claim: "of an unknown type", type: "json", body: {}, status: 415 },
  { claim: "that is not JSON", type: "merge-patch+json", body: "{", status: 400 },
  { claim: "that is not an object", type: "merge-patch+json", body: "[]", status: 400 },
  { claim: "that is not a list of operations", type: "json-patch+json", body: {}, status: 400 },
  {
    claim: "whose test fails",
    type: "json-patch+json",
    body: [{ op: "test", path: "/data/color", value: "blue" }],
    status: 422,
  },
  { claim: "of another revision", type: "merge-patch+json", body: { metadata: { resourceVersion: "1" } }, status: 409 },
  { claim: "that makes the object invalid", type: "merge-patch+json", body: { data: "red" }, status: 422 },
  { claim: "with force that is not an apply", type: "merge-patch+json", body: {}, query: "force=true", status: 422 },
  { claim: "of the name", type: "merge-patch+json", body: { metadata: { name: "b" } }, status: 400 },
  {
    claim: "with an unknown field, strictly",
    type: "merge-patch+json",
    body: { colour: "red" },
    query: "fieldValidation=Strict",
    status: 422,
  },
  {
    claim: "that applies an unknown field",
    type: "apply-patch+yaml",
    body: { ...config, colour: "red" },
    query: "fieldManager=x&fieldValidation=Ignore",
    status: 400,
  },
  { claim: "that applies without a manager", type: "apply-patch+yaml", body: config, status: 422 },
  {
    claim: "that applies without a kind",
    type: "apply-patch+yaml",
    body: { data: {} },
    query: "fieldManager=x",
    status: 400,
  },
  {
    claim: "that applies another kind",
    type: "apply-patch+yaml",
    body: { ...config, kind: "Secret" },
    query: "fieldManager=x",
    status: 400,
  },
  {
    claim: "that applies another name",
    type: "apply-patch+yaml",
    body: { ...config, metadata: { name: "b" } },
    query: "fieldManager=x",
    status: 400,
  },
];
for (const { claim, type, body, query = "", status } of refused) {
  test(`a patch ${claim} is refused with ${status} and changes nothing`, async () => {
    await using cluster = await clusterWithA();
    const { revision } = cluster.store;

    const said = await patch(cluster, type, body, query);

    assert.equal(said.status, status, String(said.json.message));
    assert.equal(cluster.store.revision, revision);
  });
}

const taken: readonly { type: string; body: unknown; query?: string }[] = [
  { type: "merge-patch+json", body: { data: { color: null, size: "1" } } },
  { type: "strategic-merge-patch+json", body: { data: { color: null, size: "1" } } },
  {
    type: "json-patch+json",
    body: [
      { op: "remove", path: "/data/color" },
      { op: "add", path: "/data/size", value: "1" },
    ],
  },
];
for (const { type, body } of taken) {
  test(`a patch of type ${type} changes its fields`, async () => {
    await using cluster = await clusterWithA();

    const said = await patch(cluster, type, body);

    assert.deepEqual(said.json.data, { size: "1" });
  });
}

test("applying creates a missing object, and conflicts over fields of others", async () => {
  await using cluster = await clusterWithA();
  const apply = (name: string, manager: string, query = "") =>
    ask(cluster.api.server, `PATCH ${path.replace(/a$/, name)}?fieldManager=${manager}${query}`, {
      headers: { "content-type": "application/apply-patch+yaml" },
      body: "apiVersion: v1\nkind: ConfigMap\ndata: {color: blue}\n",
    });

  const created = await apply("b", "one");
  const conflict = await apply("a", "one");
  const forced = await apply("a", "one", "&force=true");

  assert.deepEqual([created.status, conflict.status, forced.status], [201, 409, 200]);
  assert.match(String(conflict.json.message), /\.data\.color/);
  assert.deepEqual(forced.json.data, { color: "blue" });
});

test("an unknown field in a patch is dropped with a warning", async () => {
  await using cluster = await clusterWithA();

  const said = await patch(cluster, "merge-patch+json", { colour: "red", data: { size: "1" } });

  assert.deepEqual(said.warnings, ['299 - "unknown field \\"colour\\""']);
  assert.equal(said.json.colour, undefined);
});

test("a patch of a status whose defaults add labels does not change the object that readers share", async () => {
  await using cluster = await startCluster({ controllers: false });
  const metadata = { namespace: "default", name: "a" };
  const template = { spec: { restartPolicy: "Never" as const, containers: [{ name: "a", image: "a" }] } };
  await cluster.client.create(Job, { metadata, spec: { template } });
  // Without the labels, which the job then gets again from its template.
  const bare = await cluster.client.updateStatus(Job, { metadata, spec: { template } });

  const patched = await cluster.client.patch(
    Job,
    metadata,
    { type: "merge", body: { status: { active: 1 } } },
    { subresource: "status" },
  );

  assert.equal(bare.metadata.labels, undefined);
  assert.equal(patched.metadata.labels?.["job-name"], "a");
});
