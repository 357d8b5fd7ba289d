import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { ServiceAccount } from "#api/core/service-account.ts";
import { badRequest, notFound } from "#api/status.ts";
import { type Client } from "#client/client.ts";
import { type AssembledServer, assembleApiServer } from "#cluster/api-server.ts";
import { bootstrapCluster } from "#cluster/bootstrap.ts";
import { labels } from "#kubelet/config/runtime-labels.ts";
import { startContainerd, stopContainerd } from "#kubelet/containerd/containerd.ts";
import { nodeId } from "#kubelet/containerd/paths.ts";
import { buildBusyboxImage } from "#kubelet/images/busybox-image.ts";
import { ensurePauseImage, importImage, pauseImageName } from "#kubelet/images/import.ts";
import { readLog } from "#kubelet/logs/read-log.ts";
import { writeCniConfig } from "#kubelet/network/cni.ts";
import { ContainerdRuntime } from "#kubelet/runtime/containerd.ts";
import { type ContainerConfig, type SandboxConfig } from "#kubelet/runtime/runtime.ts";
import { apiServerName, nodeAccess } from "#kubelet/server/access.ts";
import { type KubeletHandle, noCounts } from "#kubelet/server/handle.ts";
import { startKubeletServer } from "#kubelet/server/server.ts";
import { collectStats } from "#kubelet/server/stats.ts";
import { systemClock } from "#lib/async/clock.ts";
import { neverAborted } from "#lib/async/tasks.ts";
import { signingKey } from "#lib/crypto/jwt.ts";
import { systemRandom } from "#lib/data/random.ts";
import { silentLog } from "#lib/process/log.ts";
import { runCommand } from "#lib/process/processes.ts";
import { listen } from "#server/http/serve.ts";
import {
  adminKubeconfig,
  issueClientCertificate,
  issueServingCertificate,
  loadOrCreatePki,
  type Pki,
  peerOf,
} from "#server/http/tls.ts";
import { streamEndpoints } from "#server/streams/all.ts";
import { openMemoryStore } from "#store/memory.ts";

const image = "orlop.test/busybox:1";
const base = { clock: systemClock, log: silentLog };

/** An API server and one real node, without the components between them: the test itself decides what runs on the node. */
export interface StreamNode extends AsyncDisposable {
  readonly url: string;
  readonly nodePort: number;
  readonly kubeconfig: string;
  readonly home: string;
  readonly pki: Pki;
  readonly client: Client;
  readonly api: AssembledServer;
  /** Starts a container in a pod on the node, and creates the pod in the API. */
  startPod(name: string, options: PodOptions): Promise<{ readonly ip: string }>;
}

export interface PodOptions {
  readonly command: readonly string[];
  readonly tty?: boolean;
  readonly stdin?: boolean;
}

