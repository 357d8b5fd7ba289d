import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { after, before, suite, test } from "node:test";
import type { Volume } from "#api/core/volume/volume.ts";
import { type Containerd, startContainerd, stopContainerd } from "#kubelet/containerd/containerd.ts";
import { nodeId } from "#kubelet/containerd/paths.ts";
import { buildBusyboxImage } from "#kubelet/images/busybox-image.ts";
import { buildImageArchive } from "#kubelet/images/image-archive.ts";
import { ensurePauseImage, importImage, pauseImageName } from "#kubelet/images/import.ts";
import { removePodNetwork, writeCniConfig } from "#kubelet/network/cni.ts";
import { ctrImageMounts, imageVolume } from "#kubelet/volumes/image-volume.ts";
import type { VolumeContext } from "#kubelet/volumes/plugin.ts";
import { unmountVolumes } from "#kubelet/volumes/volumes.ts";
import { systemClock } from "#lib/async/clock.ts";
import { mountsUnder, unmountUnder } from "#lib/fs/mounts.ts";
import { goArchitecture } from "#lib/process/go-architecture.ts";
import { silentLog } from "#lib/process/log.ts";
import { isRunning, listProcesses, runCommand, signalProcess } from "#lib/process/processes.ts";
import { containerConfig, sandboxConfig } from "#testing/network/runtime-config.ts";
import { startRegistry } from "#testing/peers/registry.ts";
import { ContainerdRuntime } from "./containerd.ts";
import type { ContainerConfig, RuntimeEvent, SandboxConfig } from "./runtime.ts";

const busybox = "orlop.test/busybox:1";
const base = { clock: systemClock, log: silentLog };

