import assert from "node:assert/strict";
import { test } from "node:test";
import { MutatingWebhookConfiguration } from "#api/admissionregistration/mutating-webhook-configuration.ts";
import { ValidatingWebhookConfiguration } from "#api/admissionregistration/validating-webhook-configuration.ts";
import { Deployment } from "#api/apps/deployment.ts";
import { HorizontalPodAutoscaler } from "#api/autoscaling/horizontal-pod-autoscaler.ts";
import { ConfigMap } from "#api/core/config-map.ts";
import { Pod } from "#api/core/pod.ts";
import { Service } from "#api/core/service.ts";
import { ServiceAccount } from "#api/core/service-account.ts";
import { EndpointSlice } from "#api/discovery/endpoint-slice.ts";
import { ignoreNotFound } from "#api/status.ts";
import { bootstrapCluster } from "#cluster/bootstrap.ts";
import { primaryAddress } from "#lib/net/ip.ts";
import { startCluster, type TestCluster } from "#testing/start-cluster.ts";
import { caBundle, hookAt, mutating, patchOf, type Review, startWebhooks, validating } from "./webhooks.suite.ts";

const start = () => startCluster({ controllers: false, clock: "system" });
const map = (name: string, data: Record<string, string> = {}) => ({ metadata: { name, namespace: "default" }, data });

/** What a client over the network would send. */
async function send({ api }: TestCluster, method: string, path: string, body: object) {
  const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
  const served = await api.server.serve({
    ...{ method, path, query: "", headers: { "content-type": type }, body: Buffer.from(JSON.stringify(body)) },
    signal: AbortSignal.timeout(60_000),
    peer: { address: "192.0.2.7", user: { name: "admin", groups: ["system:masters"] } },
  });
  assert(served.wire.type === "body" && served.wire.status < 300, JSON.stringify(served));
  return served;
}

test("a validating webhook gets the review that upstream sends, and refuses a create", async () => {
  const seen: { review: Review; path: string }[] = [];
  await using webhooks = await startWebhooks((review, path) => {
    seen.push({ review, path });
    return { allowed: false, status: { message: "no maps today", code: 403, reason: "Forbidden" } };
  });
  await using cluster = await start();
  await cluster.client.create(ValidatingWebhookConfiguration, validating("guard", hookAt(webhooks.url("check"))));

  await assert.rejects(cluster.client.create(ConfigMap, map("a", { key: "1" })), {
    code: 403,
    reason: "Forbidden",
    message: 'admission webhook "guard.example.com" denied the request: no maps today',
  });

  const [{ review, path }] = seen as [{ review: Review; path: string }];
  assert.equal(path, "/check?timeout=10s");
  const { uid, object, ...rest } = review.request;
  assert.match(uid, /^[0-9a-f-]{36}$/);
  assert.deepEqual(
    [object.kind, object.apiVersion, object.metadata.name, object.data],
    ["ConfigMap", "v1", "a", { key: "1" }],
  );
  const kind = { group: "", version: "v1", kind: "ConfigMap" };
  const resource = { group: "", version: "v1", resource: "configmaps" };
  assert.deepEqual(rest, {
    kind,
    resource,
    requestKind: kind,
    requestResource: resource,
    name: "a",
    namespace: "default",
    operation: "CREATE",
    userInfo: { username: "kubernetes-admin", groups: ["system:masters", "system:authenticated"] },
    oldObject: null,
    dryRun: false,
    options: { kind: "CreateOptions", apiVersion: "meta.k8s.io/v1" },
  });
});

