import assert from "node:assert/strict";
import { test } from "node:test";
import { Deployment } from "#api/apps/deployment.ts";
import { HorizontalPodAutoscaler } from "#api/autoscaling/horizontal-pod-autoscaler.ts";
import { ConfigMap } from "#api/core/config-map.ts";
import { type Client } from "#client/client.ts";
import { neverAborted } from "#lib/async/tasks.ts";
import { build } from "#testing/build.ts";
import { createFakeInformers } from "#testing/fake-informers.ts";
import { readTarget } from "./scale-target.ts";

/** What an autoscaler finds, and which requests that took. */
async function look(apiVersion: string, kind: string, name = "web") {
  const asked: string[] = [];
  const client = {
    async raw(method: string, path: string) {
      asked.push(`${method} ${path}`);
      return { status: 404, headers: {}, body: Buffer.from('{"message":"not there"}') };
    },
  } as unknown as Client;
  const informers = createFakeInformers();
  informers.put(Deployment, {
    metadata: { namespace: "shop", name: "web" },
    spec: {
      replicas: 3,
      selector: { matchLabels: { app: "web" } },
      template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "main", image: "web:1" }] } },
    },
    status: { replicas: 2 },
  });
  const autoscaler = build(HorizontalPodAutoscaler, {
    metadata: { namespace: "shop", name: "web" },
    spec: { scaleTargetRef: { apiVersion, kind, name }, maxReplicas: 5 },
  });
  const deps = { client, informers, kinds: () => [Deployment, ConfigMap] };
  const found = await readTarget(deps, autoscaler, neverAborted).then(
    ({ scale }) => [scale.spec.replicas, scale.status.replicas, scale.status.selector],
    (error: Error) => error.message,
  );
  return { found, asked };
}

test("readTarget() needs no request for a workload", async () => {
  assert.deepEqual(await look("apps/v1", "Deployment"), { found: [3, 2, "app=web"], asked: [] });
  const missing = await look("apps/v1", "Deployment", "none");
  assert.deepEqual(missing, { found: 'deployments.apps "none" not found', asked: [] });
});

test("readTarget() lets the server say that a kind has no scale", async () => {
  const path = "GET /api/v1/namespaces/shop/configmaps/web/scale";
  assert.deepEqual(await look("v1", "ConfigMap"), { found: "not there", asked: [path] });
});