suite("ContainerdRuntime, on a containerd of its own", { timeout: 300_000 }, () => {
  let dataDir: string;
  let bridge: string;
  let containerd: Containerd;
  let runtime: ContainerdRuntime;
  let stop = new AbortController();

  const start = () => startContainerd({ dataDir, sandboxImage: pauseImageName, ...base, signal: stop.signal });

  /** A pod that is removed after the test, even if that fails. */
  const aPod = async (name: string) => {
    const sandbox = aSandbox({ dataDir, cgroupRoot: containerd.paths.cgroupRoot, name });
    await mkdir(sandbox.logDirectory, { recursive: true });
    const sandboxId = await runtime.runSandbox(sandbox);
    const create = (config: ContainerConfig) => runtime.createContainer({ sandboxId, config, sandbox });
    const start = async (...command: string[]) => {
      const id = await create(aContainer(command));
      await runtime.startContainer(id);
      return id;
    };
    const remove = async () => {
      await runtime.stopSandbox(sandboxId);
      await runtime.removeSandbox(sandboxId);
    };
    return { sandbox, sandboxId, create, start, [Symbol.asyncDispose]: remove };
  };

  /** Reads events from now until the end of the test. */
  const readEvents = async () => {
    const reader = new AbortController();
    const events = runtime.events(reader.signal);
    await events.next();
    let ahead = events.next(); // The second call subscribes.
    const next = () => {
      const now = ahead;
      ahead = events.next();
      return now;
    };
    return { next, [Symbol.dispose]: () => reader.abort() };
  };

  before(async () => {
    dataDir = await mkdtemp(`${tmpdir()}/orlop-containerd-`);
    const id = nodeId(dataDir);
    bridge = `ot-${id}`;
    containerd = await start();
    const { paths, host, address } = containerd;
    runtime = new ContainerdRuntime({ address, oomNotes: paths.oomNotes, ...base });
    const podCidrs = [`10.88.${Number.parseInt(id.slice(0, 2), 16)}.0/24`];
    const how = { mtu: 0, dataDir: paths.cniDataDir };
    await writeCniConfig(paths.cniConfDir, { name: bridge, bridge, podCidrs, ...how });
    const deps = { socket: paths.socket, snapshotter: host.snapshotter, runtime, clock: systemClock };
    await Promise.all([
      ensurePauseImage(deps),
      importImage(deps, await buildBusyboxImage(busybox)),
      networkReady(runtime),
    ]);
  });

  after(async () => {
    stop.abort();
    runtime.close();
    signalProcess(containerd.pid(), "SIGKILL"); // It must leave nothing behind even then.
    await stopContainerd({ dataDir, ...base, removeData: true });
    await removePodNetwork(bridge);
    await removePodNetwork(bridge);
    await rm(dataDir, { recursive: true });
    await assertNothingLeft(containerd, dataDir);
  });

  test("a pod runs: network, command, log, exec, events, stats, end", async () => {
    const reader = new AbortController();
    const events = collect(runtime.events(reader.signal));
    await using pod = await aPod("whole-life");
    const { sandbox, sandboxId } = pod;
    const status = await runtime.sandboxStatus(sandboxId);
    // Its last line says that it handles SIGTERM.
    const script = "trap 'exit 7' TERM; echo hello $WHO; echo bad >&2; while :; do sleep 0.1; done";
    const config = aContainer(["sh", "-c", script]);
    const id = await pod.create(config);
    await runtime.startContainer(id);

    assert.equal(status?.state, "ready");
    assert.match(status.ips[0] ?? "", /^10\.88\./);
    assert.equal((await runtime.containerStatus(id))?.state, "running");
    assert.deepEqual(
      (await runtime.listContainers()).map((one) => one.id),
      [id],
    );

    const result = await runtime.execSync(id, ["sh", "-c", "echo out; echo err >&2; hostname; exit 3"]);
    assert.equal(Buffer.from(result.stdout).toString(), "out\nwhole-life\n");
    assert.equal(Buffer.from(result.stderr).toString(), "err\n");
    assert.equal(result.exitCode, 3);
    await assert.rejects(runtime.execSync(id, ["sleep", "60"], { timeoutMs: 1 }), /DEADLINE|timed out|timeout/i);
    const settings = "cd /proc/sys/net/ipv6/conf/eth0 && cat accept_ra accept_redirects || echo no IPv6";
    const routes = await runtime.execSync(id, ["sh", "-c", settings]);
    assert.match(Buffer.from(routes.stdout).toString(), /^(0\n0|no IPv6)\n$/, "no other pod can be its router");

    const log = () => readFile(`${sandbox.logDirectory}/${config.logPath}`, "utf8");
    await until(async () => / stdout F hello world\n/.test(await log()));
    await until(async () => / stderr F bad\n/.test(await log()));

    const streams = { stdin: false, stdout: true, stderr: true, tty: false };
    const url = await runtime.execUrl(id, { command: ["echo", "streamed"], ...streams });
    assert.equal(await readStdout(url), "streamed\n");
    assert.match(await runtime.attachUrl(id, streams), /^http:\/\/127\.0\.0\.1:/);
    assert.match(await runtime.portForwardUrl(sandboxId, [80]), /^http:\/\/127\.0\.0\.1:/);

    const [stats] = await runtime.containerStats();
    assert.equal(stats?.containerId, id);
    assert((stats?.memoryWorkingSetBytes ?? 0) > 0);
    assert((await runtime.imageFilesystems()).length > 0);

    await runtime.updateResources(id, { cpuShares: 512, memoryLimitBytes: 64 << 20 });
    await runtime.stopContainer(id, 60_000);
    const ended = await runtime.containerStatus(id);
    assert.deepEqual([ended?.state, ended?.exitCode, ended?.reason], ["exited", 7, "Error"]);

    await runtime.removeContainer(id);
    await runtime.removeContainer(id);
    assert.equal(await runtime.containerStatus(id), undefined);
    await runtime.stopSandbox(sandboxId);
    await runtime.removeSandbox(sandboxId);
    assert.equal(await runtime.sandboxStatus(sandboxId), undefined);

    reader.abort();
    const told = (await events).filter((event) => "containerId" in event && event.containerId === id);
    assert.deepEqual(
      told.map(({ type }) => type).filter((type) => type !== "deleted"),
      ["started", "exited"],
    );
  });

  test("the exit event of a container comes when its status shows it", async () => {
    await using pod = await aPod("short-life");
    using events = await readEvents();
    const id = await pod.start("sh", "-c", "exit 5");

    await exitOf(id, events);

    const status = await runtime.containerStatus(id);
    assert.deepEqual([status?.state, status?.exitCode], ["exited", 5]);
  });

  test("pods reach each other", async () => {
    await using server = await aPod("server");
    await server.start("sh", "-c", "echo hi > /tmp/x; exec httpd -f -p 8080 -h /tmp");
    await using client = await aPod("client");
    const id = await client.start("sleep", "600");
    const ip = (await runtime.sandboxStatus(server.sandboxId))?.ips[0];

    const fetch = ["wget", "-q", "-O", "-", `http://${ip}:8080/x`];
    await until(async () => (await runtime.execSync(id, fetch)).exitCode === 0);
    const byPod = await runtime.execSync(id, fetch);

    assert.equal(Buffer.from(byPod.stdout).toString(), "hi\n");
  });

  test("a container that uses too much memory is killed and says so", async () => {
    const { oomNotes } = containerd.paths;
    await using pod = await aPod("greedy");
    using events = await readEvents();
    const greedy = { ...aContainer(["sh", "-c", "tail /dev/zero"]), resources: { memoryLimitBytes: 16 << 20 } };
    const id = await pod.create(greedy);
    await runtime.startContainer(id);

    await exitOf(id, events);

    const status = await runtime.containerStatus(id);
    assert.deepEqual([status?.exitCode, status?.reason], [137, "OOMKilled"]);
    assert.deepEqual(
      await readdir(oomNotes),
      [id],
      "recorded by the script, because containerd may miss such an early kill",
    );
    await runtime.removeContainer(id);
    assert.deepEqual(await readdir(oomNotes), []);
  });

  test("images are pulled from a registry, with its password, and removed", async () => {
    const login = { username: "user", password: "secret" };
    await using registry = await startRegistry(login);
    const image = `${registry.host}/team/tool:1`;
    const files = [{ path: "tool", content: Buffer.from("x"), mode: 0o755 }];
    const archive = buildImageArchive({ name: image, architecture: goArchitecture(), files, config: { user: "1000" } });
    registry.add("team/tool", "1", archive);

    await assert.rejects(runtime.pullImage(`${registry.host}/team/none:1`, { auth: login }), { code: "NOT_FOUND" });
    await assert.rejects(runtime.pullImage(image), /401|authorization failed|unauthorized/i);
    const reference = await runtime.pullImage(image, { auth: login });

    const pulled = await runtime.imageStatus(image);
    assert.equal(pulled?.id, archive.id);
    assert.equal(pulled.uid, 1000);
    assert.deepEqual(pulled.digests, [`${registry.host}/team/tool@${archive.digest}`]);
    assert.equal((await runtime.imageStatus(reference))?.id, archive.id);
    await runtime.removeImage(image);
    assert.equal(await runtime.imageStatus(image), undefined);
  });

  test("an image can be mounted as a volume", async () => {
    const { socket } = containerd.paths;
    const mounts = ctrImageMounts({ socket, snapshotter: containerd.host.snapshotter });
    const plugin = imageVolume(mounts);
    const context = { podDir: `${dataDir}/pods/u` } as unknown as VolumeContext;
    const image = (await runtime.imageStatus(busybox)) ?? assert.fail("the image is there");

    const { path, readOnly } = await plugin.setUp(context, { name: "tools", image: { reference: busybox } } as Volume);
    await mounts.mount(image, path);
    await mounts.mount(image, path);

    assert(readOnly);
    assert(existsSync(`${path}/bin/busybox`));
    await unmountUnder([path], "strict");
    await mounts.mount(image, path);
    assert(existsSync(`${path}/bin/busybox`));
    await unmountVolumes([plugin], context.podDir);
    assert.deepEqual(await readdir(path), []);
    assert.deepEqual(await mountsUnder([context.podDir]), []);
  });

  test("a later start takes over containerd and its running containers", async () => {
    await using pod = await aPod("survivor");
    const id = await pod.start("sleep", "600");
    const before = containerd.pid();

    stop.abort();
    await containerd.supervised;
    stop = new AbortController();
    containerd = await start();

    assert.equal(containerd.pid(), before);
    assert.equal((await runtime.containerStatus(id))?.state, "running");
  });

  test("containerd is restarted when it dies, and its containers survive", async () => {
    await using pod = await aPod("steady");
    const id = await pod.start("sleep", "600");
    using events = await readEvents();
    const again = events.next(); // Pending on the connection that is about to break.

    signalProcess(containerd.pid(), "SIGKILL");

    assert.deepEqual((await again).value, { type: "resync" });
    await until(async () => isRunning(containerd.pid()) && (await answers(runtime)));
    assert.equal((await runtime.containerStatus(id))?.state, "running");
  });
});

