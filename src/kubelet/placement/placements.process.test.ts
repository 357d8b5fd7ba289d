import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { Pod } from "#api/core/pod.ts";
import { admitResources } from "#kubelet/node/admit-resources.ts";
import { build } from "#testing/build.ts";
import { createRules, type PlacementSettings } from "./create-rules.ts";
import { readTopology } from "./machine-topology.ts";
import { Placements } from "./placements.ts";
import { aMachine, type MachineShape } from "./testing-machine.ts";

let dir = "";
before(async () => {
  dir = await mkdtemp(path.join(tmpdir(), "orlop-placement-"));
});
after(() => rm(dir, { recursive: true }));

const mebi = 2 ** 20;
const cpus = { wholeCores: false, isStrict: false, prefersCache: false, reserved: undefined };
const anywhere = { policy: "none", scope: "container", prefersClosest: false, maxNodes: 8 } as const;
const single = { ...anywhere, policy: "single-numa-node" } as const;
const base: PlacementSettings = { cpus, reconcileMs: 1000, memory: undefined, topology: anywhere };
const shape = { sockets: 2, nodesPerSocket: 1, cores: 2, threads: 2, memoryBytes: 1024 * mebi };

let files = 0;
interface Given {
  readonly settings?: Partial<PlacementSettings>;
  readonly machine?: MachineShape;
  readonly file?: string;
}
async function open({ settings = {}, machine = shape, file = `${dir}/${files++}.json` }: Given = {}) {
  const setAside = { reserved: { cpu: "1", memory: settings.memory ? "200Mi" : "0" }, keptFree: () => 0 };
  return await Placements.open(file, createRules({ ...base, ...settings }, aMachine(machine), setAside));
}

const has = (cpu: string, memory = "10Mi", more = {}) => {
  const amounts = { cpu, memory };
  return { name: "main", image: "i", resources: { requests: amounts, limits: amounts }, ...more };
};
const pod = (uid: string, ...containers: object[]) =>
  build(Pod, { metadata: { name: uid, namespace: "n", uid }, spec: { containers } });
const admit = (placements: Placements, one: Pod, others: string[] = placements.all.map(({ podUid }) => podUid)) =>
  admitResources({ devices: undefined, placements }, one, others);
const cpusOf = (placements: Placements, uid: string, name = "main") => placements.placeOf(uid, name).cpusetCpus;

// Cores are 0+4, 1+5, 2+6 and 3+7; 0 is reserved.
test("a Guaranteed container with whole processors has them for itself, and all others share the rest", async () => {
  const placements = await open();
  assert.equal(await admit(placements, pod("a", has("2"))), undefined);
  assert.equal(await admit(placements, pod("b", has("1500m"))), undefined);

  assert.equal(cpusOf(placements, "a"), "1,5");
  assert.equal(cpusOf(placements, "b"), "0,2-4,6-7");
  assert.deepEqual([placements.hasOwnCpus("a"), placements.hasOwnCpus("b")], [true, false]);
});

test("processors go back when their pod has ended, and are known after a restart", async () => {
  const file = `${dir}/kept.json`;
  const placements = await open({ file });
  await admit(placements, pod("a", has("2")));
  await admit(placements, pod("b", has("2")));
  assert.equal(cpusOf(await open({ file }), "b"), "2,6");

  await admit(placements, pod("c", has("4")), ["b"]);
  assert.equal(cpusOf(await open({ file }), "c"), "1,3,5,7");
});

test("placements can be saved several times at once", async () => {
  const file = `${dir}/together.json`;
  const placements = await open({ file });
  const [one, other] = [pod("a", has("2")), pod("b", has("1"))];
  const nowhere = { mask: undefined, isPreferred: false };
  const place = (of: Pod) => {
    for (const container of of.spec.containers) placements.place(of, container, nowhere);
    return placements.save();
  };
  await Promise.all([place(one), place(other), placements.save(), placements.save()]);

  const reopened = await open({ file });
  assert.deepEqual([cpusOf(reopened, "a"), cpusOf(reopened, "b")], ["1,5", "4"]);
});

test("a pod that was placed before a restart, but not started, is placed as if it were new", async () => {
  const file = `${dir}/again.json`;
  const settings = { topology: single };
  await admit(await open({ file, settings }), pod("a", has("4")));

  // All of its NUMA node is its own, so nothing else there is left for it.
  const placements = await open({ file, settings });
  assert.equal(await admit(placements, pod("a", has("4"))), undefined);
  assert.equal(cpusOf(placements, "a"), "2-3,6-7");
});

test("containers reuse the processors of init containers, but not those of sidecars", async () => {
  const placements = await open();
  const spec = {
    initContainers: [has("2", "10Mi", { name: "step" }), has("1", "10Mi", { name: "side", restartPolicy: "Always" })],
    containers: [has("2")],
  };
  assert.equal(
    await admit(placements, build(Pod, { metadata: { name: "p", namespace: "n", uid: "p" }, spec })),
    undefined,
  );

  assert.equal(cpusOf(placements, "p", "step"), "1,5");
  assert.equal(cpusOf(placements, "p", "side"), "4");
  assert.equal(cpusOf(placements, "p"), "1,5");
});

test("a pod for which too few processors are left gets none, and says so", async () => {
  const placements = await open();
  const refused = await admit(placements, pod("a", has("4"), has("4", "10Mi", { name: "more" })));

  assert.deepEqual(refused, {
    reason: "UnexpectedAdmissionError",
    message:
      "Allocate failed due to not enough cpus available to satisfy request: requested=4, available=3, which is unexpected",
  });
  assert.deepEqual(placements.all, []);
});

