import assert from "node:assert/strict";
import { test } from "node:test";
import { APIService } from "#api/apiregistration/api-service.ts";
import { PodMetrics } from "#api/metrics/usage-metrics.ts";
import { systemClock } from "#lib/async/clock.ts";
import { silentLog } from "#lib/process/log.ts";
import { startCluster } from "#testing/start-cluster.ts";
import { podIp, register, type Serve, startExtension, untilReason } from "./aggregation.suite.ts";
import { registerOwnApis } from "./register-own-apis.ts";

const name = "v1beta1.metrics.k8s.io";
const group = "metrics.k8s.io";
const groupVersion = { group, version: "v1beta1" };

const documents: Readonly<Record<string, unknown>> = {
  "/apis/metrics.k8s.io/v1beta1": {
    kind: "APIResourceList",
    apiVersion: "v1",
    groupVersion: "metrics.k8s.io/v1beta1",
    resources: [{ name: "pods", singularName: "", namespaced: true, kind: "PodMetrics", verbs: ["get", "list"] }],
  },
  "/apis/metrics.k8s.io/v1beta1/pods": {
    kind: "PodMetricsList",
    apiVersion: "metrics.k8s.io/v1beta1",
    metadata: {},
    items: [{ metadata: { namespace: "default", name: "theirs" }, timestamp: "2026-01-01T00:00:00Z", window: "15s" }],
  },
};
const metricsServer: Serve = ({ url = "" }, response) => {
  const document = documents[url.split("?")[0] ?? ""];
  response.statusCode = document ? 200 : 404;
  response.setHeader("content-type", "application/json").end(JSON.stringify(document ?? {}));
};

test("a metrics server that somebody registers takes metrics.k8s.io over, and gives it back", {
  skip: podIp === "",
}, async () => {
  await using extension = await startExtension(metricsServer);
  await using cluster = await startCluster({ controllers: false, clock: "system" });
  const { client, api, informers, clock } = cluster;
  const stop = new AbortController();
  const registered = Promise.withResolvers<void>();
  const deps = { client: api.loopback, informers, resources: api.resources, clock, log: silentLog };
  const running = registerOwnApis({ ...deps, registered: registered.resolve }, stop.signal).catch(() => undefined);
  await registered.promise;
  // As an autoscaler reads them, by the kinds that it knows.
  const names = async () => (await client.list(PodMetrics)).items.map(({ metadata }) => metadata.name);
  const read = async (path: string) => JSON.parse(Buffer.from((await client.raw("GET", path)).body).toString());
  const described = async (): Promise<number | undefined> =>
    (await read("/apis/metrics.k8s.io/v1beta1")).resources?.length;
  assert.deepEqual([await names(), await described()], [[], 2]);
  assert.equal(informers.of(APIService).get({ name }), undefined, "nothing keeps somebody from creating it");

  await register(client, extension.port, groupVersion);
  await untilReason(client, "Passed", name);
  assert.deepEqual([await names(), await described()], [["theirs"], 1]);

  await client.delete(APIService, { name });
  while ((await described()) !== 2) await systemClock.sleep(20);
  assert.deepEqual(await names(), []);
  const groups = (await read("/apis")).groups.filter((one: { name: string }) => one.name === group);
  assert.equal(groups.length, 1);
  stop.abort();
  await running;
});
