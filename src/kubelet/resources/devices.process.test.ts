import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { type TestContext, test } from "node:test";
import { systemClock } from "#lib/async/clock.ts";
import { Nudge } from "#lib/async/nudge.ts";
import { silentLog } from "#lib/process/log.ts";
import { GrpcClient, rpc } from "#lib/proto/grpc/client.ts";
import { type FakeDevice, startDevicePlugin, widgets } from "#testing/peers/device-plugin.ts";
import { Empty, RegisterRequest, registerPath } from "./device-calls.ts";
import { DeviceManager } from "./devices.ts";

const healthy = (...ids: string[]): FakeDevice[] => ids.map((id) => ({ id, health: "Healthy" }));
const ask = (podUid: string, count: number, more: { container?: string; isPassedOn?: boolean } = {}) => ({
  podUid,
  container: "main",
  isPassedOn: false,
  resources: { [widgets]: count, "example.org/other": 1 },
  ...more,
});
const idsOf = (given: readonly { envs: Record<string, string> }[]) => given.map(({ envs }) => envs.WIDGETS);

async function aDirectory(t: TestContext): Promise<string> {
  const dir = await mkdtemp(`${tmpdir()}/orlop-devices-`);
  t.after(() => rm(dir, { recursive: true }));
  return dir;
}

async function start(dir: string) {
  const changes = new Nudge();
  const stop = new AbortController();
  const manager = await DeviceManager.open({
    dir,
    clock: systemClock,
    log: silentLog,
    onChange: () => changes.give(),
  });
  const running = manager.run(stop.signal);
  return {
    manager,
    until: async (allocatable: number) => {
      while (manager.counts().get(widgets)?.allocatable !== allocatable) await changes.taken();
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
    },
  };
}

test("a device plugin registers, and its devices are counted and allocated once", async (t) => {
  const dir = await aDirectory(t);
  await using node = await start(dir);
  const { manager } = node;
  await using plugin = await startDevicePlugin(dir, [...healthy("a", "b"), { id: "c", health: "Unhealthy" }]);
  await node.until(2);

  assert.deepEqual(manager.counts().get(widgets), { capacity: 3, allocatable: 2 });
  const [one] = await manager.allocate(ask("p1", 1));
  assert.deepEqual(one?.envs, { WIDGETS: "a" });
  assert.deepEqual(one.devices, [{ containerPath: "/dev/widget", hostPath: "/dev/null", permissions: "rw" }]);
  assert.deepEqual(await manager.allocate(ask("p1", 1)), [one]);
  await assert.rejects(manager.allocate(ask("p2", 2)), {
    message: `requested number of devices unavailable for ${widgets}. Requested: 2, Available: 1`,
  });
  await manager.preStart("p1", "main");
  assert.deepEqual(plugin.preStarts, [["a"]]);

  plugin.offer(healthy("a", "b", "c"));
  await node.until(3);
  assert.deepEqual(idsOf(await manager.allocate(ask("p2", 2))), ["b,c"]);
  await manager.release("p1");
  assert.deepEqual(idsOf(await manager.allocate(ask("p3", 1))), ["a"]);
});

test("allocations survive a restart, and a missing plugin has no devices to allocate", async (t) => {
  const dir = await aDirectory(t);
  {
    await using node = await start(dir);
    await using _plugin = await startDevicePlugin(dir, healthy("a", "b"));
    await node.until(2);
    await node.manager.allocate(ask("p1", 1));
  }
  await using node = await start(dir);
  const { manager } = node;

  assert.deepEqual(manager.counts().get(widgets), { capacity: 0, allocatable: 0 });
  assert.deepEqual(idsOf(await manager.allocate(ask("p1", 1))), ["a"]);
  const message = `no healthy devices present; cannot allocate unhealthy devices ${widgets}`;
  await assert.rejects(manager.allocate(ask("p2", 1)), { message });
  const plugin = await startDevicePlugin(dir, healthy("a", "b"));
  await node.until(2);
  await assert.rejects(manager.allocate(ask("p2", 2)), /Requested: 2, Available: 1/);
  await manager.keepOnly(new Set(["p2"]));
  assert.deepEqual(idsOf(await manager.allocate(ask("p2", 2))), ["a,b"]);

  await plugin[Symbol.asyncDispose]();
  await node.until(0);
  assert.deepEqual(manager.counts().get(widgets), { capacity: 2, allocatable: 0 });
});

test("containers reuse the devices of their pod's init containers, each its own", async (t) => {
  const dir = await aDirectory(t);
  await using node = await start(dir);
  const { manager } = node;
  await using _plugin = await startDevicePlugin(dir, healthy("a", "b", "c"));
  await node.until(3);

  const init = await manager.allocate(ask("p1", 2, { container: "init", isPassedOn: true }));
  const first = await manager.allocate(ask("p1", 1, { container: "first" }));
  const second = await manager.allocate(ask("p1", 1, { container: "second" }));
  const other = await manager.allocate(ask("p2", 1));

  assert.deepEqual([init, first, second, other].flatMap(idsOf), ["a,b", "a", "b", "c"]);
});

test("a refused plugin gets the reason, and a broken checkpoint is started anew", async (t) => {
  const dir = await aDirectory(t);
  await writeFile(`${dir}/checkpoint.json`, "{");
  await using _node = await start(dir);
  await using _plugin = await startDevicePlugin(dir, []);
  using client = new GrpcClient({ address: `unix://${dir}/kubelet.sock` });
  const register = (version: string, resourceName: string) =>
    client.call(rpc(registerPath, RegisterRequest, Empty), { version, endpoint: "widget.sock", resourceName });

  await assert.rejects(register("v1", widgets), {
    message: 'requested API version "v1" is not supported by kubelet. Supported version is ["v1beta1"]',
  });
  await assert.rejects(register("v1beta1", "widget"), { message: 'the ResourceName "widget" is invalid' });
});
