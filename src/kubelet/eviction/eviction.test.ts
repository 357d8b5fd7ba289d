import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "#api/core/pod.ts";
import { build } from "#testing/build.ts";
import { testLog } from "#testing/test-log.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { type PodEnd, runEviction } from "./eviction.ts";
import type { PodUse } from "./rank-pods.ts";
import type { Signal } from "./signals.ts";
import { createThresholds } from "./thresholds.ts";

const mebibyte = 1 << 20;
const nothing = { bytes: 0, inodes: 0 };

/** A node whose resources and pods a test changes. */
function setUp({ priorities = {} as Readonly<Record<string, number>>, soft = false } = {}) {
  const clock = createVirtualClock();
  const told: string[] = [];
  const left = new Map<Signal, number>();
  const uses = new Map<string, number>();
  const gone = new Set<string>();
  const thresholds = { "memory.available": "100Mi", "nodefs.available": "100Mi" };
  const settings = {
    thresholds: createThresholds({
      hard: soft ? {} : thresholds,
      soft: soft ? thresholds : {},
      softGraceMs: { "memory.available": 15_000, "nodefs.available": 15_000 },
      minimumReclaim: {},
      limitsPods: false,
    }),
    transitionMs: 60_000,
    maxPodGraceMs: 20_000,
  };
  const podOf = (name: string) =>
    build(Pod, {
      metadata: { name, uid: name },
      spec: { containers: [{ name: "c", image: "i" }], priority: priorities[name] ?? 0 },
    });
  const useOf = (size: number): PodUse => ({
    memoryBytes: size,
    processes: 1,
    volumes: { bytes: size, inodes: 1 },
    containers: [{ name: "c", memoryBytes: size, layer: nothing, logs: nothing }],
  });
  const node = {
    clock,
    told,
    left,
    uses,
    gone,
    freedByImages: 0,
    stop: new AbortController(),
    run: () =>
      runEviction(
        {
          clock,
          log: testLog(),
          settings,
          host: {
            observe: async () =>
              new Map(Array.from(left, ([signal, available]) => [signal, { available, capacity: 2 ** 40 }])),
            hasImageDisk: async () => false,
            measure: async () => new Map(Array.from(uses, ([name, size]) => [name, useOf(size)])),
            removeUnusedImages: async () => {
              told.push("images");
              left.set("nodefs.available", (left.get("nodefs.available") ?? 0) + node.freedByImages);
            },
          },
          pods: () => [...uses.keys()].map(podOf),
          removeDeadContainers: async () => void told.push("containers"),
          evict: (uid: string, { message, graceMs }: PodEnd) => {
            told.push(`evict ${uid} ${graceMs} ${message}`.trim());
            uses.delete(uid);
          },
          isCleanedUp: (uid) => gone.has(uid),
          conditionsChanged: (conditions) => told.push(`conditions ${conditions.join()}`.trim()),
          reclaims: (resource) => told.push(`reclaim ${resource}`),
        },
        node.stop.signal,
      ).catch(() => undefined),
    async end(running: Promise<unknown>) {
      node.stop.abort();
      await running;
    },
  };
  return node;
}

const low = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi.";

test("one pod is evicted, and the next only after it is gone", async () => {
  const node = setUp();
  node.left.set("memory.available", 50 * mebibyte);
  node.uses.set("small", 10 * mebibyte).set("large", 20 * mebibyte);
  const running = node.run();
  await node.clock.advance(20_000);
  const first = `evict large 1000 ${low} Container c was using 20Mi, request is 0, has larger consumption of memory.`;
  assert.deepEqual(node.told, ["conditions MemoryPressure", "reclaim memory", first]);
  node.gone.add("large");
  await node.clock.advance(1000);
  assert.match(node.told.at(-1) ?? "", /^evict small/);
  node.left.set("memory.available", 500 * mebibyte);
  await node.clock.advance(120_000);
  assert.equal(node.told.at(-1), "conditions");
  await node.end(running);
});

test("no pod is evicted if removing dead containers and unused images is enough", async () => {
  const node = setUp();
  node.left.set("nodefs.available", 50 * mebibyte);
  node.uses.set("p", mebibyte);
  node.freedByImages = 60 * mebibyte;
  const running = node.run();
  await node.clock.advance(20_000);
  assert.deepEqual(node.told, ["conditions DiskPressure", "reclaim ephemeral-storage", "containers", "images"]);
  await node.end(running);
});

test("critical pods are spared", async () => {
  const node = setUp({ priorities: { critical: 2_000_000_000 } });
  node.left.set("memory.available", 50 * mebibyte);
  node.uses.set("critical", 900 * mebibyte).set("other", mebibyte);
  const running = node.run();
  await node.clock.settle();
  assert.match(node.told.at(-1) ?? "", /^evict other/);
  node.gone.add("other");
  await node.clock.advance(60_000);
  assert.equal(node.told.filter((one) => one.startsWith("evict")).length, 1);
  await node.end(running);
});

test("a soft threshold gives a pod its grace period up to a maximum", async () => {
  const node = setUp({ soft: true });
  node.left.set("memory.available", 50 * mebibyte);
  node.uses.set("p", mebibyte);
  const running = node.run();
  await node.clock.advance(10_000);
  assert.deepEqual(node.told, ["conditions MemoryPressure"]);
  await node.clock.advance(10_000);
  assert.match(node.told.at(-1) ?? "", /^evict p 20000 /);
  await node.end(running);
});
