import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "#api/core/pod.ts";
import { build } from "#testing/build.ts";
import { type SwapRules, swapLimit } from "./swap.ts";

const gibi = 2 ** 30;
const limited: SwapRules = {
  behavior: "LimitedSwap",
  mode: "v2",
  canLimit: true,
  swapBytes: 4 * gibi,
  memoryBytes: 16 * gibi,
};
const burstable = { requests: { memory: "2Gi" }, limits: { memory: "4Gi" } };
const guaranteed = { requests: { memory: "2Gi", cpu: "1" }, limits: { memory: "2Gi", cpu: "1" } };
const v1 = { mode: "v1" } as const;
const max = (bytes: number) => ({ unified: { "memory.swap.max": String(bytes) } });

const cases: readonly [name: string, rules: Partial<SwapRules>, resources: object, spec: object, want: object][] = [
  ["a share of the swap like that of the memory", {}, burstable, {}, max(gibi / 2)],
  ["none for a Guaranteed pod", {}, guaranteed, {}, max(0)],
  ["none for a BestEffort pod", {}, {}, {}, max(0)],
  [
    "none for a container whose request is its limit",
    {},
    { requests: { memory: "1Gi" }, limits: { memory: "1Gi" } },
    {},
    max(0),
  ],
  ["none for a critical pod", {}, burstable, { priority: 2_000_000_000 }, max(0)],
  ["none for a request of more than there is", { memoryBytes: gibi }, burstable, {}, max(0)],
  ["nothing where the pod has none anyway", { behavior: "NoSwap" }, burstable, {}, {}],
  ["nothing on a machine without swap", { swapBytes: 0 }, burstable, {}, {}],
  ["nothing where the kernel cannot", { canLimit: false }, burstable, {}, {}],
  ["no more than the memory on v1", v1, burstable, {}, { memorySwapLimitBytes: 4 * gibi }],
  ["nothing on v1 without a limit", v1, {}, {}, {}],
];
for (const [name, rules, resources, more, want] of cases) {
  test(`swapLimit() is ${name}`, () => {
    const containers = [{ name: "c", image: "i", resources }];
    const pod = build(Pod, { metadata: { name: "p", namespace: "n", uid: "u" }, spec: { containers, ...more } });
    const [container] = pod.spec.containers;
    assert.ok(container);

    assert.deepEqual(swapLimit({ ...limited, ...rules }, pod, container), want);
  });
}
