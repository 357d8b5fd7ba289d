import assert from "node:assert/strict";
import { test } from "node:test";
import { Service } from "#api/core/service.ts";
import { type Client, type RawStream } from "#client/client.ts";
import { neverAborted } from "#lib/async/tasks.ts";
import { type MetricsDeps, readExternalMetric, readObjectMetric, readPodsMetric, readUsage } from "./read-metrics.ts";

type Answers = Readonly<Record<string, unknown>>;

/** A client of a server that answers these paths, each with a status and a JSON value, and all others with 404. */
function clientOf(answers: Answers): { readonly deps: MetricsDeps; readonly asked: string[] } {
  const asked: string[] = [];
  const stream = async (_method: string, path: string): Promise<RawStream> => {
    asked.push(path);
    const value = answers[path.split("?")[0] ?? ""];
    const body = typeof value === "string" ? value : JSON.stringify(value ?? { message: notThere });
    return {
      status: value === undefined ? 404 : 200,
      headers: {},
      body: (async function* () {
        yield Buffer.from(body);
      })(),
    };
  };
  const client = {
    stream,
    async raw(method: string, path: string) {
      const { status, headers, body } = await stream(method, path);
      return { status, headers, body: Buffer.concat(await Array.fromAsync(body)) };
    },
  } as unknown as Client;
  return { deps: { client, kinds: () => [Service] }, asked };
}
const notThere = "the server could not find the requested resource";

const group = { preferredVersion: { version: "v1beta2" }, versions: [{ version: "v1beta2" }, { version: "v1beta1" }] };
const custom = "/apis/custom.metrics.k8s.io";
const pods = {
  namespace: "shop",
  selector: "app=web",
  metric: { name: "rps", selector: { matchLabels: { verb: "GET" } } },
};
const described = { kind: "Service", name: "web" };

test("readPodsMetric() asks the adapter for all pods at once", async () => {
  const item = {
    describedObject: { name: "web-1" },
    timestamp: "2026-01-01T00:00:00Z",
    windowSeconds: 30,
    value: "1500m",
  };
  const path = `${custom}/v1beta2/namespaces/shop/pods/*/rps`;
  const { deps, asked } = clientOf({
    [custom]: group,
    [path]: { items: [item, { ...item, describedObject: { name: "web-2" }, windowSeconds: undefined }] },
  });

  const metrics = await readPodsMetric(deps, pods, neverAborted);

  const atMs = Date.parse("2026-01-01T00:00:00Z");
  assert.deepEqual(metrics.get("web-1"), { value: 1500n, atMs, windowMs: 30_000 });
  assert.equal(metrics.get("web-2")?.windowMs, 60_000);
  assert.equal(asked[1], `${path}?labelSelector=app%3Dweb&metricLabelSelector=verb%3DGET`);
});

test("readObjectMetric() names the object, and the namespace of the autoscaler for any namespace", async () => {
  const values = { items: [{ value: "7" }] };
  const { deps } = clientOf({
    [custom]: { ...group, preferredVersion: { version: "v9" } },
    [`${custom}/v1beta2/namespaces/shop/services/web/rps`]: values,
    [`${custom}/v1beta2/namespaces/shop/metrics/rps`]: { items: [{ value: "8" }] },
  });
  const question = { namespace: "shop", metric: { name: "rps" } };

  assert.equal(await readObjectMetric(deps, { ...question, described }, neverAborted), 7000n);
  const other = { kind: "Namespace", name: "kube-system" };
  assert.equal(await readObjectMetric(deps, { ...question, described: other }, neverAborted), 8000n);
});

test("readExternalMetric() returns all series", async () => {
  const path = "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/queue";
  const { deps } = clientOf({ [path]: { items: [{ value: "3" }, { value: "4" }] } });

  assert.deepEqual(await readExternalMetric(deps, { namespace: "shop", metric: { name: "queue" } }, neverAborted), [
    3000n,
    4000n,
  ]);
});

test("names of metrics do not lead to other paths", async () => {
  const { deps, asked } = clientOf({});
  const metric = { name: "../../secrets?x=#y" };
  await assert.rejects(readExternalMetric(deps, { namespace: "shop", metric }, neverAborted));

  assert.equal(
    asked[0]?.split("?")[0],
    "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/..%2F..%2Fsecrets%3Fx%3D%23y",
  );
});

const path = "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/queue";
const bad = [
  {
    name: "is too long",
    answer: `{"items":[${" ".repeat(9 << 20)}]}`,
    error: /the answer is longer than 8388608 bytes/,
  },
  { name: "is not JSON", answer: "<html>", error: /is not a list/ },
  { name: "is not a list", answer: { items: {} }, error: /is not a list/ },
  { name: "is empty", answer: { items: [] }, error: /no metrics returned from external metrics API/ },
  { name: "has items that are no objects", answer: { items: [null] }, error: /a metric value has no value/ },
  { name: "has a value that is no quantity", answer: { items: [{ value: "many" }] }, error: /quantities must match/ },
];
for (const { name, answer, error } of bad) {
  test(`an answer of an adapter that ${name} is refused`, async () => {
    const { deps } = clientOf({ [path]: answer });
    await assert.rejects(
      readExternalMetric(deps, { namespace: "shop", metric: { name: "queue" } }, neverAborted),
      error,
    );
  });
}

test("huge values are as large as an int64", async () => {
  const { deps } = clientOf({ [path]: { items: [{ value: "9e200" }] } });
  const values = await readExternalMetric(deps, { namespace: "shop", metric: { name: "queue" } }, neverAborted);
  assert.deepEqual(values, [2n ** 63n - 1n]);
});

const usagePath = "/apis/metrics.k8s.io/v1beta1/namespaces/shop/pods";
const used = (name: string, containers: unknown) => ({
  metadata: { name },
  timestamp: "2026-01-01T00:00:00Z",
  window: "15.5s",
  containers,
});

test("readUsage() adds containers, takes one of them, and leaves out pods that lack one", async () => {
  const main = { name: "main", usage: { cpu: "100m", memory: "1Mi" } };
  const proxy = { name: "proxy", usage: { cpu: "20m" } };
  const { deps } = clientOf({
    [usagePath]: { items: [used("a", [main, proxy]), used("b", [main]), used("c", []), { x: 1 }] },
  });
  const ask = async (resource: string, container = "") => {
    const question = { namespace: "shop", selector: "app=web", resource, container };
    return Array.from(await readUsage(deps, question, neverAborted), ([name, { value }]) => [name, value]);
  };

  assert.deepEqual(await ask("cpu"), [
    ["a", 120n],
    ["b", 100n],
  ]);
  assert.deepEqual(await ask("cpu", "proxy"), [["a", 20n]]);
  assert.deepEqual(await ask("memory"), [["b", 1_048_576_000n]]);
  assert.deepEqual(await ask("__proto__"), []);
});

test("readUsage() says in upstream's words that nobody serves the metrics", async () => {
  const question = { namespace: "shop", selector: "app=web", resource: "cpu", container: "" };
  await assert.rejects(readUsage(clientOf({}).deps, question, neverAborted), {
    message:
      "unable to fetch metrics from resource metrics API: the server could not find the requested resource (get pods.metrics.k8s.io)",
  });
});
