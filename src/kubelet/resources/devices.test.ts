import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { test } from "node:test";
import { Channel } from "#lib/channel.ts";
import { systemClock } from "#lib/clock.ts";
import { GrpcClient, rpc } from "#lib/grpc/client.ts";
import { field, message } from "#lib/grpc/message.ts";
import { serveGrpc, serveStream, serveUnary } from "#lib/grpc/server.ts";
import { silentLog } from "#lib/log.ts";
import { AllocateRequest, AllocateResponse, DeviceList, Empty, RegisterRequest, registerPath } from "./device-calls.ts";
import { DeviceManager } from "./devices.ts";

const resource = "example.org/widget";

test("a device plugin registers, its devices are counted, given out once, and kept over a restart", async (t) => {
  const dir = await mkdtemp(`${tmpdir()}/orlop-devices-`);
  t.after(() => rm(dir, { recursive: true }));
  const lists = new Channel<{ devices: { id: string; health: string }[] }>();
  const plugin = await servePlugin(dir, lists);
  const start = async () => {
    let changed = Promise.withResolvers<void>();
    const stop = new AbortController();
    const onChange = () => changed.resolve();
    const base = { clock: systemClock, log: silentLog, onChange };
    const manager = new DeviceManager({ dir, checkpoint: `${dir}/checkpoint`, ...base });
    const running = manager.run(stop.signal);
    const change = async () => {
      await changed.promise;
      changed = Promise.withResolvers();
    };
    const end = async () => {
      stop.abort();
      await running;
    };
    return { manager, change, end };
  };
  const first = await start();
  await register(dir);
  lists.push({ devices: ["a", "b", "c"].map((id) => ({ id, health: id === "c" ? "Unhealthy" : "Healthy" })) });
  await first.change();

  assert.deepEqual(first.manager.counts().get(resource), { capacity: 3, allocatable: 2 });
  const ask = (podUid: string, count: number) => ({
    podUid,
    container: "main",
    resources: { [resource]: count, cpu: 1 },
  });
  const [one] = await first.manager.allocate(ask("p1", 1));
  assert.deepEqual(one?.envs, { WIDGETS: "a" });
  assert.deepEqual(one.devices, [{ containerPath: "/dev/widget", hostPath: "/dev/null", permissions: "rw" }]);
  assert.deepEqual(await first.manager.allocate(ask("p1", 1)), [one]);
  await assert.rejects(
    first.manager.allocate(ask("p2", 2)),
    /unavailable for example\.org\/widget\. Requested: 2, Available: 1/,
  );
  await first.end();

  const second = await start();
  await register(dir);
  lists.push({ devices: [{ id: "a", health: "Healthy" }] });
  await second.change();
  assert.deepEqual(await second.manager.allocate(ask("p1", 1)), [one]);
  await assert.rejects(second.manager.allocate(ask("p2", 1)), /Available: 0/);
  await second.manager.keepOnly(new Set(["p2"]));
  assert.equal((await second.manager.allocate(ask("p2", 1))).length, 1);

  await plugin[Symbol.asyncDispose]();
  await second.change();
  assert.deepEqual(second.manager.counts().get(resource), { capacity: 1, allocatable: 0 });
  await second.end();
});

async function servePlugin(dir: string, lists: Channel<{ devices: { id: string; health: string }[] }>) {
  const service = "/v1beta1.DevicePlugin";
  return await serveGrpc(`${dir}/widget.sock`, [
    serveUnary(`${service}/GetDevicePluginOptions`, { request: Empty, response: Empty }, () => ({})),
    serveStream(`${service}/ListAndWatch`, { request: Empty, response: DeviceList }, async function* (_, signal) {
      const next = lists[Symbol.asyncIterator]();
      const left = new Promise<undefined>((resolve) => signal.addEventListener("abort", () => resolve(undefined)));
      for (;;) {
        const item = await Promise.race([next.next(), left]);
        if (!item || item.done) return;
        yield item.value;
      }
    }),
    serveUnary(
      `${service}/Allocate`,
      { request: AllocateRequest, response: AllocateResponse },
      ({ containerRequests }) => ({
        containerResponses: containerRequests.map(({ ids }) => ({
          envs: { WIDGETS: ids.join(",") },
          devices: [{ containerPath: "/dev/widget", hostPath: "/dev/null", permissions: "rw" }],
        })),
      }),
    ),
  ]);
}

/** As soon as the socket of the node is there. */
async function register(dir: string): Promise<void> {
  using client = new GrpcClient({ address: `unix://${dir}/kubelet.sock` });
  const call = rpc(registerPath, RegisterRequest, message({ none: field(1, "string") }));
  const request = { version: "v1beta1", endpoint: "widget.sock", resourceName: resource };
  for (let attempt = 0; ; attempt++) {
    try {
      await client.call(call, request);
      return;
    } catch (error) {
      if (attempt > 1000) throw error;
      await systemClock.sleep(5);
    }
  }
}
