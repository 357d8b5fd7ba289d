import assert from "node:assert/strict";
import { test } from "node:test";
import { Deployment } from "#api/apps/deployment.ts";
import { ReplicaSet } from "#api/apps/replica-set.ts";
import { Event } from "#api/core/event.ts";
import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { Service } from "#api/core/service.ts";
import { EndpointSlice } from "#api/discovery/endpoint-slice.ts";
import { controllerOf } from "#api/meta/owner.ts";
import { type InputOf } from "#api/resource.ts";
import { runReconcilers } from "#runtime/run-reconciler.ts";
import { heartbeats, type PodRunnerOptions, podRunner } from "#testing/pod-runner.ts";
import { startCluster, type TestCluster } from "#testing/start-cluster.ts";

/** A cluster with one large node on which pods run at once. */
async function startWithNode(options: PodRunnerOptions = {}): Promise<TestCluster> {
  const cluster = await startCluster({
    components: (deps) => [
      (stop) => runReconcilers([podRunner(options)], deps, stop),
      (stop) => heartbeats(deps, ["node-1"], stop),
    ],
  });
  const resources = { cpu: "1000", memory: "1000Gi", pods: "5000" };
  await cluster.client.create(Node, {
    metadata: { name: "node-1" },
    status: { capacity: resources, allocatable: resources, conditions: [{ type: "Ready", status: "True" }] },
  });
  await cluster.client.patch(Node, { name: "node-1" }, { type: "merge", body: { spec: { taints: null } } });
  await cluster.settle();
  return cluster;
}

const labels = { app: "web" };
const template = (image: string) => ({ metadata: { labels }, spec: { containers: [{ name: "web", image }] } });
const metadata = { name: "web", namespace: "default" };
const setOf = (replicas: number): InputOf<ReplicaSet> => ({
  metadata,
  spec: { replicas, selector: { matchLabels: labels }, template: template("web:1") },
});
const deploymentOf = (
  replicas: number,
  image: string,
  spec: InputOf<Deployment>["spec"] = {},
): InputOf<Deployment> => ({
  metadata,
  spec: { replicas, selector: { matchLabels: labels }, template: template(image), ...spec },
});
const images = (pods: readonly Pod[]) => [...new Set(pods.map(({ spec }) => spec.containers[0]?.image))];

test("a ReplicaSet makes its pods and says so", async () => {
  await using cluster = await startWithNode();

  await cluster.apply(ReplicaSet, setOf(3));
  await cluster.settle();

  const pods = await cluster.list(Pod);
  const [set] = await cluster.list(ReplicaSet);
  assert.equal(pods.length, 3);
  assert(pods.every((pod) => controllerOf(pod)?.uid === set?.metadata.uid));
  assert(pods.every((pod) => pod.metadata.name?.startsWith("web-")));
  assert.deepEqual(set?.status, {
    replicas: 3,
    fullyLabeledReplicas: 3,
    readyReplicas: 3,
    availableReplicas: 3,
    terminatingReplicas: 0,
    observedGeneration: 1,
  });
  const events = await cluster.list(Event, "default");
  assert.equal(events.filter(({ reason }) => reason === "SuccessfulCreate").length, 3);
});

test("a ReplicaSet replaces a pod that is deleted", async () => {
  await using cluster = await startWithNode();
  await cluster.apply(ReplicaSet, setOf(3));
  await cluster.settle();
  const [victim] = await cluster.list(Pod);
  assert(victim);

  await cluster.client.delete(Pod, victim);
  await cluster.settle();

  const pods = await cluster.list(Pod);
  assert.equal(pods.length, 3);
  assert(!pods.some((pod) => pod.metadata.uid === victim.metadata.uid));
});

test("a ReplicaSet shrinks, adopts what fits and releases what does not", async () => {
  await using cluster = await startWithNode();
  await cluster.client.create(Pod, { metadata: { ...metadata, name: "lone", labels }, spec: template("web:1").spec });
  await cluster.apply(ReplicaSet, setOf(2));
  await cluster.settle();
  const adopted = await cluster.client.get(Pod, { namespace: "default", name: "lone" });

  const body = { metadata: { labels: { app: "other" } } };
  await cluster.client.patch(Pod, { namespace: "default", name: "lone" }, { type: "merge", body });
  await cluster.settle();
  const released = await cluster.client.get(Pod, { namespace: "default", name: "lone" });
  await cluster.apply(ReplicaSet, setOf(1));
  await cluster.settle();

  assert.equal(controllerOf(adopted)?.name, "web");
  assert.equal(controllerOf(released), undefined);
  assert.equal((await cluster.list(Pod)).length, 2);
});

test("a ReplicaSet counts a pod as available after minReadySeconds", async () => {
  await using cluster = await startWithNode();
  const set = setOf(1);
  await cluster.apply(ReplicaSet, { ...set, spec: { ...set.spec, minReadySeconds: 300 } });

  await cluster.settle();
  const [early] = await cluster.list(ReplicaSet);
  await cluster.clock.advance(300_000);
  const [late] = await cluster.list(ReplicaSet);

  assert.equal(early?.status.readyReplicas, 1);
  assert.equal(early?.status.availableReplicas, undefined);
  assert.equal(late?.status.availableReplicas, 1);
});

