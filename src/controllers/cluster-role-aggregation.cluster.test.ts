import assert from "node:assert/strict";
import { test } from "node:test";
import { ClusterRole } from "#api/rbac/cluster-role.ts";
import { build } from "#testing/build.ts";
import { startCluster } from "#testing/start-cluster.ts";
import { aggregateRules } from "./cluster-role-aggregation.ts";

test("aggregateRules() joins the rules of matching roles, each once, in the order of their names", () => {
  const rule = (resource: string) => ({ apiGroups: [""], resources: [resource], verbs: ["get"] });
  const role = (name: string, rules: ReturnType<typeof rule>[]) =>
    build(ClusterRole, { metadata: { name, labels: { to: "view" } }, rules });
  const view = build(ClusterRole, {
    metadata: { name: "view", labels: { to: "view" } },
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: { to: "view" } }] },
  });

  const rules = aggregateRules(view, [role("b", [rule("pods"), rule("nodes")]), view, role("a", [rule("pods")])]);

  assert.deepEqual(rules, [rule("pods"), rule("nodes")]);
});

test("an aggregated role follows the roles that it selects", async () => {
  await using cluster = await startCluster();
  const rule = (resource: string) => ({ apiGroups: [""], resources: [resource], verbs: ["get"] });
  const selector = { matchLabels: { to: "watcher" } };
  await cluster.client.create(ClusterRole, {
    metadata: { name: "watcher" },
    aggregationRule: { clusterRoleSelectors: [selector] },
  });
  const part = { metadata: { name: "part", labels: selector.matchLabels }, rules: [rule("pods")] };
  await cluster.client.create(ClusterRole, part);
  await cluster.settle();
  const gathered = await cluster.client.get(ClusterRole, { name: "watcher" });

  await cluster.client.delete(ClusterRole, { name: "part" });
  await cluster.settle();

  assert.deepEqual(gathered.rules, [rule("pods")]);
  assert.deepEqual((await cluster.client.get(ClusterRole, { name: "watcher" })).rules, []);
});
