import assert from "node:assert/strict";
import { test } from "node:test";
import { ClusterRole } from "#api/rbac/cluster-role.ts";
import { ClusterRoleBinding } from "#api/rbac/cluster-role-binding.ts";
import { Role } from "#api/rbac/role.ts";
import { isForbidden } from "#api/status.ts";
import { startCluster, type TestCluster } from "#testing/start-cluster.ts";

const rule = (verbs: string[], apiGroups: string[], resources: string[]) => ({ verbs, apiGroups, resources });
const rbac = "rbac.authorization.k8s.io";

/** jane may write roles and read pods, but nothing else. */
async function startWithJane(...more: ReturnType<typeof rule>[]): Promise<TestCluster> {
  const cluster = await startCluster({ controllers: false });
  await cluster.client.create(ClusterRole, {
    metadata: { name: "role-writer" },
    rules: [rule(["create", "update"], [rbac], ["roles"]), rule(["get"], [""], ["pods"]), ...more],
  });
  await cluster.client.create(ClusterRoleBinding, {
    metadata: { name: "jane" },
    roleRef: { apiGroup: rbac, kind: "ClusterRole", name: "role-writer" },
    subjects: [{ apiGroup: rbac, kind: "User", name: "jane" }],
  });
  return cluster;
}
const asJane = (cluster: TestCluster) => cluster.clientFor({ name: "jane", groups: ["system:authenticated"] });
const roleOf = (resource: string) => ({
  metadata: { namespace: "default", name: `read-${resource}` },
  rules: [rule(["get"], [""], [resource])],
});

test("rbacEscalation allows a writer to grant only the rights that they have", async () => {
  await using cluster = await startWithJane();

  await asJane(cluster).create(Role, roleOf("pods"));
  const refused = asJane(cluster).create(Role, roleOf("secrets"));

  await assert.rejects(refused, (error: Error) => isForbidden(error) && /not currently held/.test(error.message));
  assert.deepEqual(
    (await cluster.list(Role, "default")).map(({ metadata }) => metadata.name),
    ["read-pods"],
  );
});

test("rbacEscalation refuses an update that adds rights to a role", async () => {
  await using cluster = await startWithJane();
  const role = await asJane(cluster).create(Role, roleOf("pods"));

  const refused = asJane(cluster).update(Role, { ...role, rules: [rule(["*"], ["*"], ["*"])] });

  await assert.rejects(refused, isForbidden);
});

test("rbacEscalation allows users who may escalate", async () => {
  await using cluster = await startWithJane(rule(["escalate"], [rbac], ["roles"]));

  const role = await asJane(cluster).create(Role, roleOf("secrets"));

  assert.equal(role.metadata.name, "read-secrets");
});
