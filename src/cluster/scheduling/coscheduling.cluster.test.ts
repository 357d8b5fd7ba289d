import assert from "node:assert/strict";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { Pod } from "#api/core/pod.ts";
import { systemClock } from "#lib/async/clock.ts";
import { silentLog } from "#lib/process/log.ts";
import { startCluster } from "#testing/start-cluster.ts";
import { loadScheduling } from "./load.ts";

const configuration = `
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: { multiPoint: { enabled: [{ name: Coscheduling }] } }
  pluginConfig: [{ name: Coscheduling, args: { permitWaitingTimeSeconds: 20 } }]
`;

/** Two nodes with room for two pods of one CPU each. */
async function start() {
  await using dir = await mkdtempDisposable(path.join(tmpdir(), "gang-"));
  const file = path.join(dir.path, "scheduler.yaml");
  await writeFile(file, configuration);
  const { setup } = await loadScheduling(file, { log: silentLog, clock: systemClock });
  const cluster = await startCluster({
    nodes: 2,
    simulation: { capacity: { cpu: "2", memory: "4Gi", pods: "10" } },
    scheduler: setup,
  });
  await cluster.settle();
  const create = (name: string, group: string, min: string) =>
    cluster.apply(Pod, {
      metadata: {
        name,
        namespace: "default",
        labels: {
          "pod-group.scheduling.sigs.k8s.io/name": group,
          "pod-group.scheduling.sigs.k8s.io/min-available": min,
        },
      },
      spec: { containers: [{ name: "main", image: "web:1", resources: { requests: { cpu: "900m" } } }] },
    });
  const placed = async () =>
    (await cluster.list(Pod)).filter(({ spec }) => spec.nodeName).map(({ metadata }) => metadata.name);
  const why = async (name: string) => {
    const { status } = await cluster.client.get(Pod, { namespace: "default", name });
    return status.conditions?.find(({ type }) => type === "PodScheduled")?.message;
  };
  return { cluster, create, placed, why };
}

test("the pods of a group are tried when enough of them are there, and bound together", async () => {
  const { cluster, create, placed } = await start();
  await using _ = cluster;

  await create("a-1", "a", "3");
  await create("a-2", "a", "3");
  await create("wrong", "b", "many");
  await cluster.settle();
  assert.deepEqual(await placed(), []);
  await create("a-3", "a", "3");
  await cluster.until(async () => (await placed()).length === 3);

  assert.deepEqual(await placed(), ["a-1", "a-2", "a-3"]);
});

test("a group that does not fit takes no room from one that does", async () => {
  const { cluster, create, placed, why } = await start();
  await using _ = cluster;

  for (let n = 1; n <= 5; n++) await create(`large-${n}`, "large", "5");
  await cluster.until(async () => (await why("large-1")) !== undefined && (await why("large-5")) !== undefined);
  for (let n = 1; n <= 4; n++) await create(`small-${n}`, "small", "4");
  await cluster.until(async () => (await placed()).length === 4);

  assert.deepEqual(await placed(), ["small-1", "small-2", "small-3", "small-4"]);
  assert.match((await why("large-1")) ?? "", /^0\/\d nodes are available: /);
});

test("a group that does not fit waits for its backoff between its attempts, and is placed when there is room", async () => {
  const { cluster, create, placed, why } = await start();
  await using _ = cluster;
  const revisions = async () =>
    Math.max(...(await cluster.list(Pod)).map(({ metadata }) => Number(metadata.resourceVersion)));

  await create("solo", "solo", "1");
  await cluster.until(async () => (await placed()).length === 1);
  for (let n = 1; n <= 4; n++) await create(`large-${n}`, "large", "4");
  await cluster.until(async () => (await why("large-4")) !== undefined);
  await cluster.clock.advance(20_000);
  const before = await revisions();
  await cluster.clock.advance(60_000);
  const written = (await revisions()) - before;

  assert(written < 100, `${written} writes in a minute`);
  await cluster.client.delete(Pod, { namespace: "default", name: "solo" });
  await cluster.until(async () => (await placed()).length === 4, 30_000);
  assert.deepEqual(await placed(), ["large-1", "large-2", "large-3", "large-4"]);
});
