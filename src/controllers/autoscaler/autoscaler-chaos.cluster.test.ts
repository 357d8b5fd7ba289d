import assert from "node:assert/strict";
import { test } from "node:test";
import { Deployment } from "#api/apps/deployment.ts";
import { HorizontalPodAutoscaler } from "#api/autoscaling/horizontal-pod-autoscaler.ts";
import { Pod } from "#api/core/pod.ts";
import { chaosSeeds, startChaos } from "#testing/chaos/chaos.ts";
import { type TestCluster } from "#testing/start-cluster.ts";

const namespace = "default";
const ref = { namespace, name: "web" };
const labels = { app: "web" };
const maxReplicas = 8;

/** The metrics of a node whose running pods share a load, in thousandths of a core. */
class SharedLoad {
  millis = 0;
  cluster: TestCluster | undefined;
  readonly #seconds = new Map<string, number>();
  #atMs = 0;

  metrics(): string {
    const { clock, informers } = this.cluster ?? {};
    if (!clock || !informers) return "";
    const nowMs = clock.now();
    const pods = informers
      .of(Pod)
      .list(namespace)
      .filter(({ status }) => status.phase === "Running");
    const each = (this.millis / 1000 / Math.max(1, pods.length)) * ((nowMs - this.#atMs) / 1000);
    this.#atMs = nowMs;
    return pods.map((pod) => this.#linesOf(pod, each, nowMs)).join("");
  }

  #linesOf({ metadata, status }: Pod, used: number, nowMs: number): string {
    const seconds = (this.#seconds.get(metadata.uid) ?? 0) + used;
    this.#seconds.set(metadata.uid, seconds);
    const place = `{container="main",namespace="${namespace}",pod="${metadata.name}"}`;
    return `container_cpu_usage_seconds_total${place} ${seconds} ${nowMs}
container_memory_working_set_bytes${place} 1 ${nowMs}
container_start_time_seconds${place} ${Date.parse(status.startTime ?? "") / 1000}
`;
  }
}

async function deploy({ client }: TestCluster): Promise<void> {
  const container = { name: "main", image: "web:1", resources: { requests: { cpu: "100m" } } };
  const template = { metadata: { labels }, spec: { containers: [container] } };
  await client.create(Deployment, { metadata: ref, spec: { selector: { matchLabels: labels }, template } });
  const target = { type: "Utilization", averageUtilization: 50 };
  await client.create(HorizontalPodAutoscaler, {
    metadata: ref,
    spec: {
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" },
      maxReplicas,
      metrics: [{ type: "Resource", resource: { name: "cpu", target } }],
    },
  });
}

for (const seed of chaosSeeds(2)) {
  test(`an autoscaler reaches the right size through crashes and conflicts (seed ${seed})`, async () => {
    const load = new SharedLoad();
    await using cluster = await startChaos(seed, { nodeMetrics: () => load.metrics() });
    load.cluster = cluster;
    const sizes = new Set<number>();
    cluster.informers.of(Deployment).subscribe(({ object }) => sizes.add(object.spec.replicas));
    await deploy(cluster);
    const isSize = (size: number) => () => cluster.informers.of(Deployment).get(ref)?.spec.replicas === size;

    load.millis = 290;
    await cluster.until(isSize(6));
    load.millis = 90;
    await cluster.until(isSize(2));
    await cluster.clock.advance(120_000);

    assert(isSize(2)());
    assert(Math.max(...sizes) <= maxReplicas);
    const { status } = await cluster.client.get(HorizontalPodAutoscaler, ref);
    assert.deepEqual([status.currentReplicas, status.desiredReplicas], [2, 2]);
  });
}
