import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { ConfigMap } from "#api/core/config-map.ts";
import { Pod } from "#api/core/pod.ts";
import { ServiceAccount } from "#api/core/service-account.ts";
import type { UserInfo } from "#api/exchange.ts";
import type { InputOf } from "#api/resource.ts";
import { ignoreNotFound, notFound } from "#api/status.ts";
import type { Client } from "#client/client.ts";
import { type AssembledServer, assembleApiServer } from "#cluster/api-server.ts";
import { bootstrapCluster } from "#cluster/bootstrap.ts";
import { type Containerd, startContainerd, stopContainerd } from "#kubelet/containerd/containerd.ts";
import { nodeId } from "#kubelet/containerd/paths.ts";
import { linuxEvictionHost } from "#kubelet/eviction/linux-eviction-host.ts";
import type { PodHost } from "#kubelet/host/host.ts";
import { buildBusyboxImage } from "#kubelet/images/busybox-image.ts";
import { ensurePauseImage, importImage, pauseImageName } from "#kubelet/images/import.ts";
import { Kubelet } from "#kubelet/kubelet.ts";
import { openLinuxHost } from "#kubelet/linux-host.ts";
import { removePodNetwork, writeCniConfig } from "#kubelet/network/cni.ts";
import { type Machine, podsMemoryBytes, readMachine } from "#kubelet/node/machine.ts";
import { type NodePlugins, openNodePlugins } from "#kubelet/plugins/node-plugins.ts";
import { type Cgroups, openCgroups } from "#kubelet/resources/cgroups.ts";
import { ContainerdRuntime } from "#kubelet/runtime/containerd.ts";
import { collectStats } from "#kubelet/server/stats.ts";
import type { KubeletSettings } from "#kubelet/settings.ts";
import { ctrImageMounts } from "#kubelet/volumes/image-volume.ts";
import { systemClock } from "#lib/async/clock.ts";
import { orAborted } from "#lib/async/tasks.ts";
import { signingKey } from "#lib/crypto/jwt.ts";
import { createKey, keyToPem } from "#lib/crypto/x509.ts";
import { seededRandom } from "#lib/data/random.ts";
import { unmountUnder } from "#lib/fs/mounts.ts";
import { type Log, silentLog } from "#lib/process/log.ts";
import { openMemoryStore } from "#store/memory.ts";

/** An API server and one real node on this machine, with all files in one temporary directory. Needs root. */
export interface RealNode extends AsyncDisposable {
  readonly client: Client;
  readonly api: AssembledServer;
  readonly dataDir: string;
  readonly runtime: ContainerdRuntime;
  readonly containerd: Containerd;
  readonly kubelet: Kubelet;
  /** Stops the kubelet and starts another; pods keep running meanwhile. Without settings, it never evicts pods. */
  restartKubelet(settings?: KubeletSettings): Promise<void>;
  /** The pod, once the condition holds; rejects after the limit. */
  podWhen(name: string, condition: (pod: Pod) => boolean, limitMs?: number): Promise<Pod>;
  podGone(name: string, limitMs?: number): Promise<void>;
  /** Creates a pod in the namespace default on this node. */
  createPod(name: string, spec: InputOf<Pod>["spec"]): Promise<Pod>;
  /** Deletes the pod and waits until it is gone. */
  removePod(name: string): Promise<void>;
  /** The output of a command in the container `main` of the pod. */
  runIn(name: string, ...command: string[]): Promise<string>;
}

export const busyboxImage = "orlop.test/busybox:1";
export const realNodeName = "node-real";
/** A script that ends immediately on SIGTERM. */
export const waitForEnd = "trap 'exit 0' TERM; while :; do sleep 1 & wait $!; done";
/** The container `main`, which runs a script. */
export const shellContainer = (script: string, more: object = {}) => ({
  name: "main",
  image: busyboxImage,
  command: ["sh", "-c", script],
  ...more,
});
const administrator: UserInfo = { name: "kubernetes-admin", groups: ["system:masters", "system:authenticated"] };

