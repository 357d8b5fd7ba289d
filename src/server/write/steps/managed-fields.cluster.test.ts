import assert from "node:assert/strict";
import { test } from "node:test";
import { HorizontalPodAutoscaler } from "#api/autoscaling/horizontal-pod-autoscaler.ts";
import { autoscalersV1 } from "#api/autoscaling/horizontal-pod-autoscaler-v1.ts";
import { ask } from "#testing/peers/ask.ts";
import { startCluster } from "#testing/start-cluster.ts";

const ref = { namespace: "default", name: "web" };
const path = (version: string): string => `/apis/autoscaling/${version}/namespaces/default/horizontalpodautoscalers`;
const pods = { type: "Pods", pods: { metric: { name: "rps" }, target: { type: "AverageValue", averageValue: "5" } } };
const cpu = { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 50 } } };
const autoscaler = {
  metadata: ref,
  spec: {
    scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" },
    maxReplicas: 5,
    metrics: [pods, cpu],
  },
};

test("an object that is written in two versions is one object, and its fields keep their owners", async () => {
  await using cluster = await startCluster({ controllers: false });
  const { server } = cluster.api;
  await ask(server, `POST ${path("v2")}?fieldManager=newer`, { body: autoscaler });

  const older = await cluster.client.get(autoscalersV1, ref);
  const body = { ...older, spec: { ...older.spec, maxReplicas: 7 } };
  const put = await ask(server, `PUT ${path("v1")}/web?fieldManager=older`, { body });

  const newer = await cluster.client.get(HorizontalPodAutoscaler, ref);
  assert.equal(put.status, 200);
  assert.equal(older.spec.targetCPUUtilizationPercentage, 50);
  assert.equal(newer.spec.maxReplicas, 7);
  assert.deepEqual(newer.spec.metrics, [pods, cpu]);
  assert.equal(newer.metadata.annotations, undefined);
  assert.deepEqual(ownersOf(newer, "f:maxReplicas"), ["older"]);
  assert.deepEqual(ownersOf(newer, "f:metrics"), ["newer"]);
});

test("a status that is written in one version is read in the other", async () => {
  await using cluster = await startCluster({ controllers: false });
  const { server } = cluster.api;
  const created = await ask(server, `POST ${path("v2")}`, { body: autoscaler });
  const conditions = [{ type: "AbleToScale", status: "True", reason: "Ready" }];
  const status = { currentReplicas: 2, desiredReplicas: 3, conditions };

  const put = await ask(server, `PUT ${path("v2")}/web/status`, { body: { ...created.json, status } });

  const older = await cluster.client.get(autoscalersV1, ref);
  assert.equal(put.status, 200);
  assert.deepEqual(older.status, { currentReplicas: 2, desiredReplicas: 3 });
  assert.deepEqual(JSON.parse(older.metadata.annotations?.["autoscaling.alpha.kubernetes.io/conditions"] ?? ""), [
    { ...conditions[0], lastTransitionTime: null },
  ]);
});

function ownersOf(
  { metadata: { managedFields = [] } }: HorizontalPodAutoscaler,
  field: string,
): (string | undefined)[] {
  const owns = (fields: unknown) => field in ((fields as { "f:spec"?: object })["f:spec"] ?? {});
  return managedFields.filter(({ fieldsV1 }) => owns(fieldsV1)).map(({ manager }) => manager);
}
