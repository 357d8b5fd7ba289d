import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { test } from "node:test";
import type { Pod } from "#api/core/pod.ts";
import type { Secret } from "#api/core/secret.ts";
import type { Volume } from "#api/core/volume/volume.ts";
import { CSIDriver } from "#api/storage/csi-driver.ts";
import { watchPlugins } from "#kubelet/plugins/registration.ts";
import { writeBudgets } from "#kubelet/volumes/written/write-budget.ts";
import { systemClock } from "#lib/async/clock.ts";
import { isMountPoint, mount, unmountUnder } from "#lib/fs/mounts.ts";
import { silentLog } from "#lib/process/log.ts";
import { field, message, nested, repeated, stringMap } from "#lib/proto/grpc/message.ts";
import { type GrpcMethod, serveGrpc } from "#lib/proto/grpc/server.ts";
import { build } from "#testing/build.ts";
import type { ClaimedVolume, Growth } from "../plugin.ts";
import {
  createVolumePlugins,
  type PodContext,
  refreshVolume,
  removePodDirs,
  setUpVolume,
  unmountVolumes,
} from "../volumes.ts";
import { csiPersistent, csiVolume } from "./csi.ts";
import { CsiDrivers } from "./csi-drivers.ts";

const Request = message({ volumeId: field(1, "string"), second: field(2, "string") });
const Publish = message({
  stagingTargetPath: field(3, "string"),
  targetPath: field(4, "string"),
  secrets: stringMap(7),
  volumeContext: stringMap(8),
});
const Stage = message({ stagingTargetPath: field(3, "string") });
const Text = message({ first: field(1, "string"), second: field(2, "string"), third: field(3, "string") });
const Capabilities = message({
  capabilities: repeated(1, message({ rpc: nested(1, message({ type: field(1, "int32") })) })),
});
const nothing = new Uint8Array(0);

const methods = (handlers: Record<string, (request: Uint8Array) => Promise<Uint8Array> | Uint8Array>): GrpcMethod[] =>
  Object.entries(handlers).map(([path, handle]) => ({
    path,
    async *answer(request) {
      yield await handle(request);
    },
  }));

/** A driver that stores its volumes as directories, and mounts them with bind mounts. */
function directoryDriver(home: string, calls: string[], failing: { leavesMounts: boolean }) {
  const note = (name: string, handler: (request: Uint8Array) => Promise<unknown>) => ({
    [`/csi.v1.Node/${name}`]: async (request: Uint8Array) => {
      calls.push(name);
      await handler(request);
      return nothing;
    },
  });
  const bind = async (source: string, target: string) => {
    if (existsSync(target) && (await isMountPoint(target))) return;
    await Promise.all([source, target].map((dir) => mkdir(dir, { recursive: true })));
    await mount({ source, target });
  };
  return {
    "/csi.v1.Node/NodeGetInfo": () => Text.encode({ first: "node-1" }),
    "/csi.v1.Node/NodeGetCapabilities": () =>
      Capabilities.encode({ capabilities: [{ rpc: { type: 1 } }, { rpc: { type: 3 } }] }),
    ...note("NodeStageVolume", (request) => bind(`${home}/data`, Stage.decode(request).stagingTargetPath)),
    ...note("NodePublishVolume", async (request) => {
      const { stagingTargetPath, targetPath, secrets, volumeContext } = Publish.decode(request);
      await writeFile(`${home}/last.json`, JSON.stringify({ secrets, volumeContext }));
      await bind(stagingTargetPath || `${home}/data`, targetPath);
    }),
    ...note("NodeExpandVolume", async () => {}),
    ...note("NodeUnpublishVolume", (request) => unmountUnder([Request.decode(request).second], "strict")),
    ...note("NodeUnstageVolume", async (request) => {
      if (!failing.leavesMounts) await unmountUnder([Request.decode(request).second], "strict");
    }),
  };
}

