import assert from "node:assert/strict";
import { test } from "node:test";
import { Deployment } from "orlop/api/apps/deployment.ts";
import { HorizontalPodAutoscaler } from "orlop/api/autoscaling/horizontal-pod-autoscaler.ts";
import { startCluster } from "orlop/testing";
import { name, seed, web } from "./web.ts";

test("an autoscaler follows the load up and down", async () => {
  let cpuMillis = 400;
  const usage = () => ({ cpuMillis, memoryBytes: 1 << 20 });
  await using cluster = await startCluster({ nodes: 2, seed, simulation: { hooks: { usage } } });
  await cluster.apply(Deployment, web(1, { resources: { requests: { cpu: "100m" } } }));
  await cluster.apply(HorizontalPodAutoscaler, {
    metadata: name,
    spec: {
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" },
      minReplicas: 1,
      maxReplicas: 4,
      metrics: [{ type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 50 } } }],
    },
  });
  const replicas = async () => (await cluster.client.get(Deployment, name)).spec.replicas;

  await cluster.until(async () => (await replicas()) === 4, 600_000);
  cpuMillis = 1;
  await cluster.until(async () => (await replicas()) === 1, 1_800_000);

  assert.equal((await cluster.client.get(HorizontalPodAutoscaler, name)).status?.desiredReplicas, 1);
});
