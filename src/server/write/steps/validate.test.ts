import assert from "node:assert/strict";
import { test } from "node:test";
import { PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { read } from "#api/faults.suite.ts";
import { type Resource } from "#api/resource.ts";
import { type Write } from "../write.ts";
import { prepareChange } from "./validate.ts";

const resource = PersistentVolume as unknown as Resource;
const now = Date.UTC(2026, 0, 2);

test("a write of the status gets the server's time, other writes do not", () => {
  const timeAfter = (subresource: string): string | undefined => {
    const old = read(PersistentVolume, { metadata: { name: "pv" } });
    const object = read(PersistentVolume, { metadata: { name: "pv" }, status: { phase: "Available" } });
    prepareChange({ resource, subresource, context: { user: { name: "a" } } } as Write, { object, old }, now);
    return object.status.lastPhaseTransitionTime;
  };

  assert.deepEqual([timeAfter("status"), timeAfter("")], ["2026-01-02T00:00:00Z", undefined]);
});