test("mutating webhooks change the object in the order of their configurations, and again if they ask", async () => {
  const calls: string[] = [];
  await using webhooks = await startWebhooks((review, path) => {
    const { data } = review.request.object;
    calls.push(`${path.slice(1, path.indexOf("?"))} ${Object.keys(data).sort().join()}`);
    if (path.startsWith("/first")) return data.first ? {} : patchOf({ op: "add", path: "/data/first", value: "1" });
    if (path.startsWith("/second")) return patchOf({ op: "add", path: "/data/second", value: "2" });
    return {};
  });
  await using cluster = await start();
  const again = { reinvocationPolicy: "IfNeeded" } as const;
  await cluster.client.create(MutatingWebhookConfiguration, mutating("b", hookAt(webhooks.url("second"))));
  await cluster.client.create(MutatingWebhookConfiguration, mutating("a", hookAt(webhooks.url("first"), again)));

  const { data } = await cluster.client.create(ConfigMap, map("m", { own: "0" }));

  assert.deepEqual(data, { own: "0", first: "1", second: "2" });
  assert.deepEqual(calls, ["first own", "second first,own", "first first,own,second"]);
});

test("webhooks see deletions, scales, bindings and other versions as upstream sends them", async () => {
  const seen: string[] = [];
  await using webhooks = await startWebhooks(({ request }) => {
    const { operation, kind, requestKind, subResource = "", object, oldObject, options } = request;
    const shown = object?.target?.name ?? object?.spec?.replicas ?? object?.apiVersion ?? null;
    const versions = kind.version === requestKind.version ? kind.version : `${requestKind.version} as ${kind.version}`;
    seen.push([operation, kind.kind, versions, subResource, shown, oldObject?.kind ?? null, options.kind].join(" "));
    return kind.kind === "Scale" ? patchOf({ op: "replace", path: "/spec/replicas", value: 7 }) : {};
  });
  await using cluster = await start();
  const { client } = cluster;
  const deployment = await client.create(Deployment, {
    metadata: { name: "web", namespace: "default" },
    spec: {
      selector: { matchLabels: { app: "web" } },
      template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "c", image: "i" }] } },
    },
  });
  await client.create(ConfigMap, map("gone"));
  await client.create(ServiceAccount, { metadata: { name: "default", namespace: "default" } });
  await client.create(Pod, {
    metadata: { name: "p", namespace: "default" },
    spec: { containers: [{ name: "c", image: "i" }] },
  });
  const rules = [
    { operations: ["DELETE" as const], apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] },
    { operations: ["*" as const], apiGroups: ["apps"], apiVersions: ["v1"], resources: ["deployments/scale"] },
    { operations: ["CREATE" as const], apiGroups: [""], apiVersions: ["v1"], resources: ["pods/binding"] },
    { operations: ["*" as const], apiGroups: ["autoscaling"], apiVersions: ["v1"], resources: ["*"] },
  ];
  await client.create(MutatingWebhookConfiguration, mutating("all", hookAt(webhooks.url(""), { rules })));

  await client.delete(ConfigMap, { name: "gone", namespace: "default" });
  await send(cluster, "PATCH", "/apis/apps/v1/namespaces/default/deployments/web/scale", { spec: { replicas: 3 } });
  const target = { kind: "Node", name: "node-1" };
  await send(cluster, "POST", "/api/v1/namespaces/default/pods/p/binding", { metadata: { name: "p" }, target });
  await client.create(HorizontalPodAutoscaler, {
    metadata: { name: "web", namespace: "default" },
    spec: { scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" }, maxReplicas: 3 },
  });

  assert.deepEqual(seen, [
    "DELETE ConfigMap v1   ConfigMap DeleteOptions",
    "UPDATE Scale v1 scale 3 Scale UpdateOptions",
    "CREATE Binding v1 binding node-1  CreateOptions",
    "CREATE HorizontalPodAutoscaler v2 as v1  autoscaling/v1  CreateOptions",
  ]);
  const { spec } = await client.get(Deployment, { name: "web", namespace: "default" });
  assert.deepEqual([deployment.spec.replicas, spec.replicas], [1, 7]);
});