test("a CSI driver registers, and its volumes are staged once, published to pods, and undone", async (t) => {
  const dir = await mkdtemp(`${tmpdir()}/orlop-csi-`);
  t.after(() => removePodDirs([dir]));
  await mkdir(`${dir}/registry`);
  const calls: string[] = [];
  const failing = { leavesMounts: false };
  await using _driver = await serveGrpc(`${dir}/csi.sock`, methods(directoryDriver(dir, calls, failing)));
  const registered = Promise.withResolvers<void>();
  await using _registration = await serveGrpc(
    `${dir}/registry/driver.sock`,
    methods({
      "/pluginregistration.Registration/GetInfo": () =>
        Text.encode({ first: "CSIPlugin", second: "dirs.example.org", third: `${dir}/csi.sock` }),
      "/pluginregistration.Registration/NotifyRegistrationStatus": () => {
        registered.resolve();
        return nothing;
      },
    }),
  );
  const stop = new AbortController();
  using drivers = new CsiDrivers(systemClock);
  const watching = watchPlugins(
    {
      dir: `${dir}/registry`,
      clock: systemClock,
      log: silentLog,
      handlers: {
        CSIPlugin: {
          register: async ({ name, endpoint }) => void (await drivers.register(name, endpoint)),
          unregister: ({ name }) => drivers.unregister(name),
        },
      },
    },
    stop.signal,
  );
  await registered.promise;
  const { spec } = build(CSIDriver, {
    metadata: { name: "dirs.example.org" },
    spec: {
      attachRequired: false,
      podInfoOnMount: true,
      requiresRepublish: true,
      tokenRequests: [{ audience: "vault" }],
      volumeLifecycleModes: ["Persistent", "Ephemeral"],
    },
  });
  const inUse = { use: async () => ({}), release: async () => {} };
  const grown: string[] = [];
  const noteGrowth = async ({ name, size }: Growth) => void grown.push(`${name} ${size}`);
  const deps = { drivers, stagingDir: `${dir}/staging`, inUse, grown: noteGrowth, settings: async () => spec };
  const plugins = createVolumePlugins({ volumes: [csiVolume(deps)], persistent: [csiPersistent(deps)] });
  const csi = { driver: "dirs.example.org", volumeHandle: "h1", fsType: "ext4" };
  const claimed = { name: "pv-1", spec: { csi, accessModes: ["ReadWriteOnce"] } };
  const contexts = ["a", "b"].map((name) => aContext(dir, name, claimed));

  const volume = { name: "v", persistentVolumeClaim: { claimName: "c" } } as Volume;
  const paths = await Promise.all(contexts.map(async (context) => (await setUpVolume(plugins, context, volume)).path));
  assert.deepEqual(await Promise.all(contexts.map((context) => setUpVolume(plugins, context, volume))), [
    { path: paths[0], readOnly: false },
    { path: paths[1], readOnly: false },
  ]);

  for (const path of paths) await writeFile(`${path}/shared`, "x");
  assert.equal(await readFile(`${dir}/data/shared`, "utf8"), "x");
  assert.equal((await stat(`${paths[0]}`)).gid, 77);
  assert.equal(drivers.get("dirs.example.org").node.nodeId, "node-1");

  assert.deepEqual(calls.toSorted(), ["NodePublishVolume", "NodePublishVolume", "NodeStageVolume"]);

  // A volume that grows while a pod uses it.
  const growing = aContext(dir, "a", { ...claimed, growth: { namespace: "default", name: "c", size: "2Gi" } });
  for (const context of [...contexts, growing]) await refreshVolume(plugins, context, volume);
  assert.deepEqual([calls.at(-1), grown], ["NodeExpandVolume", ["c 2Gi"]]);

  calls.length = 0;
  await unmountVolumes(plugins, `${dir}/pods/a`);
  await unmountVolumes(plugins, `${dir}/pods/a`);
  assert.deepEqual(calls, ["NodeUnpublishVolume"]);
  failing.leavesMounts = true;
  await assert.rejects(unmountVolumes(plugins, `${dir}/pods/b`), /EBUSY/);
  assert(existsSync(`${dir}/data/shared`), "a volume that is still mounted keeps its content");
  failing.leavesMounts = false;
  calls.length = 0;
  await unmountVolumes(plugins, `${dir}/pods/b`);
  assert.deepEqual(calls, ["NodeUnpublishVolume", "NodeUnstageVolume"]);
  assert(existsSync(`${dir}/data/shared`));

  const [context] = contexts;
  assert(context);
  const nodePublishSecretRef = { name: "s" };
  const inline = { driver: "dirs.example.org", volumeAttributes: { size: "1" }, nodePublishSecretRef };
  await setUpVolume(plugins, context, { name: "own", csi: inline } as Volume);
  const last = JSON.parse(await readFile(`${dir}/last.json`, "utf8"));
  assert.deepEqual(last.secrets, { key: "value" });
  assert.equal(last.volumeContext["csi.storage.k8s.io/ephemeral"], "true");
  assert.equal(last.volumeContext["csi.storage.k8s.io/pod.name"], "a");
  assert.equal(last.volumeContext.size, "1");
  const tokens = JSON.parse(last.volumeContext["csi.storage.k8s.io/serviceAccount.tokens"]);
  assert.deepEqual(tokens, { vault: { token: "", expirationTimestamp: null } });
  calls.length = 0;
  await refreshVolume(plugins, context, { name: "own", csi: inline } as Volume);
  assert.deepEqual(calls, ["NodePublishVolume"]);
  const unknown = { name: "x", csi: { driver: "none" } } as Volume;
  await assert.rejects(setUpVolume(plugins, context, unknown), /driver name none not found/);
  await unmountVolumes(plugins, `${dir}/pods/a`);
  stop.abort();
  await watching;
});

function aContext(dir: string, name: string, claimed: ClaimedVolume): PodContext {
  const metadata = { name, namespace: "default", uid: name };
  return {
    pod: { metadata, spec: { containers: [], securityContext: { fsGroup: 77 } }, status: {} } as unknown as Pod,
    podDir: `${dir}/pods/${name}`,
    podMemoryDir: `${dir}/memory/${name}`,
    node: { allocatable: {} },
    budgets: writeBudgets({ memoryBytes: 2 ** 33, pods: 110 }),
    clock: systemClock,
    sources: {
      configMap: async () => undefined,
      secret: async () => ({ data: { key: Buffer.from("value").toString("base64") } }) as unknown as Secret,
      serviceAccountToken: async () => "",
      trustBundle: async () => undefined,
      claimedVolume: async () => claimed,
      podCertificate: async () => ({ key: "", chain: "" }),
    },
  };
}
