import assert from "node:assert/strict";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { Event } from "#api/core/event.ts";
import { Pod } from "#api/core/pod.ts";
import { DeviceClass } from "#api/devices/device-class.ts";
import { ResourceClaim } from "#api/devices/resource-claim.ts";
import { ResourceSlice } from "#api/devices/resource-slice.ts";
import { systemClock } from "#lib/async/clock.ts";
import { silentLog } from "#lib/process/log.ts";
import { startCluster } from "#testing/start-cluster.ts";
import { loadScheduling } from "./load.ts";

const configuration = `
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
- schedulerName: packing
  plugins:
    score: { disabled: [{ name: "*" }], enabled: [{ name: NodeResourcesFit }] }
  pluginConfig:
  - name: NodeResourcesFit
    args: { scoringStrategy: { type: MostAllocated, resources: [{ name: cpu, weight: 1 }] } }
- schedulerName: broken
  plugins: { multiPoint: { enabled: [{ name: Throws }] } }
  pluginConfig: [{ name: Throws, args: { module: throws.mjs } }]
- schedulerName: endless
  plugins: { multiPoint: { enabled: [{ name: Loops }] } }
  pluginConfig: [{ name: Loops, args: { module: loops.mjs } }]
- schedulerName: shaky
  plugins: { multiPoint: { enabled: [{ name: Shaky }] } }
  pluginConfig: [{ name: Shaky, args: { module: shaky.mjs } }]
`;
const throws = `export default () => ({ looksAt: () => null, filter() { throw new Error("no idea"); } });`;
const loops = `export default () => ({ looksAt: () => null, score() { for (;;); } });`;
/** Fails where no attempt to schedule a pod is under way, and in the first attempt. */
const shaky = `
let calls = 0;
export default () => ({
  follow() { throw new Error("lost"); },
  observe() { throw new Error("saw nothing"); },
  groupOf() { throw new Error("what group"); },
  preEnqueue() { if (++calls <= 2) throw new Error("not now"); },
});`;

async function start() {
  await using dir = await mkdtempDisposable(path.join(tmpdir(), "profiles-"));
  const file = path.join(dir.path, "scheduler.yaml");
  await writeFile(file, configuration);
  await writeFile(path.join(dir.path, "throws.mjs"), throws);
  await writeFile(path.join(dir.path, "loops.mjs"), loops);
  await writeFile(path.join(dir.path, "shaky.mjs"), shaky);
  const { setup } = await loadScheduling(file, { log: silentLog, clock: systemClock });
  const cluster = await startCluster({ nodes: 3, scheduler: setup });
  const create = (name: string, schedulerName: string) =>
    cluster.apply(Pod, {
      metadata: { name, namespace: "default" },
      spec: {
        schedulerName,
        containers: [{ name: "main", image: "web:1", resources: { requests: { cpu: "100m" } } }],
      },
    });
  const pods = async (schedulerName: string) =>
    (await cluster.list(Pod)).filter(({ spec }) => spec.schedulerName === schedulerName);
  return { cluster, create, pods };
}

test("a pod is scheduled by the profile that it names, and a broken plugin stops only its own pods", async () => {
  const { cluster, create, pods } = await start();
  await using _ = cluster;
  await cluster.settle();

  for (const name of ["broken", "endless"]) for (let n = 0; n < 3; n++) await create(`${name}-${n}`, name);
  for (const name of ["packing", "default-scheduler", "shaky"]) {
    for (let n = 0; n < 3; n++) await create(`${name}-${n}`, name);
    await cluster.until(async () => (await pods(name)).every(({ spec }) => spec.nodeName !== undefined));
  }

  const nodes = async (name: string) => new Set((await pods(name)).map(({ spec }) => spec.nodeName)).size;
  assert.equal(await nodes("packing"), 1);
  const why = async (name: string) => {
    const [pod] = await pods(name);
    const condition = pod?.status.conditions?.find(({ type }) => type === "PodScheduled");
    return [pod?.spec.nodeName, condition?.reason, condition?.message];
  };
  await cluster.until(async () => (await why("endless"))[1] !== undefined);
  // On a machine that lets the process wait for 50 ms, the first attempt is stopped before the plugin throws.
  const thrown = 'running filter of plugin "Throws": no idea';
  await cluster.until(async () => (await why("broken"))[2] === thrown);
  assert.deepEqual(await why("broken"), [undefined, "SchedulerError", thrown]);
  const [node, reason, message] = await why("endless");
  assert.deepEqual([node, reason], [undefined, "SchedulerError"]);
  assert.match(message ?? "", /^running score of plugin "Loops": did not return within 50 ms/);
  const sources = async () => {
    const events = (await cluster.list(Event)).filter(
      ({ reason }) => reason === "Scheduled" || reason === "FailedScheduling",
    );
    return [...new Set(events.map(({ reason, source }) => `${reason} ${source?.component}`))].sort();
  };
  await cluster.until(async () => (await sources()).length === 6);
  assert.deepEqual(await sources(), [
    "FailedScheduling broken",
    "FailedScheduling endless",
    "FailedScheduling shaky",
    "Scheduled default-scheduler",
    "Scheduled packing",
    "Scheduled shaky",
  ]);
});

test("a profile that chooses the plugins of one point still gives claims their devices", async () => {
  const { cluster } = await start();
  await using _ = cluster;
  const { client } = cluster;
  const ref = { name: "gpu", namespace: "default" };
  await client.create(DeviceClass, { metadata: { name: "gpu" }, spec: {} });
  const pool = { name: "node-2", generation: 1, resourceSliceCount: 1 };
  const devices = [{ name: "gpu-0" }];
  const spec = { driver: "gpu.example.com", pool, nodeName: "node-2", devices };
  await client.create(ResourceSlice, { metadata: { name: "node-2" }, spec });
  const requests = [{ name: "gpu", exactly: { deviceClassName: "gpu" } }];
  await client.create(ResourceClaim, { metadata: ref, spec: { devices: { requests } } });

  const resourceClaims = [{ name: "gpu", resourceClaimName: "gpu" }];
  const containers = [{ name: "main", image: "web:1", resources: { claims: [{ name: "gpu" }] } }];
  await client.create(Pod, { metadata: ref, spec: { schedulerName: "packing", containers, resourceClaims } });
  await cluster.settle();

  assert.equal((await client.get(Pod, ref)).spec.nodeName, "node-2");
  const { allocation } = (await client.get(ResourceClaim, ref)).status;
  assert.equal(allocation?.devices.results?.[0]?.device, "gpu-0");
});