test("a webhook for a status sees the whole object, and neither it nor the client changes more than the status", async () => {
  const seen: Review[] = [];
  await using webhooks = await startWebhooks(({ request }) => {
    seen.push(request.object);
    return patchOf(
      { op: "replace", path: "/spec/containers/0/image", value: "other" },
      { op: "add", path: "/status/message", value: "patched" },
    );
  });
  await using cluster = await start();
  const { client } = cluster;
  await client.create(ServiceAccount, { metadata: { namespace: "default", name: "default" } });
  const spec = { containers: [{ name: "c", image: "i" }] };
  const pod = await client.create(Pod, { metadata: { namespace: "default", name: "web" }, spec });
  const hook = hookAt(webhooks.url("status"), {
    rules: [{ operations: ["UPDATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods/status"] }],
  });
  await client.create(MutatingWebhookConfiguration, mutating("a", hook));

  const { metadata } = pod;
  const sent = { metadata, spec: { containers: [{ name: "x", image: "y" }] }, status: { phase: "Failed" } };
  const { managedFields: _, ...bare } = metadata;
  await client.updateStatus(Pod, { metadata: bare, spec: { containers: [] }, status: { phase: "Running" } });
  await send(cluster, "PUT", "/api/v1/namespaces/default/pods/web/status", {
    ...sent,
    metadata: { ...metadata, resourceVersion: undefined },
  });

  for (const object of seen) assert.deepEqual(object.spec, pod.spec);
  assert.deepEqual(
    seen.map(({ status }) => status.phase),
    ["Running", "Failed"],
  );
  const now = await client.get(Pod, pod);
  assert.deepEqual(now.spec, pod.spec);
  assert.deepEqual([now.status.phase, now.status.message], ["Failed", "patched"]);
  assert.equal(now.metadata.generation, pod.metadata.generation);
  const managers = now.metadata.managedFields ?? [];
  assert.deepEqual(
    managers.filter(({ subresource }) => subresource === undefined),
    pod.metadata.managedFields,
  );
});

test("a webhook that refuses everything does not keep its configuration from being changed and deleted", async () => {
  await using webhooks = await startWebhooks(() => ({ allowed: false }));
  await using cluster = await start();
  const rules = [{ operations: ["*" as const], apiGroups: ["*"], apiVersions: ["*"], resources: ["*/*"] }];
  const hook = hookAt(webhooks.url(""), { rules });
  await cluster.client.create(MutatingWebhookConfiguration, mutating("all", hook));
  const made = await cluster.client.create(ValidatingWebhookConfiguration, validating("all", hook));

  const message = 'admission webhook "guard.example.com" denied the request without explanation';
  await assert.rejects(cluster.client.create(ConfigMap, map("a")), { message, code: 400 });
  // A server that starts again writes its own objects before anybody can call it.
  await bootstrapCluster(cluster.api.loopback);
  await cluster.client.update(ValidatingWebhookConfiguration, { ...made, webhooks: [] });
  await cluster.client.delete(MutatingWebhookConfiguration, { name: "all" });

  await cluster.client.create(ConfigMap, map("a"));
});

test("a webhook is called only if its conditions hold, which can ask about access", async () => {
  let calls = 0;
  await using webhooks = await startWebhooks(() => {
    calls++;
    return {};
  });
  await using cluster = await start();
  const conditions = (...expressions: string[]) => ({
    matchConditions: expressions.map((expression, index) => ({ name: `c${index}`, expression })),
  });
  const mayNotDelete = "!authorizer.group('').resource('nodes').name('n').check('delete').allowed()";
  const configure = async (...expressions: string[]) => {
    await cluster.client.delete(ValidatingWebhookConfiguration, { name: "guard" }).catch(ignoreNotFound);
    const hook = hookAt(webhooks.url(""), conditions(...expressions));
    await cluster.client.create(ValidatingWebhookConfiguration, validating("guard", hook));
  };
  const calledFor = async (name: string) => {
    const before = calls;
    await cluster.client.create(ConfigMap, map(name));
    return calls - before;
  };

  await configure("object.metadata.name.startsWith('a')", "request.operation == 'CREATE' && oldObject == null");
  assert.deepEqual([await calledFor("a1"), await calledFor("b1")], [1, 0]);
  await configure(mayNotDelete);
  assert.equal(await calledFor("a2"), 0, "the administrator may delete nodes");
  await configure("object.data.missing == 'x'");
  await assert.rejects(calledFor("a3"), {
    code: 403,
    message: `configmaps "a3" is forbidden: expression 'object.data.missing == 'x'' resulted in error: no such key: data`,
  });
  await configure("object.data.missing == 'x'", "false");
  assert.equal(await calledFor("a4"), 0);
  await assert.rejects(configure("object."), {
    code: 422,
    message: /matchConditions\[0\]\.expression: .*compilation failed: ERROR/,
  });
  await assert.rejects(configure("true", "object.data"), {
    code: 422,
    message: /webhooks\[0\]\.matchConditions\[1\]\.expression: .*must evaluate to bool but got dyn/,
  });
});

