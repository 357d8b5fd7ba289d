import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "#lib/data/random.ts";
import { containerConfig, sandboxConfig } from "#testing/network/runtime-config.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import type { RuntimeEvent } from "./runtime.ts";
import { SimulatedRuntime } from "./simulated.ts";
import { exitAfterAnnotation, exitCodeAnnotation } from "./simulation/annotations.ts";
import type { SimulationHooks } from "./simulation.ts";

function simulate(hooks: SimulationHooks = {}) {
  const clock = createVirtualClock();
  const delays = { sandboxMs: 100, pullMs: 50, startMs: 10, stopMs: 5 };
  const runtime = new SimulatedRuntime({ clock, random: seededRandom(1), podCidr: "10.244.3.0/29", delays, hooks });
  const run = async (annotations = {}) => {
    const sandbox = sandboxConfig({ annotations });
    const sandboxId = await runtime.runSandbox(sandbox);
    await runtime.pullImage("web:1");
    const id = await runtime.createContainer({ sandboxId, config: containerConfig(), sandbox });
    await runtime.startContainer(id);
    return { sandboxId, id };
  };
  return { clock, runtime, run };
}

test("a simulated pod starts after its delays, has an address, and ends when it is stopped", async () => {
  const { clock, runtime, run } = simulate();
  const starting = run();
  await clock.advance(159);
  assert.deepEqual(await runtime.listContainers().then((all) => all.map(({ state }) => state)), ["created"]);
  await clock.advance(1);
  const { id, sandboxId } = await starting;

  assert.equal((await runtime.containerStatus(id))?.state, "running");
  assert.deepEqual((await runtime.sandboxStatus(sandboxId))?.ips, ["10.244.3.2"]);

  const stopping = runtime.stopContainer(id, 1000);
  await clock.advance(5);
  await stopping;
  const status = await runtime.containerStatus(id);
  assert.deepEqual([status?.state, status?.exitCode, status?.reason], ["exited", 0, "Completed"]);
});

test("annotations of the pod decide when its containers end", async () => {
  const { clock, runtime, run } = simulate();
  const starting = run({ [exitAfterAnnotation]: "1000", [exitCodeAnnotation]: "3" });
  await clock.advance(160);
  const { id } = await starting;

  await clock.advance(1000);

  const status = await runtime.containerStatus(id);
  assert.deepEqual([status?.state, status?.exitCode, status?.reason], ["exited", 3, "Error"]);
});

test("events report starts, exits and removals after a resync", async () => {
  const { clock, runtime, run } = simulate();
  const stop = new AbortController();
  const told: RuntimeEvent[] = [];
  const reading = (async () => {
    for await (const event of runtime.events(stop.signal)) told.push(event);
  })();
  const starting = run();
  await clock.advance(160);
  const { id, sandboxId } = await starting;
  runtime.exit(id, { exitCode: 1 });
  const removing = runtime.removeSandbox(sandboxId);
  await clock.advance(5);
  await removing;
  await clock.settle();
  stop.abort();
  await reading;

  assert.deepEqual(
    told.map((event) => [event.type, "containerId" in event ? event.containerId === id : undefined]),
    [
      ["resync", undefined],
      ["started", true],
      ["exited", true],
      ["exited", false],
      ["deleted", true],
      ["deleted", false],
    ],
  );
});

test("hooks make calls fail", async () => {
  const { runtime } = simulate({
    pullImage: () => {
      throw new Error("registry is unreachable");
    },
  });

  await assert.rejects(runtime.pullImage("web:1"), /registry is unreachable/);
  assert.equal(await runtime.imageStatus("web:1"), undefined);
});

test("addresses run out, and are released when sandboxes stop", async () => {
  const clock = createVirtualClock();
  const runtime = new SimulatedRuntime({ clock, random: seededRandom(1), podCidr: "10.0.0.0/29" });
  const ids = await Promise.all(Array.from({ length: 5 }, () => runtime.runSandbox(sandboxConfig())));

  await assert.rejects(runtime.runSandbox(sandboxConfig()), /no address is free/);

  await runtime.stopSandbox(ids[2] ?? "");
  const again = await runtime.runSandbox(sandboxConfig());
  assert.deepEqual((await runtime.sandboxStatus(again))?.ips, ["10.0.0.4"]);
});
