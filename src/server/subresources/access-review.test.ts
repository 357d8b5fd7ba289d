import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "#api/core/pod.ts";
import { ClusterRole } from "#api/rbac/cluster-role.ts";
import { ClusterRoleBinding } from "#api/rbac/cluster-role-binding.ts";
import { bootstrapClusterRoleBindings, bootstrapClusterRoles } from "#server/authorize/bootstrap/bootstrap-roles.ts";
import { createNodeAuthorizer } from "#server/authorize/node.ts";
import { privileged } from "#server/authorize/privileged.ts";
import { createRbac } from "#server/authorize/rbac.ts";
import { createExplainRefusal } from "#server/authorize/roles-that-allow.ts";
import { createFakeInformers } from "#testing/fake-informers.ts";
import {
  reviewLocalSubjectAccess,
  reviewSelfSubjectAccess,
  reviewSelfSubjectRules,
  reviewSubjectAccess,
} from "./access-review.ts";

const informers = createFakeInformers();
for (const role of bootstrapClusterRoles()) informers.put(ClusterRole, role);
for (const binding of bootstrapClusterRoleBindings()) informers.put(ClusterRoleBinding, binding);
informers.put(ClusterRoleBinding, {
  metadata: { name: "viewers" },
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" },
  subjects: [{ kind: "User", name: "jane" }],
});
informers.put(Pod, { metadata: { name: "p", namespace: "shop" }, spec: { containers: [], nodeName: "a" } });
const rbac = createRbac({ informers });
const deps = { authorizers: [privileged, createNodeAuthorizer({ informers }), rbac], rbac };
const jane = { name: "jane", groups: ["system:authenticated"] };
const status = { allowed: false };

test("a SubjectAccessReview answers for another user and gives the reason", async () => {
  const resourceAttributes = { verb: "list", resource: "pods", namespace: "shop" };
  const review = { metadata: {}, spec: { user: "jane", resourceAttributes }, status };

  assert.deepEqual((await reviewSubjectAccess(deps, review)).status, {
    allowed: true,
    reason: 'RBAC: allowed by ClusterRoleBinding "viewers" of ClusterRole "view" to User "jane"',
  });
  assert.deepEqual((await reviewSubjectAccess(deps, { ...review, spec: { ...review.spec, user: "max" } })).status, {
    allowed: false,
  });
});

test("a SelfSubjectAccessReview answers for the caller, also about paths", async () => {
  const ask = async (path: string) =>
    (
      await reviewSelfSubjectAccess(
        deps,
        { metadata: {}, spec: { nonResourceAttributes: { verb: "get", path } }, status },
        jane,
      )
    ).status.allowed;

  assert.equal(await ask("/livez"), true);
  assert.equal(await ask("/metrics"), false);
});

test("a LocalSubjectAccessReview must be about its own namespace", async () => {
  const review = {
    metadata: { namespace: "other" },
    spec: { user: "jane", resourceAttributes: { verb: "get", resource: "pods", namespace: "other" } },
    status,
  };

  assert.equal((await reviewLocalSubjectAccess(deps, review, { namespace: "other" })).status.allowed, true);
  await assert.rejects(reviewLocalSubjectAccess(deps, review, { namespace: "shop" }), {
    message: "spec.resourceAttributes.namespace must match namespace: shop",
  });
});

test("a field selector is used for nodes", async () => {
  const ask = async (value: string) => {
    const fieldSelector = { requirements: [{ key: "spec.nodeName", operator: "In", values: [value] }] };
    const resourceAttributes = { verb: "list", resource: "pods", fieldSelector };
    const spec = { user: "system:node:a", groups: ["system:nodes"], resourceAttributes };
    return (await reviewSubjectAccess(deps, { metadata: {}, spec, status })).status.allowed;
  };

  assert.equal(await ask("a"), true);
  assert.equal(await ask("b"), false);
});

test("a SelfSubjectRulesReview lists what the caller may do", () => {
  const empty = { resourceRules: [], nonResourceRules: [], incomplete: false };
  const review = (user: { name: string; groups: string[] }, namespace = "shop") =>
    reviewSelfSubjectRules(deps, { metadata: {}, spec: { namespace }, status: empty }, user).status;

  const { resourceRules, nonResourceRules, incomplete } = review(jane);
  assert(resourceRules.some(({ resources, verbs }) => resources?.includes("pods") && verbs.includes("list")));
  assert(nonResourceRules.some(({ nonResourceURLs }) => nonResourceURLs?.includes("/livez")));
  assert.equal(incomplete, false);
  assert.equal(review({ name: "system:node:a", groups: ["system:nodes"] }).incomplete, true);
  assert.throws(() => review(jane, ""), { message: "no namespace on request" });
});

test("a refusal is explained to those who may read the roles, and to nobody else", async () => {
  informers.put(ClusterRole, {
    metadata: { name: "podder" },
    rules: [{ verbs: ["create"], apiGroups: [""], resources: ["pods"] }],
  });
  const explaining = { ...deps, explain: createExplainRefusal(informers) };
  const resourceAttributes = { verb: "create", resource: "pods", namespace: "shop" };
  const review = { metadata: {}, spec: { user: "max", resourceAttributes }, status };
  const admin = { name: "admin", groups: ["system:masters"] };

  assert.deepEqual((await reviewSubjectAccess(explaining, review, jane)).status, { allowed: false });
  assert.deepEqual((await reviewSubjectAccess(explaining, review, admin)).status, {
    allowed: false,
    reason:
      'no rule allows it: it needs {apiGroups: [""], resources: ["pods"], verbs: ["create"]}, which ClusterRole "podder", ClusterRole "edit", ClusterRole "admin" have',
  });
  const own = { metadata: {}, spec: { resourceAttributes: { verb: "fly", resource: "carpets" } }, status };
  const asAdmin = await reviewSelfSubjectAccess(explaining, own, jane, admin);
  assert.match(asAdmin.status.reason ?? "", /which ClusterRole "cluster-admin" has$/);
});

test("a selector that cannot be read narrows nothing down, and the answer says so", async () => {
  const selectors = { fieldSelector: { rawSelector: "a" }, labelSelector: { rawSelector: "a in" } };
  const resourceAttributes = { verb: "list", resource: "pods", namespace: "shop", ...selectors };

  const { status: answered } = await reviewSubjectAccess(deps, {
    metadata: {},
    spec: { user: "jane", resourceAttributes },
    status,
  });

  assert.equal(answered.allowed, true);
  assert.equal(
    answered.evaluationError,
    "spec.resourceAttributes.fieldSelector ignored due to parse error; spec.resourceAttributes.labelSelector ignored due to parse error",
  );
});
