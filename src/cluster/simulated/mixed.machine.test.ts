import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { systemClock } from "#lib/async/clock.ts";
import { runTogether } from "#lib/async/tasks.ts";
import { seededRandom } from "#lib/data/random.ts";
import { silentLog } from "#lib/process/log.ts";
import { type RealNode, realNodeName, shellContainer, startRealNode, waitForEnd } from "#testing/real-node.ts";
import { createSimulatedNodes, type SimulationOptions } from "./simulated-nodes.ts";
import { loadStages } from "./stages/load-stages.ts";

/** Leads pods to Running, and says so in an annotation. */
const stages = `
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: { name: run }
spec:
  resourceRef: { kind: Pod }
  selector: { matchExpressions: [{ key: .status.phase, operator: In, values: [Pending] }] }
  steps:
    - patch: { root: metadata, template: "annotations: { staged: 'yes' }" }
    - patch: { root: status, subresource: status, template: "phase: Running" }
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: { name: end }
spec:
  resourceRef: { kind: Pod }
  selector: { matchExpressions: [{ key: .metadata.deletionTimestamp, operator: Exists }] }
  next: { delete: true }
`;

/** Runs a simulated node on the server of a real one while something is done. */
async function besides(real: RealNode, options: SimulationOptions, work: () => Promise<void>): Promise<void> {
  const { informers, clientFor, resources: kinds } = real.api;
  const shared = { informers, clientFor, clock: systemClock, log: silentLog, random: seededRandom(1) };
  const loaded = await loadStages(options);
  const nodes = createSimulatedNodes(1, { ...shared, ...(loaded ? { staged: loaded.staged } : {}) }, options);
  const end = new AbortController();
  const tasks = [...nodes.map(({ run }) => run), ...(loaded ? [loaded.task({ ...shared, kinds }, nodes)] : [])];
  const running = runTogether(end.signal, tasks).catch(() => undefined);
  try {
    await work();
  } finally {
    end.abort(new Error("the test ends"));
    await running;
  }
}

const pod = (name: string, nodeName: string) => ({
  metadata: { namespace: "default", name },
  spec: { nodeName, terminationGracePeriodSeconds: 5, containers: [shellContainer(waitForEnd)] },
});

suite("a real and a simulated node on one server", { timeout: 300_000 }, () => {
  test("each runs its own pods, with and without stages", async () => {
    await using real = await startRealNode();
    const run = async (suffix: string) => {
      for (const [name, node] of [
        ["real", realNodeName],
        ["simulated", "node-1"],
      ] as const) {
        await real.client.create(Pod, pod(`${name}-${suffix}`, node));
      }
      const isRunning = ({ status }: Pod) => status.phase === "Running";
      const there = await real.podWhen(`simulated-${suffix}`, isRunning);
      const here = await real.podWhen(`real-${suffix}`, isRunning);
      assert.equal((await real.runIn(`real-${suffix}`, "echo", "here")).trim(), "here");
      for (const name of [`real-${suffix}`, `simulated-${suffix}`]) await real.removePod(name);
      return { here, there };
    };

    await besides(real, {}, async () => {
      const { here, there } = await run("plain");
      const nodes = await real.client.list(Node);
      assert.deepEqual(nodes.items.map(({ metadata }) => metadata.name).toSorted(), ["node-1", realNodeName]);
      assert.notEqual(here.status.hostIP, there.status.hostIP);
    });
    await besides(real, { stages }, async () => {
      const { here, there } = await run("staged");
      assert.equal(there.metadata.annotations?.staged, "yes");
      assert.equal(here.metadata.annotations?.staged, undefined, "stages leave the pods of real nodes alone");
    });
  });
});
