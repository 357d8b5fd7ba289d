import assert from "node:assert/strict";
import { test } from "node:test";
import { Scale } from "#api/autoscaling/scale.ts";
import { Event } from "#api/core/event.ts";
import { Pod } from "#api/core/pod.ts";
import { ReplicationController } from "#api/core/replication-controller.ts";
import { controllerOf } from "#api/meta/owner.ts";
import { ask } from "#testing/peers/ask.ts";
import { startCluster } from "#testing/start-cluster.ts";

const labels = { app: "web" };
const template = { metadata: { labels }, spec: { containers: [{ name: "web", image: "web:1" }] } };
const web = { metadata: { name: "web", namespace: "default" }, spec: { replicas: 2, template } };
const scalePath = "/api/v1/namespaces/default/replicationcontrollers/web/scale";

test("a ReplicationController creates its pods, replaces a deleted one, and reports it", async () => {
  await using cluster = await startCluster();
  await cluster.apply(ReplicationController, web);
  await cluster.settle();
  const [victim, ...others] = await cluster.list(Pod);
  assert(victim);

  await cluster.client.delete(Pod, victim);
  await cluster.settle();

  const pods = await cluster.list(Pod);
  const [controller] = await cluster.list(ReplicationController);
  assert.equal(others.length, 1);
  assert.equal(pods.length, 2);
  assert(pods.every((pod) => controllerOf(pod)?.kind === "ReplicationController"));
  assert(!pods.some((pod) => pod.metadata.uid === victim.metadata.uid));
  assert.deepEqual(controller?.status, { replicas: 2, fullyLabeledReplicas: 2, observedGeneration: 1 });
  const events = await cluster.list(Event, "default");
  assert(
    events.some(({ source, reason }) => source.component === "replication-controller" && reason === "SuccessfulCreate"),
  );
});

test("a ReplicationController is scaled through its scale subresource, whose selector is text", async () => {
  await using cluster = await startCluster();
  await cluster.apply(ReplicationController, web);
  await cluster.settle();
  const { json } = await ask(cluster.api.server, `GET ${scalePath}`);
  assert.deepEqual(json.status, { replicas: 2, selector: "app=web" });

  const scale = { kind: Scale.kind, apiVersion: "autoscaling/v1", metadata: { name: "web" }, spec: { replicas: 0 } };
  await ask(cluster.api.server, `PUT ${scalePath}`, { body: scale });
  await cluster.settle();

  assert.deepEqual(await cluster.list(Pod), []);
});