async function answers(runtime: ContainerdRuntime): Promise<boolean> {
  return await runtime.version().then(
    () => true,
    () => false,
  );
}

const networkReady = (runtime: ContainerdRuntime): Promise<void> =>
  until(async () => (await runtime.conditions()).every(({ status }) => status));

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await systemClock.sleep(20);
}

async function collect(events: AsyncIterable<RuntimeEvent>): Promise<RuntimeEvent[]> {
  const told: RuntimeEvent[] = [];
  for await (const event of events) told.push(event);
  return told;
}

async function exitOf(id: string, events: Pick<AsyncIterator<RuntimeEvent, void>, "next">): Promise<void> {
  for (;;) {
    const { value, done } = await events.next();
    assert(!done, "the events ended");
    if (value.type === "exited" && value.containerId === id) return;
  }
}

/** Reads the WebSocket protocol of exec: each message begins with the number of its stream. */
function readStdout(url: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const socket = new WebSocket(url.replace(/^http/, "ws"), ["v4.channel.k8s.io"]);
  socket.binaryType = "arraybuffer";
  let text = "";
  socket.onmessage = ({ data }) => {
    const bytes = Buffer.from(data);
    if (bytes[0] === 1) text += bytes.toString("utf8", 1);
  };
  socket.onclose = () => resolve(text);
  socket.onerror = () => reject(new Error(`no WebSocket at ${url}`));
  return promise;
}

