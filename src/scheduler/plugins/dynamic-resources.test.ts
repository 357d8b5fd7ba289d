import assert from "node:assert/strict";
import { test } from "node:test";
import { Node } from "#api/core/node.ts";
import { type Pod } from "#api/core/pod.ts";
import { DeviceClass } from "#api/devices/device-class.ts";
import { ResourceClaim } from "#api/devices/resource-claim.ts";
import { ResourceSlice } from "#api/devices/resource-slice.ts";
import { type Client } from "#client/client.ts";
import { build } from "#testing/build.ts";
import { createFakeInformers } from "#testing/fake-informers.ts";
import { asking, makeNode, makePod, roomy, snapshotOf } from "#testing/scheduling.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { type DynamicResourcesArgs } from "../args/plugin-args.ts";
import { dynamicResources } from "./dynamic-resources.ts";

const namespace = "default";
const driver = "gpu.example.com";
const extendedResourceName = "example.com/gpu";

/** Node a has two devices, node b has one, node c has none. */
function setUp(client: object = {}) {
  const informers = createFakeInformers();
  const expression = `device.driver == "${driver}"`;
  informers.put(
    DeviceClass,
    build(DeviceClass, {
      metadata: { name: "gpu" },
      spec: { selectors: [{ cel: { expression } }], extendedResourceName },
    }),
  );
  for (const [nodeName, count] of [
    ["a", 2],
    ["b", 1],
  ] as const) {
    const pool = { name: nodeName, generation: 1, resourceSliceCount: 1 };
    const devices = Array.from({ length: count }, (_, n) => ({ name: `gpu-${n}` }));
    const spec = { driver, nodeName, pool, devices };
    informers.put(ResourceSlice, build(ResourceSlice, { metadata: { name: nodeName }, spec }));
  }
  const claim = (name: string, count: number) =>
    informers.put(
      ResourceClaim,
      build(ResourceClaim, {
        metadata: { name, namespace },
        spec: { devices: { requests: [{ name: "gpu", exactly: { deviceClassName: "gpu", count } }] } },
      }),
    );
  const clock = createVirtualClock();
  const deps = { client: client as Client, informers, clock, devices: {} };
  const withArgs = (args?: DynamicResourcesArgs) => dynamicResources(deps, args);
  const plugin = withArgs();
  const nodes = ["a", "b", "c"].map((name) => makeNode(name));
  for (const node of nodes) informers.put(Node, node);
  const snapshot = snapshotOf(nodes);
  return { plugin, withArgs, claim, snapshot, informers, clock };
}

const podWith = (name: string, resourceClaimName: string): Pod => {
  const pod = makePod(name, { resourceClaims: [{ name: "gpu", resourceClaimName }] });
  return { ...pod, metadata: { ...pod.metadata, uid: name } };
};

async function feasible(
  { plugin, snapshot }: Pick<ReturnType<typeof setUp>, "plugin" | "snapshot">,
  pod: Pod,
): Promise<string[]> {
  await plugin.prepare?.(pod, snapshot);
  const across = plugin.acrossNodes?.(pod, snapshot);
  return snapshot.nodes.filter(({ slot }) => !across?.filter?.(slot)).map(({ name }) => name);
}

const cases: readonly [count: number, nodes: string[]][] = [
  [1, ["a", "b"]],
  [2, ["a"]],
  [3, []],
];
for (const [count, nodes] of cases) {
  test(`DynamicResources accepts [${nodes}] for a claim of ${count} devices`, async () => {
    const world = setUp();
    world.claim("mine", count);

    assert.deepEqual(await feasible(world, podWith("pod", "mine")), nodes);
  });
}

test("DynamicResources keeps a pod out of the queue until its claim exists", () => {
  const { plugin, claim } = setUp();
  assert.match(plugin.preEnqueue?.(podWith("pod", "mine")) ?? "", /"mine".* not found/);

  claim("mine", 1);

  assert.equal(plugin.preEnqueue?.(podWith("pod", "mine")), undefined);
  assert.equal(plugin.preEnqueue?.(makePod("plain")), undefined);
});

test("DynamicResources gives a device to one claim only, and frees it when the pod is not bound", async () => {
  const world = setUp();
  world.claim("first", 1);
  world.claim("second", 1);
  const [first, second] = [podWith("one", "first"), podWith("two", "second")];
  assert.deepEqual(await feasible(world, first), ["a", "b"]);

  world.plugin.reserve?.(first, "b");
  assert.deepEqual(await feasible(world, second), ["a"]);
  await world.plugin.unreserve?.(first, "b");
  assert.deepEqual(await feasible(world, second), ["a", "b"]);
});

