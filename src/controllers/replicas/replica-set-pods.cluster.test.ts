import assert from "node:assert/strict";
import { test } from "node:test";
import { ReplicaSet } from "#api/apps/replica-set.ts";
import { Event } from "#api/core/event.ts";
import { Pod } from "#api/core/pod.ts";
import { controllerOf } from "#api/meta/owner.ts";
import { type InputOf } from "#api/resource.ts";
import { startWithNode } from "#testing/one-node.ts";

const labels = { app: "web" };
const template = (image: string) => ({ metadata: { labels }, spec: { containers: [{ name: "web", image }] } });
const metadata = { name: "web", namespace: "default" };
const setOf = (replicas: number): InputOf<ReplicaSet> => ({
  metadata,
  spec: { replicas, selector: { matchLabels: labels }, template: template("web:1") },
});

test("a ReplicaSet creates its pods and reports it", async () => {
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

test("a ReplicaSet scales down, adopts matching pods and releases others", async () => {
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
