import assert from "node:assert/strict";
import { test } from "node:test";
import { DaemonSet } from "#api/apps/daemon-set.ts";
import { Deployment } from "#api/apps/deployment.ts";
import { StatefulSet } from "#api/apps/stateful-set.ts";
import { CronJob } from "#api/batch/cron-job.ts";
import { Job } from "#api/batch/job.ts";
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
  await cluster.apply(StatefulSet, { metadata: place, spec: { ...spec, serviceName: "web" } });
  await cluster.apply(DaemonSet, { metadata: place, spec: { selector: spec.selector, template } });
  const jobSpec = { template: { spec: { ...template.spec, restartPolicy: "Never" as const } } };
  await cluster.apply(Job, { metadata: place, spec: jobSpec });
  const owner = { metadata: place, spec: { schedule: "@yearly", jobTemplate: { spec: jobSpec } } };
  const { metadata: cronJob } = await cluster.apply(CronJob, owner);
  const controller = { apiVersion: "batch/v1", kind: "CronJob", name: "web", uid: cronJob.uid ?? "", controller: true };
  const manual = { namespace: "default", name: "manual", ownerReferences: [controller] };
  await cluster.apply(Job, { metadata: manual, spec: jobSpec });
  await cluster.clock.advance(1000);
  await cluster
    .apply(Deployment, { metadata: { ...place, name: "bad" }, spec: { ...spec, replicas: -1 } })
    .catch(() => {});
  await cluster.client
    .create(Pod, { metadata: { ...place, name: "early", resourceVersion: "7" }, spec: podSpec("1") })
    .catch(() => {});
  await cluster.apply(Service, { metadata: { ...place, name: "gone" }, spec: { ports: [{ port: 80 }] } });
  await cluster.client.delete(Service, { ...place, name: "gone" });
  await cluster.clock.advance(1000);

  assert.match(await why(StatefulSet), /StatefulSet web .* refuses its pods: pods "web-0" .*"nobody" not found/);
  assert.match(await why(DaemonSet), /DaemonSet web runs no pods because no node matches/);
  assert.match(await why(Job), /Job web .* refuses its pods: pods "web-.*"nobody" not found/);
  assert.match(await why(CronJob), /its last job has a problem\. Job manual .*"nobody" not found/);
  assert.match(await why(Pod, "big"), /Pod big cannot be scheduled because the cluster has no nodes/);
  assert.match(await why(Service), /no pod in namespace default has the labels app=web/);
  assert.match(await why(Deployment), /the API server refuses its pods: .*serviceaccount "nobody" not found/);
  assert.match(await why(Deployment, "bad"), /There is no Deployment bad .* refused it: .*spec.replicas/);
  assert.match(await why(Pod, "early"), /There is no Pod early .* refused it: resourceVersion should not be set/);
  assert.match(await why(Service, "gone"), /There is no Service gone .* any more: \S+ deleted it 1s ago\.$/);
  assert.match(await why(Pod, "none"), /There is no Pod none in namespace default, and no recent request/);
});
