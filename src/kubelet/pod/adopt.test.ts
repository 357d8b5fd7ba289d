import assert from "node:assert/strict";
import { test } from "node:test";
import { SimulatedRuntime } from "#kubelet/runtime/simulated.ts";
import { seededRandom } from "#lib/data/random.ts";
import { silentLog } from "#lib/process/log.ts";
import { startOnePod } from "#testing/network/runtime-config.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { adoptPod, listRuntime } from "./adopt.ts";

const endings = [
  {
    name: "an interrupted start has not failed, and is forgotten",
    ending: { exitCode: 128, reason: "StartError", message: "failed to create shim task: context canceled: unknown" },
    kept: [],
  },
  {
    name: "a failed start is counted",
    ending: { exitCode: 128, reason: "StartError", message: 'exec: "nope": executable file not found in $PATH' },
    kept: ["StartError"],
  },
  { name: "a program that ended is counted", ending: { exitCode: 1 }, kept: ["Error"] },
];
for (const { name, ending, kept } of endings) {
  test(`adoptPod(): ${name}`, async () => {
    const clock = createVirtualClock();
    const delays = { sandboxMs: 0, pullMs: 0, startMs: 0, stopMs: 0 };
    const runtime = new SimulatedRuntime({ clock, random: seededRandom(1), podCidr: "10.244.0.0/24", delays });
    const { sandboxId, id } = await startOnePod(runtime);
    runtime.exit(id, ending);
    const [listed] = (await listRuntime(runtime)).pods.values();
    assert(listed);

    const found = await adoptPod({ runtime, log: silentLog }, listed);

    assert.deepEqual(
      found.containers.map(({ reason }) => reason),
      kept,
    );
    assert.equal((await runtime.listContainers()).length, kept.length);
    assert.equal(found.sandbox?.id, sandboxId);
  });
}

test("adoptPod(): a container that cannot be removed does not stop the adoption", async () => {
  const clock = createVirtualClock();
  const delays = { sandboxMs: 0, pullMs: 0, startMs: 0, stopMs: 0 };
  const runtime = new SimulatedRuntime({ clock, random: seededRandom(1), podCidr: "10.244.0.0/24", delays });
  const { sandboxId, id } = await startOnePod(runtime);
  runtime.exit(id, { exitCode: 128, reason: "StartError", message: "context canceled" });
  runtime.removeContainer = () => Promise.reject(new Error("cannot delete running task"));
  const [listed] = (await listRuntime(runtime)).pods.values();
  assert(listed);

  const found = await adoptPod({ runtime, log: silentLog }, listed);

  assert.equal(found.sandbox?.id, sandboxId);
  assert.deepEqual(found.containers, []);
});