export async function startRealNode({ log = silentLog }: { log?: Log } = {}): Promise<RealNode> {
  const dataDir = await mkdtemp(`${tmpdir()}/orlop-node-`);
  const base = { clock: systemClock, log };
  const stop = new AbortController();
  const { store, api, client } = await startServer(log);
  const containerd = await startContainerd({ dataDir, sandboxImage: pauseImageName, ...base, signal: stop.signal });
  const { address, paths } = containerd;
  const runtime = new ContainerdRuntime({ address, oomNotes: paths.oomNotes, ...base });
  const bridge = `or-${nodeId(dataDir)}`;
  const devicesChanged = (): void => running.kubelet.resourcesChanged();
  const parts = await openNode({ containerd, dataDir, client: nodeClient(api), log, devicesChanged });
  await prepareNode({ containerd, runtime, bridge, dataDir });
  const start = (settings?: KubeletSettings) => startKubelet({ api, runtime, log, settings, ...parts });
  let running = start();
  return {
    client,
    api,
    dataDir,
    runtime,
    containerd,
    get kubelet() {
      return running.kubelet;
    },
    async restartKubelet(settings) {
      await running.stop();
      running = start(settings);
    },
    podWhen: (name, condition, limitMs = 120_000) => podWhen(api, name, { condition, limitMs }),
    ...podSteps(api, client, () => running.kubelet),
    async [Symbol.asyncDispose]() {
      await running.stop();
      stop.abort();
      runtime.close();
      await removeNode({ dataDir, bridge, log });
      await api[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    },
  };
}

/** The API server with the objects that every pod needs. */
async function startServer(log: Log) {
  const store = openMemoryStore({ clock: systemClock });
  const api = await assembleApiServer({
    store,
    clock: systemClock,
    log,
    random: seededRandom(1),
    signingKey: signingKey(keyToPem(createKey())),
    serverAddress: "127.0.0.1:6443",
  });
  const client = api.clientFor(administrator);
  await bootstrapCluster(client);
  await client.create(ServiceAccount, { metadata: { namespace: "default", name: "default" } });
  const root = { metadata: { namespace: "default", name: "kube-root-ca.crt" }, data: { "ca.crt": "none" } };
  await client.create(ConfigMap, root);
  return { store, api, client };
}

interface OpenNodeOptions {
  readonly containerd: Containerd;
  readonly dataDir: string;
  readonly client: Client;
  readonly log: Log;
  devicesChanged(): void;
}

/** The parts of a node that outlive a restart of its kubelet. */
async function openNode(options: OpenNodeOptions) {
  const { containerd, dataDir, client, log, devicesChanged } = options;
  const { paths, host: found } = containerd;
  const machine = await readMachine({ dataDir });
  const base = { dataDir: `${dataDir}/kubelet`, clock: systemClock, log };
  const plugins = await openNodePlugins({ ...base, client, nodeName: realNodeName, devicesChanged });
  const groups = { cgroups: openCgroups(found.cgroups, systemClock), cgroupRoot: paths.cgroupRoot };
  const host = await openLinuxHost({
    ...base,
    ...groups,
    clusterDomain: "cluster.local",
    allocatable: machine.allocatable,
    imageMounts: ctrImageMounts({ socket: paths.socket, snapshotter: found.snapshotter }),
    furtherVolumes: plugins.volumes,
  });
  return { machine, plugins, host, groups, kubeletDir: base.dataDir };
}

async function removeNode({ dataDir, bridge, log }: { dataDir: string; bridge: string; log: Log }): Promise<void> {
  await stopContainerd({ dataDir, clock: systemClock, log, removeData: true });
  await removePodNetwork(bridge);
  await unmountUnder([dataDir], "strict");
  await rm(dataDir, { recursive: true });
}

type PodSteps = Pick<RealNode, "podGone" | "createPod" | "removePod" | "runIn">;

/** Helpers for pods in the namespace default. */
function podSteps(api: AssembledServer, client: Client, kubelet: () => Kubelet): PodSteps {
  const podGone = async (name: string, limitMs = 120_000) => {
    await podWhen(api, name, { condition: () => false, limitMs }).catch(ignoreNotFound);
  };
  return {
    podGone,
    createPod: (name, spec) =>
      client.create(Pod, {
        metadata: { namespace: "default", name },
        // A shell that gets SIGTERM before it has set its trap ignores it, so it must be killed soon.
        spec: { nodeName: realNodeName, terminationGracePeriodSeconds: 5, ...spec },
      }),
    async removePod(name) {
      await client.delete(Pod, { namespace: "default", name });
      await podGone(name);
    },
    async runIn(name, ...command) {
      const { stdout } = await kubelet().handle.run({ namespace: "default", name }, "main", command);
      return Buffer.from(stdout).toString();
    },
  };
}

interface NodeParts {
  readonly containerd: Containerd;
  readonly runtime: ContainerdRuntime;
  readonly bridge: string;
  readonly dataDir: string;
}

async function prepareNode({ containerd, runtime, bridge, dataDir }: NodeParts): Promise<void> {
  const { paths, host } = containerd;
  const podCidrs = [`10.89.${Number.parseInt(nodeId(dataDir).slice(0, 2), 16)}.0/24`];
  const how = { mtu: 0, dataDir: paths.cniDataDir };
  await writeCniConfig(paths.cniConfDir, { name: bridge, bridge, podCidrs, ...how });
  const deps = { socket: paths.socket, snapshotter: host.snapshotter, runtime, clock: systemClock };
  await Promise.all([ensurePauseImage(deps), importImage(deps, await buildBusyboxImage(busyboxImage))]);
}

interface KubeletParts {
  readonly api: AssembledServer;
  readonly runtime: ContainerdRuntime;
  readonly machine: Machine;
  readonly host: PodHost;
  readonly plugins: NodePlugins;
  readonly groups: { readonly cgroups: Cgroups; readonly cgroupRoot: string };
  readonly kubeletDir: string;
  readonly settings: KubeletSettings | undefined;
  readonly log: Log;
}

const nodeClient = (api: AssembledServer): Client =>
  api.clientFor({ name: `system:node:${realNodeName}`, groups: ["system:nodes", "system:authenticated"] });

function startKubelet(parts: KubeletParts) {
  const { api, runtime, machine, host, plugins, settings, log } = parts;
  const stop = new AbortController();
  const { informers, recorder } = api;
  const base = { client: nodeClient(api), informers, recorder, clock: systemClock, log };
  const { devices } = plugins;
  const pressure = settings ? { settings, evictionHost: evictionHost(parts, () => kubelet.handle.pods()) } : {};
  const more = { nodeName: realNodeName, runtime, machine, host, devices };
  const kubelet: Kubelet = new Kubelet({ ...base, ...more, ...pressure });
  const ended = Promise.all([kubelet.run(stop.signal), plugins.run(stop.signal)]);
  return {
    kubelet,
    async stop() {
      stop.abort(new Error("the node ends"));
      await ended;
    },
  };
}

function evictionHost(
  { runtime, machine, host, groups, kubeletDir: dataDir }: KubeletParts,
  pods: () => readonly Pod[],
) {
  const measured = { dataDir, clock: systemClock, runtime };
  return linuxEvictionHost({
    ...measured,
    host,
    cgroups: groups.cgroups,
    podsGroup: `${groups.cgroupRoot}/kubepods`,
    podsMemoryBytes: podsMemoryBytes(machine, {}),
    stats: (signal) => collectStats({ ...measured, ...groups, nodeName: realNodeName, startedMs: 0, pods }, signal),
    removeUnusedImages: async () => {},
  });
}

interface PodWait {
  readonly condition: (pod: Pod) => boolean;
  readonly limitMs: number;
}

/** Waits with a watch; deletion of the pod ends the wait. */
async function podWhen({ informers }: AssembledServer, name: string, { condition, limitMs }: PodWait): Promise<Pod> {
  const pods = informers.of(Pod);
  const found = Promise.withResolvers<Pod>();
  let last: Pod | undefined;
  const unsubscribe = pods.subscribe((change) => {
    if (change.object.metadata.name !== name) return;
    last = change.object;
    if (change.type === "delete") found.reject(gone(name));
    else if (condition(change.object)) found.resolve(change.object);
  });
  const late = new AbortController();
  const cancel = systemClock.after(limitMs, () => {
    late.abort(new Error(`pod ${name} is not as expected: ${JSON.stringify(last?.status, undefined, 1)}`));
  });
  try {
    if (!pods.list().some(({ metadata }) => metadata.name === name)) throw gone(name);
    return await orAborted(found.promise, late.signal);
  } finally {
    cancel();
    unsubscribe();
  }
}

function gone(name: string) {
  return notFound(Pod, name);
}
