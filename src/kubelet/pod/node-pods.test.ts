import assert from "node:assert/strict";
import { test } from "node:test";
import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { simulatedHost } from "#kubelet/host/host.ts";
import { ImagePuller } from "#kubelet/images/puller.ts";
import { SimulatedRuntime } from "#kubelet/runtime/simulated.ts";
import { neverAborted } from "#lib/async/tasks.ts";
import { seededRandom } from "#lib/data/random.ts";
import { silentLog } from "#lib/process/log.ts";
import { build } from "#testing/build.ts";
import { startOnePod } from "#testing/network/runtime-config.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { TraceRecorder } from "#trace/recorder.ts";
import { NodePods } from "./node-pods.ts";
import type { PodDeps } from "./pod-deps.ts";

const noPods = () => new Set<string>();

/** A runtime with a container that belongs to no pod and takes an hour to stop. */
async function anOrphan() {
  const clock = createVirtualClock();
  const delays = { stopMs: 3_600_000 };
  const runtime = new SimulatedRuntime({ clock, random: seededRandom(1), podCidr: "10.244.0.0/24", delays });
  await startOnePod(runtime);
  const warnings: string[] = [];
  const log = { ...silentLog, warn: (message: string) => void warnings.push(message) };
  const pods = new NodePods({ allocatable: {}, devices: undefined, log, finished: () => {} });
  return { clock, runtime, warnings, pods, deps: { runtime, host: simulatedHost, log } as unknown as PodDeps };
}

test("NodePods stops an orphaned pod in its time", async () => {
  const { clock, runtime, warnings, pods, deps } = await anOrphan();

  await pods.resync(deps, noPods, neverAborted);
  await clock.advance(10 * 3_600_000);

  assert.deepEqual(await runtime.listSandboxes(), []);
  assert.deepEqual(warnings, []);
});

test("NodePods closes without waiting for the grace period of an orphaned pod, which the next one stops", async () => {
  const { clock, runtime, warnings, pods, deps } = await anOrphan();
  await pods.resync(deps, noPods, neverAborted);

  await pods.close();

  assert.equal((await runtime.listSandboxes()).length, 1);
  assert.deepEqual(warnings, []);
  const next = new NodePods({ allocatable: {}, devices: undefined, log: silentLog, finished: () => {} });
  await next.resync(deps, noPods, neverAborted);
  await clock.advance(10 * 3_600_000);
  assert.deepEqual(await runtime.listSandboxes(), []);
});

test("NodePods judges pods that wait for the newest Node in the order in which they came", async () => {
  const clock = createVirtualClock();
  const runtime = new SimulatedRuntime({ clock, random: seededRandom(1), podCidr: "10.244.0.0/24" });
  const reasons = new Map<string, string>();
  const writeStatus = async (pod: Pod, status: Pod["status"]) => {
    if (status.reason) reasons.set(pod.metadata.name, status.reason);
    return { ...pod, status };
  };
  const nothing = async () => undefined;
  const deps = {
    ...{ runtime, host: simulatedHost, log: silentLog, clock, nodeName: "a", runtimeName: "simulated" },
    pods: { writeStatus, read: nothing, remove: nothing },
    recorder: new TraceRecorder({ clock, capacity: 0 }),
    events: { event() {} },
    puller: new ImagePuller({ runtime, clock }),
    objects: { configMap: nothing, secret: nothing, release() {} },
    ...{ clusterDns: { servers: [], domain: "cluster.local" }, hostIps: ["192.0.2.1"], allocatable: {} },
    ...{ services: () => [], runtimeHandler: async () => "", sourcesFor: () => ({}), admitResize: () => undefined },
    ...{ claimContainer() {}, disclaimContainer() {} },
  } as unknown as PodDeps;
  const newest = build(Node, { metadata: { name: "a", labels: { disk: "ssd" } } });
  const pods = new NodePods({
    ...{ allocatable: { cpu: "1", pods: "10" }, devices: undefined, log: silentLog, finished: () => {} },
    node: () => undefined,
    newestNode: async () => newest,
  });

  for (const name of ["first", "second"]) {
    const containers = [{ name: "main", image: "i", resources: { requests: { cpu: "1" } } }];
    const metadata = { name, namespace: "n", uid: name };
    const object = build(Pod, { metadata, spec: { nodeSelector: { disk: "ssd" }, containers } });
    pods.podChanged(deps, { type: "put", object, previous: undefined, trace: undefined });
  }
  await clock.advance(1000);

  assert.deepEqual([...reasons], [["second", "OutOfcpu"]]);
  await pods.close();
});
