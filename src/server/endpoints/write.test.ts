import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "#api/core/pod.ts";
import { ServiceAccount } from "#api/core/service-account.ts";
import { startCluster } from "#testing/start-cluster.ts";

test("what admission adds to an object is in nobody's managed fields", async () => {
  await using cluster = await startCluster({ controllers: false });
  const place = { namespace: "default" };
  await cluster.client.create(ServiceAccount, { metadata: { name: "default", ...place } });

  const pod = await cluster.client.create(Pod, {
    metadata: { name: "web", ...place },
    spec: { containers: [{ name: "web", image: "registry.example/web:1" }] },
  });

  const [entry] = pod.metadata.managedFields ?? [];
  const fields = entry?.fieldsV1 as { "f:spec": object };
  assert.ok(pod.spec.volumes?.[0]?.name.startsWith("kube-api-access-"));
  assert.deepEqual(Object.keys(fields["f:spec"]), [
    "f:containers",
    "f:dnsPolicy",
    "f:enableServiceLinks",
    "f:restartPolicy",
    "f:schedulerName",
    "f:securityContext",
    "f:terminationGracePeriodSeconds",
  ]);
});

test("a patch of the status leaves the cached object alone", async () => {
  await using cluster = await startCluster({ controllers: false });
  const place = { namespace: "default" };
  await cluster.client.create(ServiceAccount, { metadata: { name: "default", ...place } });
  const before = await cluster.client.create(Pod, {
    metadata: { name: "web", labels: { app: "web" }, ...place },
    spec: { containers: [{ name: "web", image: "registry.example/web:1" }] },
  });

  const patch = { type: "strategic", body: { status: { phase: "Running" } } } as const;
  const after = await cluster.client.patch(Pod, { name: "web", ...place }, patch, { subresource: "status" });

  assert.equal(before.status?.phase, "Pending");
  assert.equal(after.status?.phase, "Running");
  assert.deepEqual(after.spec, before.spec);
  assert.notEqual(after.metadata.resourceVersion, before.metadata.resourceVersion);
});