test("warnings and audit annotations are passed on, and connections are used again", async () => {
  await using webhooks = await startWebhooks(() => ({ warnings: ["careful"], auditAnnotations: { why: "because" } }));
  await using cluster = await start();
  const hook = hookAt(webhooks.url(""), { admissionReviewVersions: ["v2", "v1beta1", "v1"] });
  await cluster.client.create(ValidatingWebhookConfiguration, validating("guard", hook));

  const create = (name: string) =>
    send(cluster, "POST", "/api/v1/namespaces/default/configmaps", { metadata: { name } });
  const answers = [await create("a"), await create("b"), await create("c")];

  assert.deepEqual(
    answers.map(({ warnings }) => warnings),
    Array.from({ length: 3 }, () => ['299 - "careful"']),
  );
  assert.equal(webhooks.connections(), 1);
});

const podIp = primaryAddress() ?? "";

test("a webhook behind a service is reached at a ready pod, and at nothing else", { skip: podIp === "" }, async () => {
  const hosts: string[] = [];
  await using webhooks = await startWebhooks((_review, path, { request }) => {
    hosts.push(`${request.headers.host}${path}`);
    return {};
  }, podIp);
  await using cluster = await start();
  const { client } = cluster;
  const at = { namespace: "default" };
  await client.create(ServiceAccount, { metadata: { ...at, name: "default" } });
  const pod = await client.create(Pod, {
    metadata: { ...at, name: "guard" },
    spec: { containers: [{ name: "c", image: "i" }] },
  });
  await client.updateStatus(Pod, { ...pod, status: { ...pod.status, podIP: podIp, podIPs: [{ ip: podIp }] } });
  const { clientConfig: _url, ...hook } = hookAt("https://unused");
  const service = { ...at, name: "guard", path: "/review" };
  await client.create(
    ValidatingWebhookConfiguration,
    validating("guard", { ...hook, clientConfig: { service, caBundle } }),
  );

  await assert.rejects(client.create(ConfigMap, map("a")), { message: /: service "guard" not found$/ });
  await client.create(Service, { metadata: { ...at, name: "guard" }, spec: { ports: [{ port: 443 }] } });
  const none =
    /failed calling webhook "guard.example.com": failed to call webhook: Post "https:\/\/guard.default.svc:443\/review\?timeout=10s": no endpoints available for service "guard"$/;
  await assert.rejects(client.create(ConfigMap, map("a")), { message: none });
  const slice = (name: string, targetRef?: { kind: string; name: string; namespace: string }) => ({
    metadata: { ...at, name, labels: { "kubernetes.io/service-name": "guard" } },
    addressType: "IPv4" as const,
    ports: [{ name: "", port: webhooks.port }],
    endpoints: [{ addresses: [podIp], ...(targetRef ? { targetRef } : {}) }],
  });
  await client.create(EndpointSlice, slice("by-hand"));
  await assert.rejects(client.create(ConfigMap, map("a")), { message: none });
  await client.create(EndpointSlice, slice("of-pod", { kind: "Pod", name: "guard", ...at }));
  await client.create(ConfigMap, map("a"));

  assert.deepEqual(hosts, ["guard.default.svc:443/review?timeout=10s"]);
});
