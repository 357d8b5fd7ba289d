import assert from "node:assert/strict";
import { test } from "node:test";
import { DeviceClass } from "#api/devices/device-class.ts";
import { ResourceClaim } from "#api/devices/resource-claim.ts";
import { ResourceSlice } from "#api/devices/resource-slice.ts";
import { type Client } from "#client/client.ts";
import { build } from "#testing/build.ts";
import { createFakeInformers } from "#testing/fake-informers.ts";
import { asking, makeNode, makePod, roomy, scoresOf, snapshotOf } from "#testing/scheduling.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { type PluginArgs } from "../args/plugin-args.ts";
import { defaultPlugins } from "../profiles.ts";

const gpu = "example.com/gpu";
const driver = "gpu.example.com";

/** Node a has four devices, b has two, and c has two by a device plugin. One of the devices of b is given away. */
function setUp(args: PluginArgs, name: string) {
  const informers = createFakeInformers();
  const selectors = [{ cel: { expression: `device.driver == "${driver}"` } }];
  const spec = { selectors, extendedResourceName: gpu };
  informers.put(DeviceClass, build(DeviceClass, { metadata: { name: "gpu" }, spec }));
  for (const [nodeName, count] of [
    ["a", 4],
    ["b", 2],
  ] as const) {
    const pool = { name: nodeName, generation: 1, resourceSliceCount: 1 };
    const devices = Array.from({ length: count }, (_, n) => ({ name: `gpu-${n}` }));
    const slice = { metadata: { name: nodeName }, spec: { driver, nodeName, pool, devices } };
    informers.put(ResourceSlice, build(ResourceSlice, slice));
  }
  const give = (claim: string, pool: string, device: string) => {
    const results = [{ request: "gpu", driver, pool, device }];
    const metadata = { name: claim, namespace: "default" };
    const status = { allocation: { devices: { results } } };
    informers.put(ResourceClaim, build(ResourceClaim, { metadata, spec: { devices: {} }, status }));
  };
  give("first", "b", "gpu-0");
  const offered = { status: { allocatable: { ...roomy, [gpu]: "2" } } };
  const snapshot = snapshotOf([makeNode("a"), makeNode("b"), makeNode("c", offered)]);
  const deps = { client: {} as Client, informers, clock: createVirtualClock() };
  const plugin = defaultPlugins(deps, args).find((one) => one.name === name);
  assert(plugin);
  const pod = makePod("p", { containers: [asking({ [gpu]: "1" })] });
  const scores = async () => {
    await plugin.prepare?.(pod, snapshot);
    return { scores: scoresOf(plugin, pod, snapshot), basis: plugin.basis?.(pod, snapshot) };
  };
  return { scores, give, informers, plugin };
}

const resources = [{ name: gpu, weight: 1 }];

const strategies = [
  { type: "MostAllocated", scores: [25, 100, 50] },
  { type: "LeastAllocated", scores: [75, 0, 50] },
];
for (const { type, scores } of strategies) {
  test(`${type} counts the devices of a class where no device plugin offers the resource`, async () => {
    const world = setUp({ NodeResourcesFit: { scoringStrategy: { type, resources } } }, "NodeResourcesFit");

    assert.deepEqual((await world.scores()).scores, scores);
  });
}

test("devices that are given away count at once, and nodes are scored again", async () => {
  const scoringStrategy = { type: "MostAllocated", resources };
  const world = setUp({ NodeResourcesFit: { scoringStrategy } }, "NodeResourcesFit");
  const before = await world.scores();
  assert.equal((await world.scores()).basis, before.basis);

  world.give("second", "a", "gpu-1");
  const after = await world.scores();

  assert.deepEqual(after.scores, [50, 100, 50]);
  assert.notEqual(after.basis, before.basis);
});

test("NodeResourcesBalancedAllocation counts the devices of a class", async () => {
  const args = { resources: [{ name: "cpu" }, { name: gpu }] };
  const world = setUp({ NodeResourcesBalancedAllocation: args }, "NodeResourcesBalancedAllocation");

  // The used share of the devices becomes larger than that of the processor, the more the fewer there are.
  assert.deepEqual((await world.scores()).scores, [68, 62, 62]);
});

test("what scores by processors and memory only follows no devices", () => {
  const { plugin } = setUp({}, "NodeResourcesFit");

  assert.equal(plugin.prepare, undefined);
});
