import assert from "node:assert/strict";
import { test } from "node:test";
import { FlowSchema } from "#api/flowcontrol/flow-schema.ts";
import { ClusterRole } from "#api/rbac/cluster-role.ts";
import { RoleBinding } from "#api/rbac/role-binding.ts";
import { ensureFlows } from "#server/flowcontrol/bootstrap/ensure-flows.ts";
import { startCluster } from "#testing/start-cluster.ts";
import { keptObjects } from "./bootstrap.ts";
import { keepBootstrap } from "./keep-bootstrap.ts";

test("what bootstrap made comes back within 10 s of being deleted, and nothing else does", async () => {
  await using cluster = await startCluster({
    controllers: false,
    components: ({ client, informers, clock, log }) => [
      (signal) => keepBootstrap({ client, informers, clock, log, kept: keptObjects }, signal),
    ],
  });
  const { client, clock } = cluster;
  await ensureFlows(client);
  await client.create(ClusterRole, { metadata: { name: "own" }, rules: [] });
  const binding = { namespace: "kube-system", name: "system:controller:token-cleaner" };

  await client.delete(ClusterRole, { name: "own" });
  await client.delete(ClusterRole, { name: "view" });
  await client.delete(RoleBinding, binding);
  await client.delete(FlowSchema, { name: "exempt" });
  await clock.advance(9_999);

  assert.equal(
    (await client.get(ClusterRole, { name: "view" })).metadata.annotations?.[
      "rbac.authorization.kubernetes.io/autoupdate"
    ],
    "true",
  );
  assert.equal((await client.get(RoleBinding, binding)).subjects?.length, 1);
  assert.equal((await client.get(FlowSchema, { name: "exempt" })).spec.matchingPrecedence, 1);
  await assert.rejects(client.get(ClusterRole, { name: "own" }), { reason: "NotFound" });
});