export async function startStreamNode(): Promise<StreamNode> {
  const home = await mkdtemp(`${tmpdir()}/orlop-streams-`);
  const dataDir = path.join(home, "node");
  await mkdir(dataDir);
  const store = openMemoryStore(base);
  const pki = await loadOrCreatePki(path.join(home, "pki"), base);
  const towardsNodes = issueClientCertificate(pki, systemClock, { commonName: apiServerName });
  const ca = pki.authority.certificate;
  const node = { key: towardsNodes.key, cert: towardsNodes.certificate, ca };
  const api = await assembleApiServer({
    ...base,
    store,
    random: systemRandom,
    signingKey: signingKey(pki.serviceAccountKey),
    serverAddress: "127.0.0.1:0",
    subresources: (deps) => streamEndpoints({ ...deps, ...base, node: () => node }),
  });
  const client = api.loopback;
  await bootstrapCluster(client);
  await client.create(ServiceAccount, { metadata: { name: "default", namespace: "default" } });
  const serve = (request: Parameters<typeof api.server.serve>[0]) => api.server.serve(request);
  const { key, certificate: cert } = pki.serving;
  const listening = await listen(serve, {
    host: "127.0.0.1",
    port: 0,
    key,
    cert,
    ca,
    ...base,
    peerOf,
  });
  const url = `https://127.0.0.1:${listening.port}`;
  const kubeconfig = path.join(home, "kubeconfig");
  await writeFile(kubeconfig, adminKubeconfig(pki, url));

  const { handle, startPod, stop } = await startRuntime(dataDir, client);
  const serving = issueServingCertificate(pki, systemClock, { subject: { commonName: "system:node:one" }, hosts: [] });
  const kubelet = await startKubeletServer({
    ...base,
    port: 0,
    key: serving.key,
    cert: serving.certificate,
    clientCa: ca,
    handle,
    access: nodeAccess("one", systemClock, client),
  });
  await announceNode(client, kubelet.port);
  return {
    url,
    nodePort: kubelet.port,
    kubeconfig,
    home,
    pki,
    client,
    api,
    startPod,
    async [Symbol.asyncDispose]() {
      await kubelet[Symbol.asyncDispose]();
      await listening[Symbol.asyncDispose]();
      await api[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
      await stop();
      await rm(home, { recursive: true });
    },
  };
}

async function announceNode(client: Client, port: number): Promise<void> {
  const node = await client.create(Node, { metadata: { name: "one" } });
  await client.updateStatus(Node, {
    ...node,
    status: {
      addresses: [{ type: "InternalIP", address: "127.0.0.1" }],
      daemonEndpoints: { kubeletEndpoint: { Port: port } },
    },
  });
}

interface Running {
  readonly sandboxId: string;
  readonly containerId: string;
  readonly logFile: string;
}

async function startRuntime(dataDir: string, client: Client) {
  const stopping = new AbortController();
  const containerd = await startContainerd({ dataDir, sandboxImage: pauseImageName, ...base, signal: stopping.signal });
  const { paths, host, address } = containerd;
  const runtime = new ContainerdRuntime({ address, ...base });
  const id = nodeId(dataDir);
  const bridge = `ot-${id}`;
  const podCidrs = [`10.89.${Number.parseInt(id.slice(0, 2), 16)}.0/24`];
  const how = { mtu: 0, dataDir: paths.cniDataDir };
  await writeCniConfig(paths.cniConfDir, { name: bridge, bridge, podCidrs, ...how });
  const images = { socket: paths.socket, snapshotter: host.snapshotter, runtime, clock: systemClock };
  await Promise.all([ensurePauseImage(images), importImage(images, await buildBusyboxImage(image))]);
  while (!(await runtime.conditions()).every(({ status }) => status)) await systemClock.sleep(20);

  const pods = new Map<string, Running>();
  const startPod = async (name: string, options: PodOptions) => {
    const sandbox = aSandbox({ dataDir, cgroupRoot: paths.cgroupRoot, name });
    await mkdir(sandbox.logDirectory, { recursive: true });
    const sandboxId = await runtime.runSandbox(sandbox);
    const config = aContainer(name, options);
    const containerId = await runtime.createContainer({ sandboxId, config, sandbox });
    await runtime.startContainer(containerId);
    const ip = (await runtime.sandboxStatus(sandboxId))?.ips[0] ?? "";
    pods.set(`default/${name}`, { sandboxId, containerId, logFile: `${sandbox.logDirectory}/${config.logPath}` });
    await announcePod(client, { name, ip, options });
    return { ip };
  };
  const stop = async () => {
    stopping.abort();
    runtime.close();
    await stopContainerd({ dataDir, ...base, removeData: true });
    await runCommand("ip", ["link", "delete", bridge]);
  };
  return { handle: handleOf({ runtime, pods, dataDir, cgroupRoot: paths.cgroupRoot }), startPod, stop };
}

interface HandleDeps {
  readonly runtime: ContainerdRuntime;
  readonly pods: ReadonlyMap<string, Running>;
  readonly dataDir: string;
  readonly cgroupRoot: string;
}

function handleOf({ runtime, pods, dataDir, cgroupRoot }: HandleDeps): KubeletHandle {
  const find = ({ namespace, name }: { namespace: string; name: string }): Running => {
    const running = pods.get(`${namespace}/${name}`);
    if (!running) throw notFound(Pod, name);
    return running;
  };
  const stats = { nodeName: "one", startedMs: 0, runtime, cgroupRoot, dataDir, clock: systemClock, pods: () => [] };
  return {
    nodeName: "one",
    logs(ref, container, { previous, follow, ...options }) {
      if (previous) {
        throw badRequest(
          `previous terminated container ${JSON.stringify(container)} in pod ${JSON.stringify(ref.name)} not found`,
        );
      }
      return readLog(find(ref).logFile, { ...options, ...(follow ? { followUntil: neverAborted } : {}) });
    },
    execUrl: async (ref, _, request, signal) => await runtime.execUrl(find(ref).containerId, request, signal),
    attachUrl: async (ref, _, request, signal) => await runtime.attachUrl(find(ref).containerId, request, signal),
    portForwardUrl: async (ref, ports, signal) => await runtime.portForwardUrl(find(ref).sandboxId, ports, signal),
    run: async (ref, _, command) => await runtime.execSync(find(ref).containerId, command),
    pods: () => [],
    counts: () => noCounts,
    checkpoint: () => Promise.reject(new Error("no criu")),
    stats: (signal) => collectStats(stats, signal),
  };
}

async function announcePod(
  client: Client,
  { name, ip, options }: { name: string; ip: string; options: PodOptions },
): Promise<void> {
  const { tty = false, stdin = false } = options;
  const pod = await client.create(Pod, {
    metadata: { name, namespace: "default" },
    spec: { nodeName: "one", containers: [{ name: "main", image, tty, stdin, ports: [{ containerPort: 8080 }] }] },
  });
  const state = { running: { startedAt: new Date().toISOString() } };
  const container = { name: "main", image, imageID: "", ready: true, restartCount: 0, state };
  await client.updateStatus(Pod, {
    ...pod,
    status: { ...pod.status, phase: "Running", podIP: ip, podIPs: [{ ip }], containerStatuses: [container] },
  });
  assert(ip);
}

function aSandbox(about: { dataDir: string; cgroupRoot: string; name: string }): SandboxConfig {
  const { dataDir, cgroupRoot, name } = about;
  return {
    pod: { name, namespace: "default", uid: `uid-${name}` },
    attempt: 0,
    hostname: name,
    logDirectory: `${dataDir}/logs/${name}`,
    ports: [],
    labels: {},
    annotations: {},
    cgroupParent: `${cgroupRoot}/kubepods/besteffort/poduid-${name}`,
    sysctls: {},
    security: { namespaces: { network: "pod", pid: "container", ipc: "pod" } },
  };
}

const aContainer = (pod: string, { command, tty = false, stdin = false }: PodOptions): ContainerConfig => ({
  name: "main",
  attempt: 0,
  image,
  imageName: image,
  command,
  args: [],
  workingDir: "",
  env: [],
  mounts: [],
  devices: [],
  labels: { [labels.podUid]: `uid-${pod}`, [labels.containerName]: "main" },
  annotations: {},
  logPath: "0.log",
  stdin,
  stdinOnce: false,
  tty,
  resources: {},
  security: { namespaces: { network: "pod", pid: "container", ipc: "pod" } },
});