test("with full-pcpus-only, a container gets whole cores or nothing", async () => {
  const placements = await open({ settings: { cpus: { ...cpus, wholeCores: true } } });
  const messageOf = async (uid: string, count: string) => (await admit(placements, pod(uid, has(count))))?.message;

  assert.equal(await messageOf("a", "3"), "SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2");
  assert.equal(await messageOf("b", "4"), undefined);
  const numbers = "available physical CPUs = 2, requested CPUs = 4, CPUs per core = 2";
  assert.equal(await messageOf("c", "4"), `SMT Alignment Error: not enough free physical CPUs: ${numbers}`);
});

test("with strict-cpu-reservation, nobody runs on reserved processors", async () => {
  const settings = { cpus: { ...cpus, isStrict: true, reserved: new Set([0, 4]) } };
  assert.equal(cpusOf(await open({ settings }), "anybody"), "1-3,5-7");
});

test("single-numa-node keeps the processors of a container, or of a pod, together", async () => {
  const pair = (uid: string) => pod(uid, has("2"), has("2", "10Mi", { name: "more" }));
  const reasonOf = async (scope: "container" | "pod", uid: string) => {
    const placements = await open({ settings: { topology: { ...single, scope } } });
    await admit(placements, pod("first", has("2")));
    return (await admit(placements, pair(uid)))?.reason ?? cpusOf(placements, uid, "more");
  };
  // On node 0 are 1 and 5 with the first pod, and 4 is left; node 1 has 4 processors.
  assert.equal(await reasonOf("container", "a"), "3,7");
  assert.equal(await reasonOf("pod", "b"), "3,7");
  const placements = await open({ settings: { topology: single } });
  const refused = await admit(placements, pod("wide", has("6")));
  assert.deepEqual(refused, {
    reason: "TopologyAffinityError",
    message: "Resources cannot be allocated with Topology locality",
  });
});

const memory = new Map([
  [0, { memory: 100 * mebi }],
  [1, { memory: 100 * mebi }],
]);
test("with the policy Static, a container has memory of as few NUMA nodes as possible", async () => {
  const placements = await open({ settings: { cpus: undefined, memory } });
  const memsOf = async (uid: string, amount: string) => {
    const refused = await admit(placements, pod(uid, has("1", amount)));
    return refused?.message ?? placements.placeOf(uid, "main").cpusetMems;
  };
  assert.equal(await memsOf("a", "900Mi"), "0");
  assert.equal(await memsOf("b", "100Mi"), "1");
  // Node 1 is used alone, so nobody has it together with node 0.
  assert.match((await memsOf("c", "840Mi")) ?? "", /no NUMA nodes with enough memory is available/);
  assert.equal(placements.keepOnly(new Set()), true);
  assert.equal(await memsOf("d", "1000Mi"), "0-1");
  // Who comes later uses both nodes as well.
  assert.equal(await memsOf("e", "10Mi"), "0-1");
});

test("an init container and a container of one pod need their memory one after the other", async () => {
  const placements = await open({ settings: { cpus: undefined, memory } });
  const initContainers = [has("1", "900Mi", { name: "step" })];
  const spec = { initContainers, containers: [has("1", "900Mi")] };
  assert.equal(
    await admit(placements, build(Pod, { metadata: { name: "p", namespace: "n", uid: "p" }, spec })),
    undefined,
  );
  assert.equal(placements.placeOf("p", "main").cpusetMems, "0");
  assert.equal(await admit(placements, pod("q", has("1", "800Mi"))), undefined);
  assert.equal(placements.placeOf("q", "main").cpusetMems, "1");
});

test("a node does not start with other policies while pods have resources of their own, or with an unreadable file", async () => {
  const file = `${dir}/policies.json`;
  await admit(await open({ file }), pod("a", has("1")));
  await assert.rejects(open({ file, settings: { memory } }), /have changed from static and None to static and Static/);
  await writeFile(file, "{");
  await assert.rejects(open({ file }), /cannot read which pods have processors for themselves/);
});

test("a container that was placed is not placed again when it starts", async () => {
  const placements = await open({ settings: { topology: single } });
  const [placed, unknown] = [pod("a", has("4")), pod("b", has("1"))];
  await admit(placements, placed);

  assert.deepEqual(
    placed.spec.containers.map((one) => placements.lacks(placed, one)),
    [false],
  );
  assert.deepEqual(
    unknown.spec.containers.map((one) => placements.lacks(unknown, one)),
    [true],
  );
});

test("a container loses processors that the machine no longer has", async () => {
  const file = `${dir}/smaller.json`;
  await admit(await open({ file }), pod("a", has("6")));
  const smaller = await open({ file, machine: { ...shape, sockets: 1 } });
  assert.deepEqual(smaller.all, []);
});

const refusals: readonly [name: string, settings: Partial<PlacementSettings>, message: RegExp][] = [
  [
    "processors that do not exist",
    { cpus: { ...cpus, reserved: new Set([99]) } },
    /unable to reserve the processors 99/,
  ],
  ["nodes that do not exist", { memory: new Map([[7, { memory: 200 * mebi }]]) }, /there is no NUMA node 7/],
  ["another sum than the node's", { memory: new Map([[0, { memory: mebi }]]) }, /is not equal to the value 209715200/],
  ["too many nodes", { topology: { ...single, maxNodes: 1 } }, /more than 1 NUMA Nodes/],
];
for (const [name, settings, message] of refusals) {
  test(`settings that do not fit the machine are refused: ${name}`, () => assert.rejects(open({ settings }), message));
}

test("readTopology() finds the processors and the memory of this machine", async () => {
  const { cpus: found, nodes } = await readTopology();
  assert.ok(found.length > 0 && found.every(({ id, core, cache }) => core <= id && cache <= id));
  assert.ok(nodes.length > 0 && nodes.every(({ memoryBytes }) => memoryBytes > 0));
});
