import assert from "node:assert/strict";
import { test } from "node:test";
import { Node } from "#api/core/node.ts";
import type { ContainerAllocation } from "#kubelet/resources/device-calls.ts";
import { startSimulatedNode } from "#testing/simulated-node.ts";
import type { Devices } from "./admit-devices.ts";

const widgets = "example.org/widget";
const nodeName = "node-1";
const wants = (count: number, more: object = {}) => ({
  name: "main",
  image: "app:1",
  resources: { limits: { [widgets]: String(count) } },
  ...more,
});

/** A fixed number of devices, and which pods hold them. */
class FakeDevices implements Devices {
  total: number;
  readonly held = new Map<string, number>();
  readonly preStarts: string[] = [];

  constructor(total: number) {
    this.total = total;
  }
  counts: Devices["counts"] = () => new Map([[widgets, { capacity: this.total, allocatable: this.total }]]);
  hints: Devices["hints"] = () => [];
  allocate: Devices["allocate"] = async ({ podUid, container, resources }) => {
    const key = `${podUid} ${container}`;
    const wanted = resources[widgets] ?? 0;
    const left = this.total - Array.from(this.held.values()).reduce((sum, count) => sum + count, 0);
    if (!this.held.has(key) && wanted > left) throw new Error(`only ${left} left`);
    if (wanted > 0) this.held.set(key, wanted);
    return [{ ...nothing, envs: { WIDGETS: String(wanted) } }];
  };
  preStart: Devices["preStart"] = async (_, container) => void this.preStarts.push(container);
  keepOnly: Devices["keepOnly"] = async (uids) => this.#keep((uid) => uids.has(uid));
  release: Devices["release"] = async (podUid) => this.#keep((uid) => uid !== podUid);

  #keep(isKept: (uid: string) => boolean): void {
    for (const key of this.held.keys()) if (!isKept(key.split(" ")[0] ?? "")) this.held.delete(key);
  }
}
const nothing: ContainerAllocation = { envs: {}, mounts: [], devices: [], annotations: {}, cdiDevices: [] };

test("a pod gets its devices before it starts, and one for which too few are left is refused", async () => {
  const devices = new FakeDevices(2);
  const envs: unknown[] = [];
  const startContainer = ({ env }: { env: unknown }) => void envs.push(env);
  await using node = await startSimulatedNode({ startContainer }, { devices });
  const pair = [wants(1, { name: "one" }), wants(1, { name: "two" })];

  const first = await node.create("first", { nodeName, containers: [wants(1)] });
  await node.create("second", { nodeName, containers: pair });
  await node.create("without", { nodeName, containers: [{ name: "main", image: "app:1" }] });
  await node.cluster.settle();

  assert.equal((await node.get("first")).status.phase, "Running");
  assert.equal((await node.get("without")).status.phase, "Running");
  const { phase, reason, message } = (await node.get("second")).status;
  assert.deepEqual([phase, reason], ["Failed", "UnexpectedAdmissionError"]);
  assert.equal(message, "Pod was rejected: Allocate failed due to only 0 left, which is unexpected");
  assert.deepEqual(await node.reasons("second"), ["UnexpectedAdmissionError"]);
  assert.deepEqual([...devices.held.keys()], [`${first.metadata.uid} main`]);
  assert.deepEqual(devices.preStarts, ["main"]);
  assert.deepEqual(envs.filter((env) => JSON.stringify(env).includes("WIDGETS")).length, 1);
});

test("a pod is refused while allocations cannot be recorded, and the next one is not affected", async () => {
  const devices = new FakeDevices(1);
  const { keepOnly, release } = devices;
  devices.keepOnly = devices.release = () => Promise.reject(new Error("no space left on device"));
  await using node = await startSimulatedNode({}, { devices });

  await node.create("refused", { nodeName, containers: [wants(1)] });
  await node.cluster.settle();
  Object.assign(devices, { keepOnly, release });
  await node.create("next", { nodeName, containers: [wants(1)] });
  await node.cluster.settle();

  const { phase, message } = (await node.get("refused")).status;
  assert.equal(phase, "Failed");
  assert.match(message ?? "", /Allocate failed due to no space left on device/);
  assert.equal((await node.get("next")).status.phase, "Running");
});

test("an ended pod frees its devices for others", async () => {
  const devices = new FakeDevices(1);
  await using node = await startSimulatedNode({}, { devices });
  const once = { nodeName, restartPolicy: "Never" as const, containers: [wants(1)] };
  await node.create("first", once, { "simulated.orlop.dev/exit-after-ms": "100" });
  await node.cluster.clock.advance(1000);

  await node.create("second", once);
  await node.cluster.settle();

  assert.equal((await node.get("first")).status.phase, "Succeeded");
  assert.equal((await node.get("second")).status.phase, "Running");
});

test("the node reports its devices immediately, and keeps resources that others reported", async () => {
  const devices = new FakeDevices(0);
  await using node = await startSimulatedNode({}, { devices });
  const { client } = node.cluster;
  const body = { status: { capacity: { "example.org/dongle": "4" } } };
  await client.patch(Node, { name: nodeName }, { type: "merge", body }, { subresource: "status" });

  devices.total = 3;
  node.kubelet.resourcesChanged();
  await node.cluster.settle();

  const { capacity, allocatable } = (await client.get(Node, { name: nodeName })).status;
  assert.deepEqual([capacity?.[widgets], allocatable?.[widgets]], ["3", "3"]);
  assert.deepEqual([capacity?.["example.org/dongle"], capacity?.cpu], ["4", "16"]);
});
