import assert from "node:assert/strict";
import { test } from "node:test";
import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { ServiceAccount } from "#api/core/service-account.ts";
import { neverAborted } from "#lib/async/tasks.ts";
import { startCluster } from "#testing/start-cluster.ts";
import { testLog } from "#testing/test-log.ts";
import { UsageScraper } from "./usage-scraper.ts";

test("nodes that hang, fail or lie have no metrics, and do not delay the others", async () => {
  await using cluster = await startCluster({ controllers: false });
  const { client, clock, informers } = cluster;
  // More than are asked at the same time.
  const bad = Array.from({ length: 100 }, (_, index) => `bad-${index}`);
  for (const name of ["good", ...bad]) await client.create(Node, { metadata: { name } });
  await client.create(ServiceAccount, { metadata: { namespace: "default", name: "default" } });
  const spec = { nodeName: "good", containers: [{ name: "main", image: "web:1" }] };
  await client.create(Pod, { metadata: { namespace: "default", name: "web" }, spec });
  const lines = (
    cpu: number,
  ) => `container_cpu_usage_seconds_total{container="main",namespace="default",pod="web"} ${cpu} ${clock.now()}
container_memory_working_set_bytes{container="main",namespace="default",pod="web"} 7 ${clock.now()}
`;
  const read = async (node: string, signal: AbortSignal) => {
    if (node === "good") return bodyOf(lines(clock.now() / 1000));
    if (node.endsWith("1")) throw new Error("refused");
    if (node.endsWith("2")) return bodyOf(lines(clock.now()));
    return await new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  };
  await using scraper = new UsageScraper({
    nodes: informers.of(Node),
    pods: informers.of(Pod),
    clock,
    log: testLog(),
    read,
  });

  let isWarm = false;
  const warm = scraper.wanted(neverAborted).then(() => {
    isWarm = true;
  });
  await clock.runUntil(() => isWarm, 10_000);
  await warm;
  await clock.advance(60_000);

  const pod = await client.get(Pod, { namespace: "default", name: "web" });
  assert.equal(scraper.podUsage(pod)?.containers.get("main")?.cpuNanoCores, 1e9);
  assert.equal(scraper.podUsage(pod)?.windowMs, 15_000);
});

async function* bodyOf(text: string): AsyncGenerator<string> {
  yield text;
}
