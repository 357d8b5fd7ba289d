import assert from "node:assert/strict";
import { test } from "node:test";
import {
  amountOf,
  createThresholds,
  defaultEvictionHard,
  parseMinimumReclaim,
  parseThresholdValue,
  renderAmount,
  withContainerFs,
} from "./thresholds.ts";

const none = { hard: {}, soft: {}, softGraceMs: {}, minimumReclaim: {}, limitsPods: true };

test("thresholds are amounts or shares of the capacity", () => {
  const disk = { available: 0, capacity: 1000 };
  assert.equal(amountOf({ quantity: "100Mi" }, disk), 100 << 20);
  assert.equal(renderAmount({ quantity: "100Mi" }, disk), "100Mi");
  const share = parseThresholdValue("nodefs.available", "10%");
  assert(share);
  assert.equal(amountOf(share, disk), 100);
  assert.equal(renderAmount(share, { available: 0, capacity: 10 * 2 ** 30 }), "1073741840");
});

test("0% and 100% turn a signal off", () => {
  assert.equal(parseThresholdValue("nodefs.available", "0%"), undefined);
  assert.deepEqual(createThresholds({ ...none, hard: { "nodefs.available": "100%" } }), []);
});

const bad: readonly [read: () => unknown, message: RegExp][] = [
  [() => parseThresholdValue("disk.available", "1Gi"), /^unsupported eviction signal disk.available$/],
  [() => parseThresholdValue("toString", "1Gi"), /^unsupported eviction signal toString$/],
  [
    () => parseThresholdValue("nodefs.available", "-1%"),
    /^eviction percentage threshold nodefs.available must be >= 0%: -1%$/,
  ],
  [() => parseThresholdValue("nodefs.available", "101%"), /must be <= 100%: 101%$/],
  [() => parseThresholdValue("nodefs.available", "x%"), /^x% is not a percentage$/],
  [() => parseThresholdValue("nodefs.available", "Infinity%"), /is not a percentage/],
  [() => parseThresholdValue("memory.available", "0"), /^eviction threshold memory.available must be positive: 0$/],
  [() => parseThresholdValue("memory.available", "much"), /quantities must match/],
  [
    () => parseMinimumReclaim("memory.available", "-1Mi"),
    /^negative eviction minimum reclaim specified for memory.available$/,
  ],
  [() => parseMinimumReclaim("memory.available", "0%"), /minimum reclaim memory.available must be positive: 0%$/],
];
for (const [read, message] of bad) {
  test(`a wrong threshold is refused: ${message.source}`, () => assert.throws(read, { message }));
}

test("the hard threshold of memory applies to the limit of all pods too", () => {
  const signals = (limitsPods: boolean) =>
    createThresholds({ ...none, hard: defaultEvictionHard, limitsPods }).map(({ signal }) => signal);
  assert.deepEqual(signals(true), [...Object.keys(defaultEvictionHard), "allocatableMemory.available"]);
  assert.deepEqual(signals(false), Object.keys(defaultEvictionHard));
});

test("the disk of containers has the thresholds of the disk that it is on", () => {
  const hard = { "nodefs.available": "1Gi", "imagefs.available": "2Gi", "containerfs.available": "7Gi" };
  const thresholds = createThresholds({ ...none, hard });
  const containerFs = (hasImageDisk: boolean) =>
    withContainerFs(thresholds, hasImageDisk).filter(({ signal }) => signal === "containerfs.available");
  assert.deepEqual(containerFs(false), [{ signal: "containerfs.available", value: { quantity: "1Gi" }, graceMs: 0 }]);
  assert.deepEqual(containerFs(true), [{ signal: "containerfs.available", value: { quantity: "2Gi" }, graceMs: 0 }]);
});
