import assert from "node:assert/strict";
import { test } from "node:test";
import { simulatedHost } from "#kubelet/host/host.ts";
import { SimulatedRuntime } from "#kubelet/runtime/simulated.ts";
import { neverAborted } from "#lib/async/tasks.ts";
import { seededRandom } from "#lib/data/random.ts";
import { silentLog } from "#lib/process/log.ts";
import { startOnePod } from "#testing/network/runtime-config.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { NodePods } from "./node-pods.ts";
import type { PodDeps } from "./pod-deps.ts";

const noPods = () => new Set<string>();

/** A runtime with a container that belongs to no pod and takes an hour to stop. */
async function anOrphan() {
  const clock = createVirtualClock();
  const delays = { stopMs: 3_600_000 };
  const runtime = new SimulatedRuntime({ clock, random: seededRandom(1), podCidr: "10.244.0.0/24", delays });
  await startOnePod(runtime);
  const warnings: string[] = [];
  const log = { ...silentLog, warn: (message: string) => void warnings.push(message) };
  const pods = new NodePods({ allocatable: {}, devices: undefined, log, finished: () => {} });
  return { clock, runtime, warnings, pods, deps: { runtime, host: simulatedHost, log } as unknown as PodDeps };
}

test("NodePods stops an orphaned pod in its time", async () => {
  const { clock, runtime, warnings, pods, deps } = await anOrphan();

  await pods.resync(deps, noPods, neverAborted);
  await clock.advance(10 * 3_600_000);

  assert.deepEqual(await runtime.listSandboxes(), []);
  assert.deepEqual(warnings, []);
});

test("NodePods closes without waiting for the grace period of an orphaned pod, which the next one stops", async () => {
  const { clock, runtime, warnings, pods, deps } = await anOrphan();
  await pods.resync(deps, noPods, neverAborted);

  await pods.close();

  assert.equal((await runtime.listSandboxes()).length, 1);
  assert.deepEqual(warnings, []);
  const next = new NodePods({ allocatable: {}, devices: undefined, log: silentLog, finished: () => {} });
  await next.resync(deps, noPods, neverAborted);
  await clock.advance(10 * 3_600_000);
  assert.deepEqual(await runtime.listSandboxes(), []);
});
