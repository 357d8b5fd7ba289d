import { existsSync } from "node:fs";
import {
  AllocateRequest,
  AllocateResponse,
  DeviceList,
  Empty,
  PluginOptions,
  PreStartRequest,
  RegisterRequest,
  registerPath,
} from "#kubelet/resources/device-calls.ts";
import { Channel } from "#lib/async/channel.ts";
import { systemClock } from "#lib/async/clock.ts";
import { orAborted } from "#lib/async/tasks.ts";
import { GrpcClient, rpc } from "#lib/proto/grpc/client.ts";
import { serveGrpc, serveStream, serveUnary } from "#lib/proto/grpc/server.ts";

export interface FakeDevice {
  readonly id: string;
  readonly health: "Healthy" | "Unhealthy";
}

/** A device plugin at a socket. Its devices are `/dev/null`, and a variable names those of a container. */
export interface DevicePlugin extends AsyncDisposable {
  /** Replaces the list of devices. */
  offer(devices: readonly FakeDevice[]): void;
  /** The device ids of each call. */
  readonly preStarts: string[][];
}

export const widgets = "example.org/widget";
const service = "/v1beta1.DevicePlugin";

/** Serves a plugin beside the node's socket, as soon as that exists, and registers it. */
export async function startDevicePlugin(dir: string, devices: readonly FakeDevice[]): Promise<DevicePlugin> {
  while (!existsSync(`${dir}/kubelet.sock`)) await systemClock.sleep(1);
  const lists = new Channel<{ devices: readonly FakeDevice[] }>();
  const preStarts: string[][] = [];
  const server = await serveGrpc(`${dir}/widget.sock`, [
    serveUnary(`${service}/GetDevicePluginOptions`, { request: Empty, response: PluginOptions }, () => ({
      preStartRequired: true,
    })),
    serveStream(`${service}/ListAndWatch`, { request: Empty, response: DeviceList }, async function* (_, signal) {
      yield { devices };
      const next = lists[Symbol.asyncIterator]();
      for (;;) {
        const item = await orAborted(next.next(), signal);
        if (item.done) return;
        yield item.value;
      }
    }),
    serveUnary(
      `${service}/Allocate`,
      { request: AllocateRequest, response: AllocateResponse },
      ({ containerRequests }) => ({ containerResponses: containerRequests.map(({ ids }) => given(ids)) }),
    ),
    serveUnary(`${service}/PreStartContainer`, { request: PreStartRequest, response: Empty }, ({ ids }) => {
      preStarts.push(ids);
      return {};
    }),
  ]);
  await register(dir);
  return {
    offer: (fresh) => lists.push({ devices: fresh }),
    preStarts,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

const given = (ids: readonly string[]) => ({
  envs: { WIDGETS: ids.join(",") },
  devices: [{ containerPath: "/dev/widget", hostPath: "/dev/null", permissions: "rw" }],
});

async function register(dir: string): Promise<void> {
  using client = new GrpcClient({ address: `unix://${dir}/kubelet.sock` });
  const request = { version: "v1beta1", endpoint: "widget.sock", resourceName: widgets };
  await client.call(rpc(registerPath, RegisterRequest, Empty), request);
}
