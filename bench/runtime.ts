/** Measures each step of a real pod's life on our own containerd: alone, and with many pods concurrently. Needs root. */
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { parseArgs } from "node:util";
import { startContainerd, stopContainerd } from "#kubelet/containerd/containerd.ts";
import { nodeId } from "#kubelet/containerd/paths.ts";
import { buildBusyboxImage } from "#kubelet/images/busybox-image.ts";
import { ensurePauseImage, importImage, pauseImageName } from "#kubelet/images/import.ts";
import { removePodNetwork, writeCniConfig } from "#kubelet/network/cni.ts";
import { ContainerdRuntime } from "#kubelet/runtime/containerd.ts";
import type { SandboxConfig } from "#kubelet/runtime/runtime.ts";
import { systemClock } from "#lib/async/clock.ts";
import { silentLog } from "#lib/process/log.ts";
import { containerConfig, sandboxConfig } from "#testing/network/runtime-config.ts";

const { values: flags } = parseArgs({
  options: {
    rounds: { type: "string", default: "10" },
    together: { type: "string", default: "30" },
  },
});
const timings = new Map<string, number[]>();
async function timed<T>(step: string, work: () => Promise<T>): Promise<T> {
  const start = performance.now();
  const result = await work();
  timings.set(step, [...(timings.get(step) ?? []), performance.now() - start]);
  return result;
}

const image = "orlop.test/busybox:1";
const dataDir = await mkdtemp(`${tmpdir()}/orlop-bench-`);
const bridge = `ob-${nodeId(dataDir)}`;
const base = { clock: systemClock, log: silentLog };
const stop = new AbortController();
const containerd = await timed("start containerd", () =>
  startContainerd({ dataDir, sandboxImage: pauseImageName, ...base, signal: stop.signal }),
);
const { paths, host, address } = containerd;
const runtime = new ContainerdRuntime({ address, ...base });
const network = { name: bridge, bridge, podCidrs: ["10.88.250.0/24"], mtu: 0, dataDir: paths.cniDataDir };
await writeCniConfig(paths.cniConfDir, network);
const deps = { socket: paths.socket, snapshotter: host.snapshotter, runtime, clock: systemClock };
await timed("import pause", () => ensurePauseImage(deps));
const busybox = await buildBusyboxImage(image);
await timed("import busybox", () => importImage(deps, busybox));

const aSandbox = (name: string): SandboxConfig =>
  sandboxConfig({
    pod: { name, namespace: "bench", uid: name },
    hostname: name,
    logDirectory: `${dataDir}/logs/${name}`,
    cgroupParent: `${paths.cgroupRoot}/kubepods/besteffort/pod${name}`,
  });
const config = containerConfig({
  image,
  imageName: image,
  command: ["sleep", "600"],
  resources: { cpuShares: 2 },
});

async function startPod(name: string): Promise<{ sandboxId: string; id: string }> {
  const sandbox = aSandbox(name);
  await mkdir(sandbox.logDirectory, { recursive: true });
  const sandboxId = await timed("run sandbox", () => runtime.runSandbox(sandbox));
  const id = await timed("create container", () => runtime.createContainer({ sandboxId, config, sandbox }));
  await timed("start container", () => runtime.startContainer(id));
  return { sandboxId, id };
}

for (let round = 0; round < Number(flags.rounds); round++) {
  const { sandboxId, id } = await startPod(`alone-${round}`);
  await timed("status", () => runtime.containerStatus(id));
  await timed("exec", () => runtime.execSync(id, ["true"]));
  await timed("kill container", () => runtime.stopContainer(id, 0));
  await timed("remove container", () => runtime.removeContainer(id));
  await timed("stop sandbox", () => runtime.stopSandbox(sandboxId));
  await timed("remove sandbox", () => runtime.removeSandbox(sandboxId));
}
const alone = new Map(timings);
const together = Number(flags.together);
await timed(`start ${together} pods concurrently`, () =>
  Promise.all(Array.from({ length: together }, (_, n) => startPod(`together-${n}`))),
);
stop.abort();
runtime.close();
await timed("stop and remove everything", () => stopContainerd({ dataDir, ...base, removeData: true }));
await removePodNetwork(bridge);
await rm(dataDir, { recursive: true });

for (const [step, all] of new Map([...timings, ...alone])) {
  const sorted = all.toSorted((a, b) => a - b);
  const middle = sorted[Math.floor(sorted.length / 2)] ?? 0;
  console.log(`${step.padEnd(28)} ${middle.toFixed(1).padStart(8)} ms  (worst ${(sorted.at(-1) ?? 0).toFixed(1)})`);
}
