import assert from "node:assert/strict";
import { test } from "node:test";
import { type DeviceTaint, type DeviceToleration } from "#api/devices/device-taint.ts";
import { planDeviceEviction } from "./plan-device-eviction.ts";

const addedMs = Date.parse("2026-01-01T00:00:00Z");
const broken: DeviceTaint = { key: "broken", effect: "NoExecute", timeAdded: "2026-01-01T00:00:00Z" };
const later: DeviceTaint = { key: "hot", value: "very", effect: "NoExecute", timeAdded: "2026-01-01T00:00:10Z" };
const tolerate = (toleration: Partial<DeviceToleration>): DeviceToleration => ({ operator: "Exists", ...toleration });

const cases: { name: string; taints: DeviceTaint[]; tolerations?: DeviceToleration[]; afterS?: number }[] = [
  { name: "stays on a device without taints", taints: [] },
  { name: "stays if the taint only keeps others away", taints: [{ ...broken, effect: "NoSchedule" }] },
  { name: "stays if the taint does nothing", taints: [{ ...broken, effect: "None" }] },
  { name: "leaves a tainted device at once", taints: [broken], afterS: 0 },
  { name: "stays if it tolerates every taint", taints: [broken, later], tolerations: [tolerate({})] },
  {
    name: "stays if it tolerates this effect of the taint",
    taints: [broken],
    tolerations: [tolerate({ key: "broken", effect: "NoExecute" })],
  },
  {
    name: "leaves if it tolerates another effect",
    taints: [broken],
    tolerations: [tolerate({ key: "broken", effect: "NoSchedule" })],
    afterS: 0,
  },
  {
    name: "leaves if it tolerates another value",
    taints: [later],
    tolerations: [tolerate({ key: "hot", operator: "Equal", value: "a bit" })],
    afterS: 10,
  },
  {
    name: "leaves when the shortest toleration ends",
    taints: [broken],
    tolerations: [tolerate({ tolerationSeconds: 60 }), tolerate({ tolerationSeconds: 30 })],
    afterS: 30,
  },
  {
    name: "stays if one toleration has no end",
    taints: [broken],
    tolerations: [tolerate({ tolerationSeconds: 60 }), tolerate({ key: "broken" })],
  },
  {
    name: "leaves at once if the toleration is negative",
    taints: [broken],
    tolerations: [tolerate({ tolerationSeconds: -5 })],
    afterS: 0,
  },
  {
    name: "leaves at the first of several times",
    taints: [broken, later],
    tolerations: [tolerate({ tolerationSeconds: 60 })],
    afterS: 60,
  },
  {
    name: "leaves when the only taint that it does not tolerate came",
    taints: [broken, later],
    tolerations: [tolerate({ key: "broken" })],
    afterS: 10,
  },
];
for (const { name, taints, tolerations, afterS } of cases) {
  test(`a pod ${name}`, () => {
    const expected = afterS === undefined ? undefined : addedMs + afterS * 1000;

    assert.equal(planDeviceEviction([{ taints, tolerations }]), expected);
  });
}

test("a pod leaves at the first time that one of its devices gives", () => {
  const devices = [
    { taints: [later], tolerations: undefined },
    { taints: [broken], tolerations: undefined },
  ];

  assert.equal(planDeviceEviction(devices), addedMs);
});
