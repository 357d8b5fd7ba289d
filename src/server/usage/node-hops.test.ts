import assert from "node:assert/strict";
import { test } from "node:test";
import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { neverAborted } from "#lib/async/tasks.ts";
import { createFakeInformers } from "#testing/fake-informers.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { type Hop } from "#trace/hop.ts";
import { hopsOfNodes, planNodes } from "./node-hops.ts";

const traceId = "a".repeat(32);
const hopOf = (span: string, name = "web"): Hop => ({
  ...{ traceId, spanId: span.repeat(16), parentId: "", hop: "run", component: "kubelet b", revision: 0 },
  ...{ object: { resource: "pods", namespace: "shop", name }, startMs: 1, durationMs: 1, facts: {} },
});

test("planNodes() asks the nodes of the trace's pods first, each once, and a few others", () => {
  const all = Array.from({ length: 100 }, (_, i) => `n${i}`);
  const nodes = planNodes([hopOf("1"), hopOf("2")], { all, nodeOf: () => "n77" });
  assert.deepEqual([nodes[0], nodes.length, new Set(nodes).size], ["n77", 20, 20]);
});

test("hopsOfNodes() adds what nodes know, and neither waits for a dead one nor repeats what is known", async () => {
  const informers = createFakeInformers();
  const clock = createVirtualClock();
  for (const name of ["a", "b", "dead", "broken"]) informers.put(Node, { metadata: { name } });
  informers.put(Pod, { metadata: { namespace: "shop", name: "web" }, spec: { nodeName: "b", containers: [] } });
  const read = async (node: string, _: string, signal: AbortSignal) => {
    if (node === "broken") throw new Error("no way");
    if (node === "dead") return await new Promise((_, reject) => signal.addEventListener("abort", reject));
    return node === "b" ? [hopOf("1"), hopOf("2")] : [hopOf("1")];
  };

  const found = hopsOfNodes({ informers, clock, read }, { traceId, known: [hopOf("1")] }, neverAborted);
  await clock.advance(1_000);

  assert.deepEqual(
    (await found).map(({ spanId }) => spanId[0]),
    ["2"],
  );
});
