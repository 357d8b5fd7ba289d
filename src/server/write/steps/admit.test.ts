import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMap } from "#api/core/config-map.ts";
import { StatusError } from "#api/status.ts";
import { requestFor } from "#server/admission/admission.suite.ts";
import { orUndo } from "./admit.ts";

const outcomes: { name: string; steps: () => Promise<unknown>; undone: number }[] = [
  { name: "a write that happened", steps: async () => "written", undone: 0 },
  { name: "a write that another writer has overtaken", steps: async () => undefined, undone: 1 },
  {
    name: "a write that was refused",
    steps: () => Promise.reject(new StatusError("AlreadyExists", "exists")),
    undone: 1,
  },
  {
    name: "a write that the store may have carried out",
    steps: () => Promise.reject(new StatusError("Timeout", "no answer")),
    undone: 0,
  },
];

for (const { name, steps, undone } of outcomes) {
  test(`${name} is undone ${undone ? "once" : "not at all"}`, async () => {
    let count = 0;
    const request = requestFor(ConfigMap, {});
    const undo = (): void => {
      count++;
    };
    await orUndo({ ...request, undo }, steps).catch(() => undefined);
    assert.equal(count, undone);
  });
}
