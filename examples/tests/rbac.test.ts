import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMap } from "orlop/api/core/config-map.ts";
import { startCluster } from "orlop/testing";
import { seed } from "./web.ts";

const role = `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: { name: reader }
rules: [{ apiGroups: [""], resources: [configmaps], verbs: [get, list] }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: { name: reader }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader }
subjects: [{ kind: ServiceAccount, name: operator, namespace: default }]
`;

test("an operator may read what its role allows, and nothing else", async () => {
  await using cluster = await startCluster({ seed });
  await cluster.applyYaml(role);
  await cluster.settle();
  const operator = cluster.as("default/operator");

  await operator.list(ConfigMap, { namespace: "default" });

  const create = operator.create(ConfigMap, { metadata: { namespace: "default", name: "a" } });
  await assert.rejects(create, /cannot create resource "configmaps"/);
});
