import assert from "node:assert/strict";
import { test } from "node:test";
import { Node } from "#api/core/node.ts";
import type { Pod } from "#api/core/pod.ts";
import { defaultSettings } from "#kubelet/settings.ts";
import { realNodeName, shellContainer, startRealNode, waitForEnd } from "#testing/real-node.ts";
import { createThresholds } from "./thresholds.ts";

/** More than any disk has, so the node is under pressure from the start. */
const hard = { "nodefs.available": "7Ei" };
const thresholds = createThresholds({ hard, soft: {}, softGraceMs: {}, minimumReclaim: {}, limitsPods: false });

test("a node with a full disk evicts a pod, keeps a critical one, and refuses a new one", {
  timeout: 120_000,
}, async () => {
  const settings = { ...defaultSettings, eviction: { ...defaultSettings.eviction, thresholds } };
  await using node = await startRealNode();
  const { client } = node;
  const isRunning = ({ status }: Pod) => status.containerStatuses?.[0]?.ready === true;
  const writes = shellContainer(`dd if=/dev/zero of=/file bs=1M count=3; ${waitForEnd}`);
  await node.createPod("critical", { containers: [writes], priorityClassName: "system-node-critical" });
  await node.createPod("other", { containers: [shellContainer(waitForEnd)] });
  await Promise.all([node.podWhen("critical", isRunning), node.podWhen("other", isRunning)]);
  await node.restartKubelet(settings);

  const { status: evicted } = await node.podWhen("other", ({ status }) => status.phase === "Failed");
  assert.equal(evicted.reason, "Evicted");
  assert.match(
    evicted.message ?? "",
    /^The node was low on resource: ephemeral-storage. Threshold quantity: 7Ei, available: \d+(Ki|Mi|Gi)?. /,
  );
  assert.equal(evicted.conditions?.find(({ type }) => type === "DisruptionTarget")?.reason, "TerminationByKubelet");

  await node.createPod("late", { containers: [shellContainer(waitForEnd)] });
  const { status: refused } = await node.podWhen("late", ({ status }) => status.phase === "Failed");
  assert.equal(refused.message, "Pod was rejected: The node had condition: [DiskPressure]. ");

  assert((await node.podWhen("critical", () => true)).status.phase === "Running");
  const { status } = await client.get(Node, { name: realNodeName });
  assert.equal(status.conditions?.find(({ type }) => type === "DiskPressure")?.status, "True");
});
