import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "#lib/random.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { adoptPod, listRuntime } from "./adopt.ts";
import type { ContainerConfig, SandboxConfig } from "./runtime/runtime.ts";
import { SimulatedRuntime } from "./runtime/simulated.ts";

const endings = [
  {
    name: "a start that was cut off has not failed, and is forgotten",
    ending: { exitCode: 128, reason: "StartError", message: "failed to create shim task: context canceled: unknown" },
    kept: [],
  },
  {
    name: "a start that failed by itself is counted",
    ending: { exitCode: 128, reason: "StartError", message: 'exec: "nope": executable file not found in $PATH' },
    kept: ["StartError"],
  },
  { name: "a program that ended is counted", ending: { exitCode: 1 }, kept: ["Error"] },
];
for (const { name, ending, kept } of endings) {
  test(`adoptPod(): ${name}`, async () => {
    const clock = createVirtualClock();
    const delays = { sandboxMs: 0, pullMs: 0, startMs: 0, stopMs: 0 };
    const runtime = new SimulatedRuntime({ clock, random: seededRandom(1), podCidr: "10.244.0.0/24", delays });
    const sandboxId = await runtime.runSandbox(sandbox);
    await runtime.pullImage("web:1");
    const id = await runtime.createContainer({ sandboxId, config: container, sandbox });
    await runtime.startContainer(id);
    runtime.exit(id, ending);
    const [listed] = (await listRuntime(runtime)).pods.values();
    assert(listed);

    const found = await adoptPod(runtime, listed);

    assert.deepEqual(
      found.containers.map(({ reason }) => reason),
      kept,
    );
    assert.equal((await runtime.listContainers()).length, kept.length);
    assert.equal(found.sandbox?.id, sandboxId);
  });
}

const namespaces = { network: "pod", pid: "container", ipc: "pod" } as const;
const sandbox: SandboxConfig = {
  pod: { name: "web", namespace: "default", uid: "u" },
  attempt: 0,
  hostname: "web",
  logDirectory: "/logs",
  ports: [],
  labels: {},
  annotations: {},
  cgroupParent: "",
  sysctls: {},
  security: { namespaces },
};
const container: ContainerConfig = {
  name: "main",
  attempt: 0,
  image: "web:1",
  imageName: "web:1",
  command: [],
  args: [],
  workingDir: "",
  env: [],
  mounts: [],
  devices: [],
  labels: {},
  annotations: {},
  logPath: "0.log",
  stdin: false,
  stdinOnce: false,
  tty: false,
  resources: {},
  security: { namespaces },
};
