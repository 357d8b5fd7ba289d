import assert from "node:assert/strict";
import { test } from "node:test";
import { ClusterRole } from "#api/rbac/cluster-role.ts";
import { ClusterRoleBinding } from "#api/rbac/cluster-role-binding.ts";
import { blankRequestInfo } from "#server/request/request-info.ts";
import { openFaultyApi } from "#testing/faulty-api.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { ruleAllows } from "../rules.ts";
import { bootstrapClusterRoleBindings, bootstrapClusterRoles, ensureBootstrapRoles } from "./bootstrap-roles.ts";

const setUp = () => openFaultyApi(createVirtualClock());

const info = (verb: string, resource: string) => ({
  ...blankRequestInfo,
  isResource: true,
  verb,
  version: "v1",
  resource,
  namespace: "shop",
});

test("ensureBootstrapRoles() creates missing roles once", async () => {
  await using api = await setUp();
  await ensureBootstrapRoles(api.client);
  const { revision } = api;
  await ensureBootstrapRoles(api.client);

  assert.equal(api.revision, revision);
  const { items } = await api.client.list(ClusterRole);
  assert.equal(items.length, bootstrapClusterRoles().length);
  assert.equal(
    items.find(({ metadata }) => metadata.name === "view")?.metadata.annotations?.[
      "rbac.authorization.kubernetes.io/autoupdate"
    ],
    "true",
  );
});

test("ensureBootstrapRoles() restores removed rules, unless the annotation forbids it", async () => {
  await using api = await setUp();
  await ensureBootstrapRoles(api.client);
  const dns = await api.client.get(ClusterRole, { name: "system:kube-dns" });
  const admin = await api.client.get(ClusterRoleBinding, { name: "cluster-admin" });
  const scheduler = await api.client.get(ClusterRole, { name: "system:kube-scheduler" });
  const extra = { verbs: ["get"], apiGroups: ["x"], resources: ["y"] };
  await api.client.update(ClusterRole, { ...dns, rules: [extra] });
  await api.client.update(ClusterRoleBinding, { ...admin, subjects: [] });
  const annotations = { "rbac.authorization.kubernetes.io/autoupdate": "false" };
  await api.client.update(ClusterRole, { ...scheduler, metadata: { ...scheduler.metadata, annotations }, rules: [] });

  await ensureBootstrapRoles(api.client);

  const repaired = await api.client.get(ClusterRole, { name: "system:kube-dns" });
  assert(repaired.rules.some((rule) => ruleAllows(rule, info("watch", "services"))));
  assert.deepEqual(repaired.rules[0], extra);
  assert.equal((await api.client.get(ClusterRoleBinding, { name: "cluster-admin" })).subjects?.length, 1);
  assert.deepEqual((await api.client.get(ClusterRole, { name: "system:kube-scheduler" })).rules, []);
});

const allows = (role: string, verb: string, resource: string): boolean =>
  bootstrapClusterRoles()
    .find(({ metadata }) => metadata.name === role)
    ?.rules.some((rule) => ruleAllows(rule, info(verb, resource))) ?? false;

const expectations: [string, string, string, boolean][] = [
  ["view", "list", "pods", true],
  ["view", "get", "secrets", false],
  ["edit", "delete", "pods", true],
  ["edit", "list", "pods", true],
  ["admin", "get", "secrets", true],
  ["admin", "create", "nodes", false],
  ["cluster-admin", "create", "nodes", true],
];
for (const [role, verb, resource, expected] of expectations) {
  test(`the role ${role} ${expected ? "allows" : "does not allow"} to ${verb} ${resource}`, () => {
    assert.equal(allows(role, verb, resource), expected);
  });
}

test("every controller's role is bound to its service account", () => {
  const controllers = bootstrapClusterRoleBindings().filter(({ metadata }) =>
    metadata.name?.startsWith("system:controller:"),
  );

  assert(controllers.length > 30);
  for (const { metadata, subjects } of controllers) {
    const name = metadata.name?.slice("system:controller:".length);
    assert.deepEqual(subjects, [{ kind: "ServiceAccount", name, namespace: "kube-system" }]);
  }
});
