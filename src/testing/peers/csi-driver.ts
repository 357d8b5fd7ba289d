import { existsSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import * as grpc from "@grpc/grpc-js";
import { isMountPoint, mount, unmountUnder } from "#lib/fs/mounts.ts";
import { field, type Message, message, nested, repeated, stringMap } from "#lib/proto/grpc/message.ts";

/** A CSI driver on grpc-js. Its volumes are directories, which it mounts with bind mounts. */
export interface CsiPeer extends AsyncDisposable {
  /** The calls so far, without those that ask for its identity. */
  readonly calls: readonly string[];
  /** The last request to publish a volume. */
  readonly lastPublish: { readonly context: Record<string, string>; readonly published: Record<string, string> };
}

export interface CsiPeerOptions {
  /** The directory of its sockets and volumes. It must be short, as paths of sockets are. */
  readonly home: string;
  /** The directory in which the kubelet looks for plugins. */
  readonly registry: string;
  readonly name: string;
  readonly topology?: Readonly<Record<string, string>>;
  readonly maxVolumes?: number;
  /** The device that volumes are, if they are not directories. */
  readonly device?: string;
}

const Staging = message({ volumeId: field(1, "string"), path: field(3, "string") });
const Publish = message({
  volumeId: field(1, "string"),
  published: stringMap(2),
  staging: field(3, "string"),
  target: field(4, "string"),
  context: stringMap(8),
});
const Undo = message({ volumeId: field(1, "string"), path: field(2, "string") });
const Text = message({ first: field(1, "string"), second: field(2, "string"), third: field(3, "string") });
const NodeInfo = message({
  nodeId: field(1, "string"),
  maxVolumes: field(2, "int64"),
  topology: nested(3, message({ segments: stringMap(1) })),
});
const Capabilities = message({
  capabilities: repeated(1, message({ rpc: nested(1, message({ type: field(1, "int32") })) })),
});
const Empty = message({});

type Handler = (request: Buffer) => Promise<Uint8Array> | Uint8Array;
type Handlers = Readonly<Record<string, Handler>>;

const handler =
  <Out>(request: Message<Out, never>, work: (request: Out) => Promise<void>): Handler =>
  async (bytes) => {
    await work(request.decode(bytes));
    return Empty.encode({});
  };

export async function startCsiDriver(options: CsiPeerOptions): Promise<CsiPeer> {
  const { home, registry, name, topology = {}, maxVolumes = 0, device } = options;
  const calls: string[] = [];
  let lastPublish = { context: {}, published: {} };
  const bind = async (source: string, target: string) => {
    if (existsSync(target) && (await isMountPoint(target))) return;
    await Promise.all([source, target].map((dir) => mkdir(dir, { recursive: true })));
    await mount({ source, target });
  };
  const undo = async ({ path }: { path: string }) => {
    if (existsSync(path)) await unmountUnder([path], "strict");
    await rm(path, { recursive: true, force: true });
  };
  const driver = await serve(`${home}/csi.sock`, calls, {
    "/csi.v1.Node/NodeGetInfo": () =>
      NodeInfo.encode({ nodeId: "peer-1", maxVolumes, topology: { segments: topology } }),
    "/csi.v1.Node/NodeGetCapabilities": () =>
      Capabilities.encode({ capabilities: [{ rpc: { type: 1 } }, { rpc: { type: 3 } }] }),
    "/csi.v1.Node/NodeStageVolume": handler(Staging, ({ volumeId, path }) => bind(`${home}/data/${volumeId}`, path)),
    "/csi.v1.Node/NodePublishVolume": handler(Publish, async ({ volumeId, published, staging, target, context }) => {
      lastPublish = { context, published };
      if (device === undefined) return await bind(staging || `${home}/data/${volumeId}`, target);
      await writeFile(target, "");
      await mount({ source: device, target });
    }),
    "/csi.v1.Node/NodeExpandVolume": handler(Undo, async () => {}),
    "/csi.v1.Node/NodeUnpublishVolume": handler(Undo, undo),
    "/csi.v1.Node/NodeUnstageVolume": handler(Undo, undo),
  });
  const registration = await serve(`${registry}/${name}.sock`, [], {
    "/pluginregistration.Registration/GetInfo": () =>
      Text.encode({ first: "CSIPlugin", second: name, third: `${home}/csi.sock` }),
    "/pluginregistration.Registration/NotifyRegistrationStatus": () => Empty.encode({}),
  });
  return {
    calls,
    get lastPublish() {
      return lastPublish;
    },
    async [Symbol.asyncDispose]() {
      for (const server of [registration, driver]) server.forceShutdown();
      await rm(`${registry}/${name}.sock`, { force: true });
    },
  };
}

const same = (bytes: Buffer): Buffer => bytes;
const definition = (path: string) => ({
  path,
  requestStream: false,
  responseStream: false,
  requestSerialize: same,
  requestDeserialize: same,
  responseSerialize: same,
  responseDeserialize: same,
});

async function serve(socket: string, calls: string[], handlers: Handlers): Promise<grpc.Server> {
  const server = new grpc.Server();
  const entries = Object.entries(handlers).map(([path, handle]) => ({
    path,
    name: path.split("/").pop() ?? "",
    handle,
  }));
  const answer =
    ({ name, handle }: { name: string; handle: Handler }) =>
    (call: grpc.ServerUnaryCall<Buffer, Buffer>, reply: grpc.sendUnaryData<Buffer>): void => {
      if (!name.includes("Get")) calls.push(name);
      Promise.resolve(handle(call.request)).then(
        (bytes) => reply(null, Buffer.from(bytes)),
        (error: unknown) => reply({ code: grpc.status.INTERNAL, details: String(error) }),
      );
    };
  server.addService(
    Object.fromEntries(entries.map(({ path, name }) => [name, definition(path)])),
    Object.fromEntries(entries.map((entry) => [entry.name, answer(entry)])),
  );
  await new Promise<void>((resolve, reject) => {
    server.bindAsync(`unix:${socket}`, grpc.ServerCredentials.createInsecure(), (error) =>
      error ? reject(error) : resolve(),
    );
  });
  return server;
}