function aSandbox(about: { dataDir: string; cgroupRoot: string; name: string }): SandboxConfig {
  const { dataDir, cgroupRoot, name } = about;
  return sandboxConfig({
    pod: { name, namespace: "default", uid: `uid-${name}` },
    hostname: name,
    logDirectory: `${dataDir}/logs/${name}`,
    dns: { servers: ["10.96.0.10"], searches: ["default.svc.cluster.local"], options: ["ndots:5"] },
    labels: { app: "test" },
    cgroupParent: `${cgroupRoot}/kubepods/besteffort/poduid-${name}`,
    security: { namespaces: { network: "pod", pid: "container", ipc: "pod" }, seccomp: { type: "RuntimeDefault" } },
  });
}

const aContainer = (command: readonly string[]): ContainerConfig =>
  containerConfig({
    image: busybox,
    imageName: busybox,
    command,
    env: [{ name: "WHO", value: "world" }],
    logPath: "main/0.log",
    resources: { cpuShares: 2, oomScoreAdj: 1000 },
  });

async function assertNothingLeft({ paths, pid }: Containerd, dataDir: string): Promise<void> {
  assert(!isRunning(pid()));
  const shims = (await listProcesses()).filter(({ args }) => args.includes(paths.socket));
  assert.deepEqual(shims, []);
  assert.deepEqual(await mountsUnder([paths.runDir, dataDir]), []);
  assert(!existsSync(paths.runDir));
  const { stdout: links } = await runCommand("ip", ["-oneline", "link", "show"]);
  assert(!links.includes(`ot-${nodeId(dataDir)}`));
  for (const hierarchy of ["", "memory", "cpu", "pids"]) {
    assert(!existsSync(`/sys/fs/cgroup/${hierarchy}${paths.cgroupRoot}`));
  }
}
