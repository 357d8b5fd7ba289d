import assert from "node:assert/strict";
import { test } from "node:test";
import { faultsOf, read, updateFaultsOf } from "../faults.suite.ts";
import { VolumeAttributesClass } from "./volume-attributes-class.ts";

const gold = { metadata: { name: "gold" }, driverName: "csi.example.com", parameters: { iops: "4000" } };

test("a VolumeAttributesClass shows its driver", () => {
  const shown = VolumeAttributesClass.columns.map(({ value }) => value(read(VolumeAttributesClass, gold), 0));

  assert.deepEqual(shown, ["csi.example.com", "<unknown>"]);
});

test("a VolumeAttributesClass needs a driver and parameters", () => {
  assert.deepEqual(faultsOf(VolumeAttributesClass, gold), []);
  assert.deepEqual(faultsOf(VolumeAttributesClass, { metadata: gold.metadata }), [
    "driverName: Required value",
    "parameters: Required value: must contain at least one key/value pair",
  ]);
});

test("a VolumeAttributesClass cannot change", () => {
  const changed = { ...gold, driverName: "other.example.com", parameters: { iops: "8000" } };

  assert.deepEqual(updateFaultsOf(VolumeAttributesClass, changed, gold), [
    "driverName: Forbidden: updates to driverName are forbidden.",
    "parameters: Forbidden: updates to parameters are forbidden.",
  ]);
  assert.deepEqual(updateFaultsOf(VolumeAttributesClass, gold, gold), []);
});
