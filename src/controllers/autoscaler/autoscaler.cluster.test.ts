import assert from "node:assert/strict";
import { test } from "node:test";
import { Deployment } from "#api/apps/deployment.ts";
import { HorizontalPodAutoscaler } from "#api/autoscaling/horizontal-pod-autoscaler.ts";
import { Event } from "#api/core/event.ts";
import { Pod } from "#api/core/pod.ts";
import { findCondition } from "#api/meta/condition.ts";
import { type InputOf } from "#api/resource.ts";
import { ask } from "#testing/peers/ask.ts";
import { startCluster, type TestCluster } from "#testing/start-cluster.ts";

const namespace = "default";
const ref = { namespace, name: "web" };
const labels = { app: "web" };

/** A cluster whose web pods share a load, in thousandths of a core. */
async function loadedCluster(load: { millis: number }): Promise<TestCluster> {
  const running = (cluster: TestCluster) =>
    cluster.informers
      .of(Pod)
      .list(namespace)
      .filter(({ status }) => status.phase === "Running").length;
  const usage = () => ({ cpuMillis: load.millis / Math.max(1, running(cluster)), memoryBytes: 32 << 20 });
  const cluster: TestCluster = await startCluster({ nodes: 1, simulation: { hooks: { usage } } });
  return cluster;
}

async function deploy({ client, settle }: TestCluster, replicas = 1): Promise<void> {
  const requests = { cpu: "100m", memory: "32Mi" };
  const template = {
    metadata: { labels },
    spec: { containers: [{ name: "main", image: "web:1", resources: { requests } }] },
  };
  await client.create(Deployment, { metadata: ref, spec: { replicas, selector: { matchLabels: labels }, template } });
  await settle();
}

const autoscale = ({ client }: TestCluster, spec: Partial<InputOf<HorizontalPodAutoscaler>["spec"]> = {}) =>
  client.create(HorizontalPodAutoscaler, {
    metadata: ref,
    spec: {
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" },
      minReplicas: 1,
      maxReplicas: 10,
      metrics: [
        { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 50 } } },
      ],
      ...spec,
    },
  });

const sizeOf = async ({ client }: TestCluster) => (await client.get(Deployment, ref)).spec.replicas;
const statusOf = async ({ client }: TestCluster) => (await client.get(HorizontalPodAutoscaler, ref)).status;
async function conditionOf(cluster: TestCluster, type: string) {
  const { status, reason, message } = findCondition((await statusOf(cluster)).conditions, type) ?? {};
  return [status, reason, message];
}
const minutes = 60_000;

test("an autoscaler follows the load, up at once and down after five minutes", async () => {
  const load = { millis: 50 };
  await using cluster = await loadedCluster(load);
  await deploy(cluster);
  await autoscale(cluster);
  await cluster.clock.advance(1 * minutes);
  assert.equal(await sizeOf(cluster), 1);
  const { currentMetrics } = await statusOf(cluster);
  assert.deepEqual(currentMetrics, [
    { type: "Resource", resource: { name: "cpu", current: { averageUtilization: 50, averageValue: "50m" } } },
  ]);

  load.millis = 290;
  await cluster.clock.advance(2 * minutes);
  assert.equal(await sizeOf(cluster), 6);
  assert.deepEqual(await conditionOf(cluster, "ScalingActive"), [
    "True",
    "ValidMetricFound",
    "the HPA was able to successfully calculate a replica count from cpu resource utilization (percentage of request)",
  ]);

  load.millis = 90;
  await cluster.clock.advance(4 * minutes);
  assert.equal(await sizeOf(cluster), 6);
  assert.equal((await conditionOf(cluster, "AbleToScale"))[1], "ScaleDownStabilized");
  await cluster.clock.advance(3 * minutes);
  assert.equal(await sizeOf(cluster), 2);
  const events = (await cluster.list(Event)).filter(({ reason }) => reason === "SuccessfulRescale");
  assert(events.some(({ message }) => message === "New size: 2; reason: All metrics below target"));
});

test("an autoscaler keeps within its limits and leaves a target without replicas alone", async () => {
  const load = { millis: 5000 };
  await using cluster = await loadedCluster(load);
  await deploy(cluster);
  await autoscale(cluster, { maxReplicas: 3 });
  await cluster.clock.advance(2 * minutes);
  assert.equal(await sizeOf(cluster), 3);
  assert.deepEqual((await conditionOf(cluster, "ScalingLimited")).slice(0, 2), ["True", "TooManyReplicas"]);

  const patch = { type: "merge", body: { spec: { replicas: 0 } } } as const;
  await cluster.client.patch(Deployment, ref, patch, { subresource: "scale" });
  await cluster.clock.advance(minutes);

  assert.equal(await sizeOf(cluster), 0);
  assert.equal((await conditionOf(cluster, "ScalingActive"))[1], "ScalingDisabled");
});

