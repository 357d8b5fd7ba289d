import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "#api/core/pod.ts";
import { build } from "#testing/build.ts";
import { evictionMessage } from "./eviction-message.ts";
import { type PodUse, rankPods } from "./rank-pods.ts";
import type { Signal } from "./signals.ts";
import { createThresholds } from "./thresholds.ts";

const mebibyte = 1 << 20;

interface Sketch {
  readonly name: string;
  readonly priority?: number;
  readonly request?: Readonly<Record<string, string>>;
  /** In mebibytes; a sketch without any use was not measured. */
  readonly memory?: number;
  readonly processes?: number;
  readonly layer?: number;
  readonly logs?: number;
  readonly volumes?: number;
  readonly inodes?: number;
}

const podOf = ({ name, priority, request }: Sketch) =>
  build(Pod, {
    metadata: { name },
    spec: {
      containers: [{ name: "c", image: "i", resources: { requests: request ?? {} } }],
      ...(priority === undefined ? {} : { priority }),
    },
  });

function useOf({ name: _, priority: _priority, request: _request, ...use }: Sketch): PodUse | undefined {
  if (Object.keys(use).length === 0) return undefined;
  const disk = (size = 0, inodes = 0) => ({ bytes: size * mebibyte, inodes });
  const memoryBytes = (use.memory ?? 0) * mebibyte;
  const containers = [{ name: "c", memoryBytes, layer: disk(use.layer, use.inodes), logs: disk(use.logs) }];
  return { memoryBytes, processes: use.processes ?? 0, volumes: disk(use.volumes), containers };
}

const rank = (signal: Signal, sketches: readonly Sketch[], hasImageDisk = false) => {
  const uses = new Map(sketches.map((one) => [one.name, useOf(one)]));
  const ranked = rankPods(sketches.map(podOf), { signal, hasImageDisk, useOf: (pod) => uses.get(pod.metadata.name) });
  return ranked.map(({ metadata }) => metadata.name).join(" ");
};

const memory = (amount: string) => ({ memory: amount });
const disk = (amount: string) => ({ "ephemeral-storage": amount });
const cases: readonly [name: string, signal: Signal, sketches: readonly Sketch[], order: string][] = [
  [
    "pods above their requests first, whatever their priority",
    "memory.available",
    [
      { name: "within", request: memory("100Mi"), memory: 100, priority: 0 },
      { name: "above", request: memory("10Mi"), memory: 11, priority: 1000 },
    ],
    "above within",
  ],
  [
    "the lowest priority first among them",
    "allocatableMemory.available",
    [
      { name: "high", memory: 900, priority: 2 },
      { name: "low", memory: 1, priority: 1 },
      { name: "none", memory: 1 },
    ],
    "none low high",
  ],
  [
    "the largest use above the request first at the same priority",
    "memory.available",
    [
      { name: "a", request: memory("500Mi"), memory: 600 },
      { name: "b", request: memory("10Mi"), memory: 300 },
      { name: "c", memory: 200 },
    ],
    "b c a",
  ],
  [
    "pods that could not be measured before all others",
    "memory.available",
    [{ name: "a", memory: 9 }, { name: "b" }],
    "b a",
  ],
  [
    "processes by priority and number",
    "pid.available",
    [
      { name: "few", processes: 2 },
      { name: "many", processes: 20 },
      { name: "important", processes: 200, priority: 5 },
    ],
    "many few important",
  ],
  [
    "disk by layers, logs and volumes together",
    "nodefs.available",
    [
      { name: "layer", layer: 50 },
      { name: "logs", logs: 60 },
      { name: "volumes", volumes: 70 },
      { name: "within", request: disk("1Gi"), layer: 500, logs: 500 },
    ],
    "volumes logs layer within",
  ],
  [
    "inodes by their number",
    "imagefs.inodesFree",
    [
      { name: "a", inodes: 10 },
      { name: "b", inodes: 20 },
    ],
    "b a",
  ],
];
for (const [name, signal, sketches, order] of cases) {
  test(`rankPods() puts ${name}`, () => assert.equal(rank(signal, sketches), order));
}

test("with a disk of their own, writable layers count for that disk and nothing else does", () => {
  const sketches = [
    { name: "layer", layer: 50 },
    { name: "logs", logs: 60 },
  ];
  assert.equal(rank("nodefs.available", sketches, true), "logs layer");
  assert.equal(rank("imagefs.available", sketches, true), "layer logs");
  assert.equal(rank("containerfs.available", sketches, true), "layer logs");
});

const cause = (signal: Signal, threshold: string, available: number, capacity: number) => ({
  starved: createThresholds({
    hard: { [signal]: threshold },
    soft: {},
    softGraceMs: {},
    minimumReclaim: {},
    limitsPods: false,
  }),
  observations: new Map([[signal, { available, capacity }]]),
});

test("evictionMessage() has upstream's words", () => {
  const hog: Sketch = { name: "hog", request: { ...memory("10Mi"), ...disk("1Mi") }, memory: 64, layer: 3, logs: 1 };
  const lowMemory = cause("memory.available", "100Mi", 50 * mebibyte, 1000 * mebibyte);
  assert.equal(
    evictionMessage(podOf(hog), useOf(hog), { resource: "memory", ...lowMemory }),
    "The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. " +
      "Container c was using 64Mi, request is 10Mi, has larger consumption of memory. ",
  );
  const lowDisk = cause("nodefs.available", "10%", 1024, 100_000);
  assert.equal(
    evictionMessage(podOf(hog), useOf(hog), { resource: "ephemeral-storage", ...lowDisk }),
    "The node was low on resource: ephemeral-storage. Threshold quantity: 10000, available: 1Ki. " +
      "Container c was using 4Mi, request is 1Mi, has larger consumption of ephemeral-storage. ",
  );
  const lowPids = cause("pid.available", "1k", 900, 32_768);
  assert.equal(
    evictionMessage(podOf(hog), useOf(hog), { resource: "pids", ...lowPids }),
    "The node was low on resource: pids. Threshold quantity: 1k, available: 900. ",
  );
  assert.equal(
    evictionMessage(podOf(hog), undefined, { resource: "memory", starved: [], observations: new Map() }),
    "The node was low on resource: memory. ",
  );
});