test("a Deployment rolls out, rolls on and rolls back", async () => {
  await using cluster = await startWithNode();
  await cluster.apply(Deployment, deploymentOf(4, "web:1"));
  await cluster.settle();
  const first = await cluster.client.get(Deployment, metadata);

  await cluster.apply(Deployment, deploymentOf(4, "web:2"));
  await cluster.settle();
  const second = await cluster.client.get(Deployment, metadata);
  const secondImages = images(await cluster.list(Pod));
  await cluster.apply(Deployment, deploymentOf(4, "web:1"));
  await cluster.settle();

  const third = await cluster.client.get(Deployment, metadata);
  const sets = await cluster.list(ReplicaSet);
  const revision = ({ metadata }: Deployment | ReplicaSet) =>
    metadata.annotations?.["deployment.kubernetes.io/revision"];
  assert.deepEqual([first, second, third].map(revision), ["1", "2", "3"]);
  assert.deepEqual(secondImages, ["web:2"]);
  assert.deepEqual(images(await cluster.list(Pod)), ["web:1"]);
  assert.equal(sets.length, 2);
  assert.deepEqual(sets.map(revision).toSorted(), ["2", "3"]);
  const { conditions = [], ...counts } = third.status;
  assert.deepEqual(counts, {
    observedGeneration: third.metadata.generation,
    replicas: 4,
    updatedReplicas: 4,
    readyReplicas: 4,
    availableReplicas: 4,
    terminatingReplicas: 0,
  });
  assert.deepEqual(conditions.map(({ type, status, reason }) => `${type} ${status} ${reason}`).toSorted(), [
    "Available True MinimumReplicasAvailable",
    "Progressing True NewReplicaSetAvailable",
  ]);
});

test("a rollout stays within its limits and stops at pods that do not become ready", async () => {
  await using cluster = await startWithNode({ isReady: ({ spec }) => spec.containers[0]?.image !== "web:bad" });
  await cluster.apply(Deployment, deploymentOf(8, "web:1"));
  await cluster.settle();
  let most = 0;
  const alive = new Set<string>();
  cluster.informers.of(Pod).subscribe((change) => {
    const { uid, deletionTimestamp } = change.object.metadata;
    if (change.type === "delete" || deletionTimestamp) alive.delete(uid);
    else alive.add(uid);
    most = Math.max(most, alive.size);
  });

  await cluster.apply(Deployment, deploymentOf(8, "web:bad", { progressDeadlineSeconds: 60 }));
  await cluster.settle();
  await cluster.clock.advance(120_000);

  const { status } = await cluster.client.get(Deployment, metadata);
  assert.equal(most, 10);
  assert.equal(status.availableReplicas, 6);
  assert.equal(status.updatedReplicas, 4);
  const progressing = status.conditions?.find(({ type }) => type === "Progressing");
  assert.equal(progressing?.reason, "ProgressDeadlineExceeded");
  assert.match(progressing?.message ?? "", /^ReplicaSet "web-\w+" has timed out progressing\.$/);
});

test("a Deployment recreates, and scales while it is paused", async () => {
  await using cluster = await startWithNode();
  const strategy = { type: "Recreate" } as const;
  await cluster.apply(Deployment, deploymentOf(2, "web:1", { strategy }));
  await cluster.settle();
  await cluster.apply(Deployment, deploymentOf(2, "web:2", { strategy }));
  await cluster.settle();
  const recreated = images(await cluster.list(Pod));

  await cluster.apply(Deployment, deploymentOf(5, "web:3", { strategy, paused: true }));
  await cluster.settle();

  const pods = await cluster.list(Pod);
  assert.deepEqual(recreated, ["web:2"]);
  assert.deepEqual([pods.length, images(pods)], [5, ["web:2"]]);
});

test("a service's slices follow its pods", async () => {
  await using cluster = await startWithNode();
  await cluster.apply(Deployment, deploymentOf(3, "web:1"));
  await cluster.apply(Service, { metadata, spec: { selector: labels, ports: [{ port: 80, targetPort: 8080 }] } });
  await cluster.settle();
  const [slice, ...others] = await cluster.list(EndpointSlice, "default").then((all) => all.filter(isWeb));

  await cluster.apply(Deployment, deploymentOf(1, "web:1"));
  await cluster.settle();
  const [later] = await cluster.list(EndpointSlice, "default").then((all) => all.filter(isWeb));
  await cluster.client.delete(Service, metadata);
  await cluster.settle();

  assert.equal(others.length, 0);
  assert.deepEqual([slice?.endpoints.length, slice?.ports?.[0]?.port], [3, 8080]);
  assert(slice?.endpoints.every(({ conditions, nodeName }) => conditions.ready && nodeName === "node-1"));
  assert.equal(later?.endpoints.length, 1);
  assert.deepEqual((await cluster.list(EndpointSlice, "default")).filter(isWeb), []);
});

const isWeb = ({ metadata: { labels } }: EndpointSlice) => labels?.["kubernetes.io/service-name"] === "web";