const failures = [
  {
    name: "a kind that nobody serves",
    spec: { scaleTargetRef: { apiVersion: "example.com/v1", kind: "Widget", name: "web" } },
    type: "AbleToScale",
    expected: [
      "False",
      "FailedGetScale",
      `the HPA controller was unable to get the target's current scale: no matches for kind "Widget" in group "example.com"`,
    ],
  },
  {
    name: "a target that does not exist",
    spec: { scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "none" } },
    type: "AbleToScale",
    expected: [
      "False",
      "FailedGetScale",
      `the HPA controller was unable to get the target's current scale: deployments.apps "none" not found`,
    ],
  },
  {
    name: "a metric of pods without an adapter",
    spec: {
      metrics: [
        { type: "Pods", pods: { metric: { name: "rps" }, target: { type: "AverageValue", averageValue: "5" } } },
      ],
    },
    type: "ScalingActive",
    expected: [
      "False",
      "FailedGetPodsMetric",
      "the HPA was unable to compute the replica count: unable to get metric rps: unable to fetch metrics from custom metrics API: no custom metrics API (custom.metrics.k8s.io) registered",
    ],
  },
  {
    name: "an external metric without an adapter",
    spec: {
      metrics: [{ type: "External", external: { metric: { name: "queue" }, target: { type: "Value", value: "5" } } }],
    },
    type: "ScalingActive",
    expected: [
      "False",
      "FailedGetExternalMetric",
      "the HPA was unable to compute the replica count: unable to get external metric default/queue/nil: unable to fetch metrics from external metrics API: the server could not find the requested resource (get queue.external.metrics.k8s.io)",
    ],
  },
  {
    name: "pods without a request",
    spec: {
      metrics: [
        {
          type: "Resource",
          resource: { name: "nvidia.com/gpu", target: { type: "Utilization", averageUtilization: 5 } },
        },
      ],
    },
    type: "ScalingActive",
    expected: [
      "False",
      "FailedGetResourceMetric",
      "the HPA was unable to compute the replica count: failed to get nvidia.com/gpu utilization: did not receive metrics for targeted pods (pods might be unready)",
    ],
  },
] as const;
test("an autoscaler says in upstream's words what it cannot do", async () => {
  await using cluster = await loadedCluster({ millis: 10 });
  await deploy(cluster);
  for (const { name, spec, type, expected } of failures) {
    await autoscale(cluster, spec as Parameters<typeof autoscale>[1]);
    await cluster.clock.advance(minutes);
    assert.deepEqual(await conditionOf(cluster, type), expected, name);
    await cluster.client.delete(HorizontalPodAutoscaler, ref);
    await cluster.clock.advance(1000);
  }
});

test("an autoscaler scales a custom resource", async () => {
  await using cluster = await loadedCluster({ millis: 290 });
  const { client, clock, api } = cluster;
  const fleets = "/apis/example.com/v1/namespaces/default/fleets";
  const anything = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  const schema = { type: "object", properties: { spec: anything, status: anything } };
  const paths = {
    specReplicasPath: ".spec.size",
    statusReplicasPath: ".status.size",
    labelSelectorPath: ".status.selector",
  };
  const version = {
    name: "v1",
    served: true,
    storage: true,
    schema: { openAPIV3Schema: schema },
    subresources: { scale: paths },
  };
  const names = { plural: "fleets", kind: "Fleet" };
  const definition = { group: "example.com", scope: "Namespaced", names, versions: [version] };
  const body = { metadata: { name: "fleets.example.com" }, spec: definition };
  await ask(api.server, "POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions", { body });
  await clock.advance(1000);
  const fleet = { apiVersion: "example.com/v1", kind: "Fleet", metadata: { name: "web" } };
  await ask(api.server, `POST ${fleets}`, {
    body: { ...fleet, spec: { size: 1 }, status: { size: 1, selector: "app=web" } },
  });
  const resources = { requests: { cpu: "100m" } };
  await client.create(Pod, {
    metadata: { ...ref, labels },
    spec: { containers: [{ name: "main", image: "web:1", resources }] },
  });
  await cluster.settle();

  await autoscale(cluster, { scaleTargetRef: { apiVersion: "example.com/v1", kind: "Fleet", name: "web" } });
  await clock.advance(minutes);

  // Nobody makes more pods of it, so the one pod keeps using 290 % of its request, where 50 % is wanted.
  assert.equal((await ask(api.server, `GET ${fleets}/web`)).json.spec?.size, 6);
});

test("two autoscalers for the same pods do not fight", async () => {
  await using cluster = await loadedCluster({ millis: 500 });
  await deploy(cluster);
  await autoscale(cluster);
  const { spec } = await cluster.client.get(HorizontalPodAutoscaler, ref);
  await cluster.client.create(HorizontalPodAutoscaler, { metadata: { namespace, name: "second" }, spec });
  await cluster.clock.advance(2 * minutes);

  const [, reason, message] = await conditionOf(cluster, "ScalingActive");
  assert.equal(reason, "AmbiguousSelector");
  assert.equal(message, "pods by selector app=web are controlled by multiple HPAs: [{second default} {web default}]");
});
