import assert from "node:assert/strict";
import { test } from "node:test";
import { neverAborted } from "#lib/async/tasks.ts";
import { type Objects } from "#server/objects/objects.ts";
import { kubeletMetrics } from "./read-kubelet.ts";
import { type NodeReport } from "./resource-metrics.ts";

test("kubeletMetrics() asks a node in this process itself, without a connection", async () => {
  const report: NodeReport = { node: undefined, pods: new Map() };
  const asked: string[] = [];
  const local = {
    agentOf: () => assert.fail("it needs no connection"),
    connectToPod: () => undefined,
    reportOf(node: string) {
      asked.push(node);
      return node === "node-1" ? Promise.resolve(report) : undefined;
    },
  };
  const objects = {
    get: async () => {
      throw new Error("another node");
    },
  } as unknown as Objects;
  const read = kubeletMetrics(objects, () => ({ key: "", cert: "", ca: "" }), local);

  assert.equal(await read("node-1", neverAborted), report);
  await assert.rejects(read("other", neverAborted), { message: "another node" });
  assert.deepEqual(asked, ["node-1", "other"]);
});
