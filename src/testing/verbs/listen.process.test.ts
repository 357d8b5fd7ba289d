import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { Deployment } from "#api/apps/deployment.ts";
import { loadKubeconfig, resolveContext } from "#client/kubeconfig/kubeconfig.ts";
import { httpClient } from "#client/transport/http.ts";
import { systemClock } from "#lib/async/clock.ts";
import { silentLog } from "#lib/process/log.ts";
import { startCluster } from "../public.ts";

const ref = { namespace: "default", name: "web" };
const labels = { app: "web" };
const template = { metadata: { labels }, spec: { containers: [{ name: "web", image: "web:1" }] } };

for (const clock of ["virtual", "system"] as const) {
  test(`a client outside the process sees pods become ready on ${clock} time`, { timeout: 60_000 }, async () => {
    let file = "";
    {
      await using cluster = await startCluster({ nodes: 2, clock });
      const { url, kubeconfig, kubeconfigFile } = await cluster.listen({ speed: 100 });
      file = kubeconfigFile;
      assert(kubeconfig.includes(url));
      const { config } = await resolveContext(await loadKubeconfig({ path: kubeconfigFile, env: {} }), {});
      await using client = httpClient(config, { clock: systemClock, log: silentLog });

      await client.create(Deployment, {
        metadata: ref,
        spec: { replicas: 2, selector: { matchLabels: labels }, template },
      });
      const watch = client.watch(Deployment, {
        signal: AbortSignal.timeout(50_000),
        namespace: "default",
        sendInitialEvents: true,
      });
      for await (const event of watch) if (event.type !== "BOOKMARK" && event.object.status.readyReplicas === 2) break;

      assert.equal((await cluster.client.get(Deployment, ref)).status.readyReplicas, 2);
    }
    assert(!existsSync(file));
  });
}

test("timers that a test runner has replaced do not stop a cluster", { timeout: 60_000 }, async (context) => {
  context.mock.timers.enable();
  try {
    await using cluster = await startCluster({ nodes: 1 });
    await cluster.settle();

    assert.equal(cluster.nodes[0]?.isRunning, true);
  } finally {
    context.mock.timers.reset();
  }
});
