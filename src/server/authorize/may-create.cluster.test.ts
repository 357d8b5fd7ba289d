import assert from "node:assert/strict";
import { test } from "node:test";
import { ClusterRole } from "#api/rbac/cluster-role.ts";
import { ClusterRoleBinding } from "#api/rbac/cluster-role-binding.ts";
import { type PolicyRule } from "#api/rbac/policy-rule.ts";
import { ask } from "#testing/peers/ask.ts";
import { startCluster, type TestCluster } from "#testing/start-cluster.ts";

const mallory = { name: "mallory", groups: ["system:authenticated"] };
const applying = { "content-type": "application/apply-patch+yaml" };

async function clusterWhereMalloryMay(...rules: PolicyRule[]): Promise<TestCluster> {
  const cluster = await startCluster({ controllers: false });
  await cluster.client.create(ClusterRole, { metadata: { name: "few" }, rules });
  await cluster.client.create(ClusterRoleBinding, {
    metadata: { name: "few" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "few" },
    subjects: [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: "mallory" }],
  });
  return cluster;
}

const configMap = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" }, data: { a: "b" } };
const lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name: "a" }, spec: {} };
const configMapPath = "/api/v1/namespaces/default/configmaps/a";
const leasePath = "/apis/coordination.k8s.io/v1/namespaces/default/leases/a";

test("an apply that would create needs the right to create", async () => {
  await using cluster = await clusterWhereMalloryMay({
    verbs: ["get", "patch"],
    apiGroups: [""],
    resources: ["configmaps"],
  });
  const asked = { user: mallory, headers: applying, body: configMap };
  const revision = cluster.store.revision;

  const refused = await ask(cluster.api.server, `PATCH ${configMapPath}?fieldManager=m`, asked);
  const dry = await ask(cluster.api.server, `PATCH ${configMapPath}?fieldManager=m&dryRun=All`, asked);

  assert.equal(refused.status, 403);
  assert.equal(
    refused.json.message,
    'configmaps "a" is forbidden: User "mallory" cannot create resource "configmaps" in API group "" in the namespace "default"',
  );
  assert.equal(dry.status, 403);
  assert.equal(cluster.store.revision, revision);
});

test("an apply of an existing object needs no right to create", async () => {
  await using cluster = await clusterWhereMalloryMay({ verbs: ["patch"], apiGroups: [""], resources: ["configmaps"] });
  await ask(cluster.api.server, "POST /api/v1/namespaces/default/configmaps", { body: configMap });

  const changed = { ...configMap, data: { b: "c" } };
  const said = await ask(cluster.api.server, `PATCH ${configMapPath}?fieldManager=m`, {
    user: mallory,
    headers: applying,
    body: changed,
  });

  assert.equal(said.status, 200);
});

test("an update that would create needs the right to create, for the name in the URL or for all", async () => {
  const rule = { apiGroups: ["coordination.k8s.io"], resources: ["leases"] };
  await using cluster = await clusterWhereMalloryMay(
    { ...rule, verbs: ["update"] },
    { ...rule, verbs: ["create"], resourceNames: ["mine"] },
  );
  const { server } = cluster.api;

  const refused = await ask(server, `PUT ${leasePath}`, { user: mallory, body: lease });
  const mine = { ...lease, metadata: { name: "mine" } };
  const allowed = await ask(server, `PUT ${leasePath.replace(/a$/, "mine")}`, { user: mallory, body: mine });

  assert.equal(refused.status, 403);
  assert.equal(allowed.status, 201);
});

test("the right to delete single objects does not allow deleting a collection", async () => {
  await using cluster = await clusterWhereMalloryMay({
    verbs: ["deletecollection", "list"],
    apiGroups: [""],
    resources: ["configmaps"],
    resourceNames: ["a"],
  });
  const { server } = cluster.api;
  await ask(server, "POST /api/v1/namespaces/default/configmaps", { body: configMap });
  const url = "/api/v1/namespaces/default/configmaps?fieldSelector=metadata.name%3Da";

  const listed = await ask(server, `GET ${url}`, { user: mallory });
  const deleted = await ask(server, `DELETE ${url}`, { user: mallory });

  assert.equal(listed.status, 200);
  assert.equal(deleted.status, 403);
});