test("DynamicResources frees what was not stored, even if it cannot undo what was", async () => {
  const failed = () => Promise.reject(new Error("the server is down"));
  let written = 0;
  const world = setUp({
    update: async (_: unknown, claim: ResourceClaim) => claim,
    updateStatus: async (_: unknown, claim: ResourceClaim) => (written++ === 0 ? claim : await failed()),
    patch: failed,
  });
  world.claim("first", 1);
  world.claim("second", 1);
  const both = ["first", "second"].map((name) => ({ name, resourceClaimName: name }));
  const plain = makePod("one", { resourceClaims: both });
  const pod = { ...plain, metadata: { ...plain.metadata, uid: "one" } };
  assert.deepEqual(await feasible(world, pod), ["a"]);
  world.plugin.reserve?.(pod, "a");
  await assert.rejects(async () => world.plugin.preBind?.(pod, "a", new AbortController().signal), /is down/);

  await assert.rejects(async () => world.plugin.unreserve?.(pod, "a"), /is down/);

  assert.deepEqual(await feasible(world, podWith("two", "second")), ["a", "b"]);
});

test("DynamicResources of a profile with other arguments does not give away the same device", async () => {
  const world = setUp();
  const other = { ...world, plugin: world.withArgs({ filterTimeout: "5s", bindingTimeout: "1m" }) };
  world.claim("first", 1);
  world.claim("second", 1);
  await feasible(world, podWith("one", "first"));
  assert.deepEqual(await feasible(other, podWith("two", "second")), ["a", "b"]);

  world.plugin.reserve?.(podWith("one", "first"), "b");

  assert.deepEqual(await feasible(other, podWith("two", "second")), ["a"]);
});

test("DynamicResources looks for devices on a node no longer than filterTimeout", async () => {
  const { withArgs, claim, snapshot } = setUp();
  claim("mine", 2);

  const plugin = withArgs({ filterTimeout: "1us", bindingTimeout: "10m" });

  assert.deepEqual(await feasible({ plugin, snapshot }, podWith("pod", "mine")), []);
});

test("DynamicResources waits for devices to become ready for as long as bindingTimeout", async () => {
  const { withArgs, informers, claim, snapshot, clock } = setUp();
  const plugin = withArgs({ filterTimeout: "10s", bindingTimeout: "2s" });
  const made = claim("mine", 1);
  const pod = podWith("pod", "mine");
  const result = { request: "gpu", driver, pool: "a", device: "gpu-0", bindingConditions: ["Ready"] };
  const allocation = { allocationTimestamp: "2020-01-01T00:00:00Z", devices: { results: [result] } };
  const reservedFor = [{ resource: "pods", name: "pod", uid: "pod" }];
  informers.put(ResourceClaim, { ...made, status: { allocation, reservedFor } });
  await plugin.prepare?.(pod, snapshot);
  plugin.reserve?.(pod, "a");

  const waiting = assert.rejects(plugin.untilReady?.(pod, "a")?.(new AbortController().signal) ?? Promise.resolve(), {
    message: "device binding timeout",
  });
  await clock.advance(3000);
  await waiting;
});

test("DynamicResources does nothing for a pod without claims", () => {
  const { plugin, snapshot } = setUp();
  const pod = makePod("plain");

  assert.equal(plugin.prepare?.(pod, snapshot), undefined);
  assert.equal(plugin.acrossNodes?.(pod, snapshot), undefined);
  assert.equal(plugin.candidates?.(pod), undefined);
});

const asksFor = (name: string, amount: string, resource = extendedResourceName): Pod => {
  const pod = makePod(name, { containers: [asking({ [resource]: amount })] });
  return { ...pod, metadata: { ...pod.metadata, uid: name } };
};

for (const [count, nodes] of cases) {
  test(`DynamicResources accepts [${nodes}] for ${count} of an extended resource of a class`, async () => {
    const world = setUp();

    assert.deepEqual(await feasible(world, asksFor("p", String(count))), nodes);
    assert.deepEqual(
      await feasible(world, asksFor("q", String(count), "deviceclass.resource.kubernetes.io/gpu")),
      nodes,
    );
  });
}

test("DynamicResources looks for no devices where a device plugin offers the resource", async () => {
  const world = setUp();
  world.snapshot.setNode(makeNode("c", { status: { allocatable: { ...roomy, [extendedResourceName]: "4" } } }));

  assert.deepEqual(await feasible(world, asksFor("p", "3")), ["c"]);
});

test("DynamicResources refuses nodes that lack a resource which no class stands behind", async () => {
  const world = setUp();
  const requests = { [extendedResourceName]: "1", "example.com/nic": "1" };
  const pod = makePod("p", { containers: [asking(requests)] });
  await world.plugin.prepare?.(pod, world.snapshot);

  const filter = world.plugin.acrossNodes?.(pod, world.snapshot)?.filter;

  assert.deepEqual(
    world.snapshot.nodes.map(({ slot }) => filter?.(slot)?.reasons),
    world.snapshot.nodes.map(() => ["cannot fit resource"]),
  );
});

test("DynamicResources counts devices for extended resources as soon as they are reserved", async () => {
  const world = setUp();
  const [first, second] = [asksFor("one", "1"), asksFor("two", "1")];
  await feasible(world, first);

  world.plugin.reserve?.(first, "b");
  assert.deepEqual(await feasible(world, second), ["a"]);
  await world.plugin.unreserve?.(first, "b");
  assert.deepEqual(await feasible(world, second), ["a", "b"]);
});

