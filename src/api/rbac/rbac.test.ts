import assert from "node:assert/strict";
import { test } from "node:test";
import { faultsOf, read, updateFaultsOf } from "../faults.suite.ts";
import { ClusterRole } from "./cluster-role.ts";
import { ClusterRoleBinding } from "./cluster-role-binding.ts";
import { Role } from "./role.ts";
import { RoleBinding } from "./role-binding.ts";

const group = "rbac.authorization.k8s.io";
const local = { name: "system:reader", namespace: "default" };
const global = { name: "system:reader" };

test("a Role may have a name with a colon, and no rules", () => {
  assert.deepEqual(faultsOf(Role, { metadata: local }), []);
});

test("the rules of a Role are whole and stay in the namespace", () => {
  const rules = [
    { verbs: ["get"] },
    { verbs: [], apiGroups: [""], resources: ["pods"] },
    { verbs: ["get"], nonResourceURLs: ["/x"] },
  ];

  assert.deepEqual(faultsOf(Role, { metadata: local, rules }), [
    "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
    "rules[0].resources: Required value: resource rules must supply at least one resource",
    "rules[1].verbs: Required value: verbs must contain at least one value",
    'rules[2].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs',
  ]);
});

test("a ClusterRole may speak of paths, and aggregates only by selectors", () => {
  const rules = [{ verbs: ["get"], nonResourceURLs: ["/healthz"] }];

  assert.deepEqual(faultsOf(ClusterRole, { metadata: global, rules }), []);
  assert.deepEqual(faultsOf(ClusterRole, { metadata: global, aggregationRule: {} }), [
    "aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector required if aggregationRule is non-nil",
  ]);
  const selector = { matchExpressions: [{ key: "a", operator: "Exists", values: ["b"] }] };
  const at = "aggregationRule.clusterRoleSelectors[0]";
  const faults = faultsOf(ClusterRole, { metadata: global, aggregationRule: { clusterRoleSelectors: [selector] } });
  assert.equal(faults.length, 2);
  assert(faults.includes(`${at}: Invalid value: null: invalid label selector.`));
});

test("a RoleBinding fills in the groups that clients leave out", () => {
  const binding = read(RoleBinding, {
    metadata: local,
    roleRef: { kind: "Role", name: "r" },
    subjects: [
      { kind: "User", name: "u" },
      { kind: "ServiceAccount", name: "s", namespace: "n" },
    ],
  });

  assert.deepEqual(binding.roleRef, { apiGroup: group, kind: "Role", name: "r" });
  assert.equal(binding.subjects?.[0]?.apiGroup, group);
  assert.deepEqual(
    RoleBinding.columns.map(({ value }) => value(binding, 0)),
    ["Role/r", "<unknown>", "u", "", "n/s"],
  );
});

test("a binding refuses roles and subjects that it does not know", () => {
  const subjects = [
    { kind: "Robot", name: "x" },
    { kind: "ServiceAccount", name: "s" },
  ];

  assert.deepEqual(faultsOf(ClusterRoleBinding, { metadata: global, roleRef: { kind: "Role", name: "" }, subjects }), [
    "roleRef.name: Required value",
    'roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"',
    'subjects[0].kind: Unsupported value: "Robot": supported values: "ServiceAccount", "User", "Group"',
    "subjects[1].namespace: Required value",
  ]);
});

test("a binding stays with its role", () => {
  const roleRef = { apiGroup: group, kind: "Role", name: "b" };

  assert.deepEqual(
    updateFaultsOf(RoleBinding, { metadata: local, roleRef }, { metadata: local, roleRef: { ...roleRef, name: "a" } }),
    [`roleRef: Invalid value: ${JSON.stringify(roleRef)}: cannot change roleRef`],
  );
});
