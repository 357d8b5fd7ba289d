import assert from "node:assert/strict";
import { test } from "node:test";
import { APIService } from "#api/apiregistration/api-service.ts";
import { Pod } from "#api/core/pod.ts";
import { NodeMetrics, PodMetrics } from "#api/metrics/usage-metrics.ts";
import { type StatusError } from "#api/status.ts";
import { ask } from "#testing/peers/ask.ts";
import { startCluster, type TestCluster } from "#testing/start-cluster.ts";

const namespace = "default";
const podNamed = (name: string, app: string) => ({
  metadata: { namespace, name, labels: { app } },
  spec: { containers: [{ name: "main", image: "registry.example/web:1" }] },
});

/** Two nodes, on which containers use half a core and 64Mi. */
async function busyCluster(): Promise<TestCluster> {
  const usage = () => ({ cpuMillis: 500, memoryBytes: 64 << 20 });
  const cluster = await startCluster({ nodes: 2, simulation: { hooks: { usage } } });
  await cluster.client.create(Pod, podNamed("web", "web"));
  await cluster.client.create(Pod, podNamed("other", "other"));
  await cluster.settle();
  return cluster;
}

/** Reads while time passes, because the first reader waits for two measurements. */
async function whileTimePasses<T>({ clock }: TestCluster, reading: Promise<T>): Promise<T> {
  let isDone = false;
  const done = reading.finally(() => {
    isDone = true;
  });
  done.catch(() => undefined);
  await clock.runUntil(() => isDone, 60_000);
  return await done;
}

test("metrics.k8s.io shows what pods and nodes use", async () => {
  await using cluster = await busyCluster();
  const { client } = cluster;

  const pods = await whileTimePasses(cluster, client.list(PodMetrics, { namespace, labelSelector: "app=web" }));

  assert.deepEqual(
    pods.items.map(({ metadata, window, containers }) => [metadata.name, metadata.labels, window, containers]),
    [["web", { app: "web" }, "2s", [{ name: "main", usage: { cpu: "500m", memory: "64Mi" } }]]],
  );
  const nodes = await client.list(NodeMetrics);
  assert.deepEqual(
    nodes.items.map(({ metadata, usage }) => [metadata.name, usage.cpu]),
    [
      ["node-1", "500m"],
      ["node-2", "500m"],
    ],
  );
  assert.equal((await client.get(PodMetrics, { namespace, name: "web" })).containers[0]?.usage.cpu, "500m");
  assert.equal((await client.get(NodeMetrics, { name: "node-1" })).usage.memory, "64Mi");
});

test("metrics.k8s.io is discovered, has tables and refuses writes and watches", async () => {
  await using cluster = await busyCluster();
  const { server } = cluster.api;
  const group = await ask(server, "GET /apis/metrics.k8s.io/v1beta1");
  assert.deepEqual(group.json.resources, [
    { name: "nodes", singularName: "", namespaced: false, kind: "NodeMetrics", verbs: ["get", "list"] },
    { name: "pods", singularName: "", namespaced: true, kind: "PodMetrics", verbs: ["get", "list"] },
  ]);
  const path = `/apis/metrics.k8s.io/v1beta1/namespaces/${namespace}/pods`;
  const accept = "application/json;as=Table;g=meta.k8s.io;v=v1";

  const table = await whileTimePasses(
    cluster,
    ask(server, `GET ${path}?fieldSelector=metadata.name=web`, { headers: { accept } }),
  );

  const { columnDefinitions, rows } = table.json as unknown as {
    columnDefinitions: { name: string }[];
    rows: { cells: unknown[] }[];
  };
  assert.deepEqual(
    columnDefinitions.map(({ name }) => name),
    ["Name", "cpu", "memory", "Window"],
  );
  assert.deepEqual(
    rows.map(({ cells }) => cells),
    [["web", "500m", "64Mi", "2s"]],
  );
  assert.equal((await ask(server, `GET ${path}?watch=true`)).status, 405);
  assert.equal((await ask(server, `DELETE ${path}/web`)).status, 405);
  assert.equal((await ask(server, `GET ${path}/web/status`)).status, 404);
  assert.equal((await ask(server, `GET ${path}?fieldSelector=spec.nodeName=x`)).status, 400);
});

test("metrics.k8s.io has nothing about a stopped node, and names it in upstream's words", async () => {
  await using cluster = await busyCluster();
  const { client } = cluster;
  const on = (await client.get(Pod, { namespace, name: "web" })).spec.nodeName;
  await cluster.nodes.find(({ name }) => name === on)?.stop();

  const pods = await whileTimePasses(cluster, client.list(PodMetrics, { namespace }));

  assert.deepEqual(
    pods.items.map(({ metadata }) => metadata.name),
    ["other"],
  );
  const missing = client.get(PodMetrics, { namespace, name: "web" });
  await assert.rejects(missing, {
    message: 'podmetrics.metrics.k8s.io "default/web" not found',
    code: 404,
  } as StatusError);
  await assert.rejects(client.get(PodMetrics, { namespace, name: "none" }), { message: 'pods "none" not found' });
});

test("metrics.k8s.io is left to another server that an APIService names", async () => {
  await using cluster = await busyCluster();
  const { client } = cluster;
  const path = `/apis/metrics.k8s.io/v1beta1/namespaces/${namespace}/pods`;
  const statusOf = async (): Promise<number> =>
    (await whileTimePasses(cluster, ask(cluster.api.server, `GET ${path}`))).status;
  const name = "v1beta1.metrics.k8s.io";
  const service = { namespace: "kube-system", name: "metrics-server" };
  assert.equal(await statusOf(), 200);

  const spec = { group: "metrics.k8s.io", version: "v1beta1", groupPriorityMinimum: 100, versionPriority: 100 };
  await client.create(APIService, { metadata: { name }, spec: { ...spec, service, insecureSkipTLSVerify: true } });
  await cluster.clock.advance(1000);
  assert.notEqual(await statusOf(), 200);

  await client.delete(APIService, { name });
  await cluster.clock.advance(1000);
  assert.equal(await statusOf(), 200);
});

test("nodes are asked only while somebody reads their metrics", async () => {
  let asked = 0;
  const usage = () => {
    asked++;
    return { cpuMillis: 1, memoryBytes: 1 };
  };
  await using cluster = await startCluster({ nodes: 1, simulation: { hooks: { usage } } });
  await cluster.client.create(Pod, podNamed("web", "web"));
  await cluster.settle();
  await cluster.clock.advance(600_000);
  assert.equal(asked, 0);

  await whileTimePasses(cluster, cluster.client.list(PodMetrics));
  await cluster.clock.advance(600_000);

  // Two for the first reader, and one every 15 seconds for two minutes.
  assert.equal(asked, 2 + 120 / 15);
});