test("DynamicResources first removes the claim that an earlier attempt has left", async () => {
  const world = setUp();
  const pod = asksFor("p", "1");
  const owner = { apiVersion: "v1", kind: "Pod", name: "p", uid: "p", controller: true };
  const annotations = { "resource.kubernetes.io/extended-resource-claim": "true" };
  const metadata = { name: "p-extended-resources-1", namespace, ownerReferences: [owner], annotations };
  const left = world.informers.put(ResourceClaim, build(ResourceClaim, { metadata, spec: { devices: {} } }));

  assert.deepEqual(await feasible(world, pod), []);
  const outcome = await world.plugin.postFilter?.({ pod, rejections: new Map(), makeRoom: async () => undefined });
  assert.equal(outcome?.message, "deletion of ResourceClaim completed");

  const isGone = { type: "delete", object: left, trace: undefined } as const;
  const hint = world.plugin.retryOn?.objects?.find(({ resource }) => resource.kind === "ResourceClaim");
  assert.equal(hint?.mayHelp(pod, isGone as unknown as Parameters<typeof hint.mayHelp>[1]), true);
  world.informers.delete(ResourceClaim, left.metadata);
  assert.deepEqual(await feasible(world, pod), ["a", "b"]);
});

test("DynamicResources takes back what an earlier attempt has noted in a pod that needs no claim on its node", async () => {
  const patches: unknown[] = [];
  const world = setUp({
    patch: async (_: unknown, { metadata }: Pod, { body }: { body: { status: unknown } }) =>
      void patches.push(metadata.name, body.status),
  });
  const offering = makeNode("c", { status: { allocatable: { ...roomy, [extendedResourceName]: "4" } } });
  world.snapshot.setNode(offering);
  world.informers.put(Node, offering);
  const noted = { extendedResourceClaimStatus: { resourceClaimName: "gone", requestMappings: [] } };
  const ofClass = { ...asksFor("p", "3"), status: noted } as unknown as Pod;
  const ofPlugin = { ...asksFor("q", "3", "example.com/nic"), status: noted } as unknown as Pod;

  for (const pod of [ofClass, ofPlugin, asksFor("r", "3")]) {
    assert((await feasible(world, pod)).includes("c"));
    world.plugin.reserve?.(pod, "c");
    const storing = world.plugin.preBind?.(pod, "c", new AbortController().signal);
    assert.equal(
      storing === undefined,
      !pod.status?.extendedResourceClaimStatus,
      "a pod with nothing to store is bound at once",
    );
    await storing;
  }

  const none = { extendedResourceClaimStatus: null };
  assert.deepEqual(patches, ["p", none, "q", none]);
});

/** A server for claims that refuses one kind of call. What it stores is seen at once. */
function refusing(step: string, seen: () => ReturnType<typeof createFakeInformers>) {
  const store = (claim: ResourceClaim, parts = {}) => {
    const { resourceVersion: _, ...metadata } = claim.metadata;
    return seen().put(ResourceClaim, { ...claim, metadata: { ...metadata, name: "made" }, ...parts });
  };
  const answer = async <T>(name: string, value: () => T): Promise<T> => {
    if (name === step) throw new Error("the server is down");
    return value();
  };
  const keyOf = ({ name }: ResourceClaim["metadata"]) => ({ namespace, name });
  return {
    create: (_: unknown, claim: ResourceClaim) => answer("create", () => store(claim, { status: {} })),
    update: (_: unknown, claim: ResourceClaim) => answer("update", () => store(claim)),
    updateStatus: (_: unknown, claim: ResourceClaim) => answer("updateStatus", () => store(claim)),
    patch: () => answer("patch", () => undefined),
    get: async ({ kind }: { kind: string }, ref: ResourceClaim["metadata"]) =>
      kind === "Pod" ? makePod("p") : seen().of(ResourceClaim).get(keyOf(ref)),
    delete: async (_: unknown, ref: ResourceClaim["metadata"]) => seen().delete(ResourceClaim, keyOf(ref)),
  };
}

for (const step of ["create", "update", "updateStatus", "patch", "the binding"]) {
  test(`DynamicResources leaves no claim and no used device if ${step} fails for a pod with an extended resource`, async () => {
    const world: ReturnType<typeof setUp> = setUp(refusing(step, () => world.informers));
    const pod = asksFor("p", "2");
    assert.deepEqual(await feasible(world, pod), ["a"]);
    world.plugin.reserve?.(pod, "a");
    const storing = world.plugin.preBind?.(pod, "a", new AbortController().signal);
    if (step === "the binding") await storing;
    else await assert.rejects(async () => storing, /is down/);

    await world.plugin.unreserve?.(pod, "a");

    assert.deepEqual(world.informers.of(ResourceClaim).list(), []);
    assert.deepEqual(await feasible(world, pod), ["a"]);
  });
}
