import assert from "node:assert/strict";
import { test } from "node:test";
import { Deployment } from "#api/apps/deployment.ts";
import { ConfigMap } from "#api/core/config-map.ts";
import { Event } from "#api/core/event.ts";
import { Pod } from "#api/core/pod.ts";
import { Service } from "#api/core/service.ts";
import { type Resource } from "#api/resource.ts";
import { startCluster } from "#testing/start-cluster.ts";
import { explain } from "./explain.ts";
import { gather } from "./gather.ts";

const place = { namespace: "default", name: "web" };
const labels = { app: "web" };
const podSpec = (cpu: string) => ({ containers: [{ name: "c", image: "i", resources: { requests: { cpu } } }] });

test("gather() finds through the API alone what explain() needs", async () => {
  await using cluster = await startCluster();
  const why = async (resource: Resource, name = "web"): Promise<string> =>
    explain(await gather(cluster.client, { resource, namespace: "default", name }, cluster.clock.now())).headline;
  await cluster.settle();

  await cluster.apply(Pod, { metadata: { namespace: "default", name: "big" }, spec: podSpec("40") });
  await cluster.apply(Service, { metadata: place, spec: { selector: labels, ports: [{ port: 80 }] } });
  const template = { metadata: { labels }, spec: { ...podSpec("1"), serviceAccountName: "nobody" } };
  const spec = { replicas: 1, selector: { matchLabels: labels }, template };
  await cluster.apply(Deployment, { metadata: place, spec });
  await cluster
    .apply(Deployment, { metadata: { ...place, name: "bad" }, spec: { ...spec, replicas: -1 } })
    .catch(() => {});
  await cluster.client
    .create(Pod, { metadata: { ...place, name: "early", resourceVersion: "7" }, spec: podSpec("1") })
    .catch(() => {});
  await cluster.apply(Service, { metadata: { ...place, name: "gone" }, spec: { ports: [{ port: 80 }] } });
  await cluster.client.delete(Service, { ...place, name: "gone" });
  const { metadata } = await cluster.client.create(ConfigMap, { metadata: place });
  await cluster.client.create(Event, {
    metadata: { ...place, name: "web.1" },
    involvedObject: { kind: "ConfigMap", namespace: "default", name: "web", uid: metadata.uid ?? "" },
    ...{ type: "Warning", reason: "Taken", message: "the name is taken" },
  });
  await cluster.clock.advance(1000);

  assert.match(await why(ConfigMap), /^ConfigMap web has a warning as its newest event: the name is taken$/);
  assert.match(await why(Pod, "big"), /Pod big cannot be scheduled because the cluster has no nodes/);
  assert.match(await why(Service), /no pod in namespace default has the labels app=web/);
  assert.match(await why(Deployment), /the API server refuses its pods: .*serviceaccount "nobody" not found/);
  assert.match(await why(Deployment, "bad"), /There is no Deployment bad .* refused it: .*spec.replicas/);
  assert.match(await why(Pod, "early"), /There is no Pod early .* refused it: resourceVersion should not be set/);
  assert.match(await why(Service, "gone"), /There is no Service gone .* any more: \S+ deleted it 1s ago\.$/);
  assert.match(await why(Pod, "none"), /There is no Pod none in namespace default, and no recent request/);
});
