import assert from "node:assert/strict";
import { test } from "node:test";
import { Service } from "#api/core/service.ts";
import { EndpointSlice } from "#api/discovery/endpoint-slice.ts";
import { FlowSchema } from "#api/flowcontrol/flow-schema.ts";
import { ClusterRole } from "#api/rbac/cluster-role.ts";
import { RoleBinding } from "#api/rbac/role-binding.ts";
import { ensureFlows } from "#server/flowcontrol/bootstrap/ensure-flows.ts";
import { ensureKubernetesService } from "#server/kubernetes-service.ts";
import { startCluster } from "#testing/start-cluster.ts";
import { announcedObjects, keptObjects } from "./bootstrap.ts";
import { keepBootstrap } from "./keep-bootstrap.ts";

const place = { address: "192.0.2.7", port: 6443, clusterIP: "10.96.0.1" };
const announced = announcedObjects(place, ["10.96.0.0/16"]);

test("what bootstrap made comes back within 10 s of being deleted, and nothing else does", async () => {
  await using cluster = await startCluster({
    controllers: false,
    components: ({ client, informers, clock, log }) => [
      (signal) => keepBootstrap({ client, informers, clock, log, kept: [...keptObjects, ...announced] }, signal),
    ],
  });
  const { client, clock } = cluster;
  await ensureFlows(client);
  await client.create(ClusterRole, { metadata: { name: "own" }, rules: [] });
  const binding = { namespace: "kube-system", name: "system:controller:token-cleaner" };

  await ensureKubernetesService(client, place);
  await client.delete(Service, { namespace: "default", name: "kubernetes" });
  await client.delete(EndpointSlice, { namespace: "default", name: "kubernetes" });
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
  const service = await client.get(Service, { namespace: "default", name: "kubernetes" });
  assert.deepEqual([service.spec.clusterIP, service.spec.ports?.[0]?.targetPort], ["10.96.0.1", 6443]);
  const slice = await client.get(EndpointSlice, { namespace: "default", name: "kubernetes" });
  assert.deepEqual(slice.endpoints[0]?.addresses, ["192.0.2.7"]);
  await assert.rejects(client.get(ClusterRole, { name: "own" }), { reason: "NotFound" });
});
