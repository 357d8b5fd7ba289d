import assert from "node:assert/strict";
import { test } from "node:test";
import { MutatingWebhookConfiguration } from "#api/admissionregistration/mutating-webhook-configuration.ts";
import { ValidatingWebhookConfiguration } from "#api/admissionregistration/validating-webhook-configuration.ts";
import { ConfigMap } from "#api/core/config-map.ts";
import { startCluster } from "#testing/start-cluster.ts";
import { hookAt, mutating, patchOf, type Review, startWebhooks, validating } from "./webhooks.suite.ts";

const start = () => startCluster({ controllers: false, clock: "system" });
const map = (name: string, data: Record<string, string> = {}) => ({ metadata: { name, namespace: "default" }, data });

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
