import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { test } from "node:test";
import { Pod } from "#api/core/pod.ts";
import { ResourceClaim } from "#api/devices/resource-claim.ts";
import type { Client } from "#client/client.ts";
import { systemClock } from "#lib/async/clock.ts";
import { build } from "#testing/build.ts";
import { startDeviceDriver } from "#testing/peers/device-driver.ts";
import { ClaimManager } from "./claim-manager.ts";
import { draService } from "./dra-calls.ts";
import { podClaims } from "./pod-claims.ts";

const name = "gpu.example.com";
const results = [{ request: "gpu", driver: name, pool: "p", device: "d" }];

const claimFor = (...pods: string[]): ResourceClaim => claimNamed("c", ...pods);
const claimNamed = (claim: string, ...pods: string[]): ResourceClaim =>
  build(ResourceClaim, {
    metadata: { name: claim },
    spec: { devices: {} },
    status: {
      allocation: { devices: { results } },
      reservedFor: pods.map((pod) => ({ resource: "pods", name: pod, uid: `uid-${pod}` })),
    },
  });
const podOf = (pod: string, claim = "c"): Pod =>
  build(Pod, {
    metadata: { name: pod },
    spec: {
      resourceClaims: [{ name: "devices", resourceClaimName: claim }],
      containers: [
        { name: "whole", image: "a", resources: { claims: [{ name: "devices" }] } },
        { name: "part", image: "a", resources: { claims: [{ name: "devices", request: "gpu" }] } },
        { name: "other", image: "a", resources: { claims: [{ name: "devices", request: "network" }] } },
        { name: "none", image: "a" },
      ],
    },
  });

/** A manager with a driver, in a directory of their own. */
async function setUp() {
  const dir = await mkdtemp(`${tmpdir()}/claims-`);
  const file = `${dir}/state.json`;
  const driver = await startDeviceDriver(dir, name);
  const info = { type: "DRAPlugin", name, endpoint: `${dir}/${name}.sock`, versions: [draService] };
  const open = () => ClaimManager.open({ file, clock: systemClock });
  return {
    driver,
    file,
    info,
    open,
    async [Symbol.asyncDispose]() {
      await driver[Symbol.asyncDispose]();
      await rm(dir, { recursive: true });
    },
  };
}

test("a claim is prepared once for two pods, and undone after the last of them, also by a new kubelet", async () => {
  await using world = await setUp();
  const { driver } = world;
  using manager = await world.open();
  manager.register(world.info);
  const read = async () => claimFor("a", "b");

  await manager.prepare(podOf("a"), read);
  await manager.prepare(podOf("b"), read);
  assert.deepEqual(driver.calls, ["prepare c"]);
  const devices = podOf("a").spec.containers.map((container) => manager.devicesOf(podOf("a"), container));
  assert.deepEqual(devices, [[`${name}/gpu=c`], [`${name}/gpu=c`], [], []]);

  await manager.unprepare(podOf("a"));
  assert.deepEqual(driver.calls, ["prepare c"]);
  using next = await world.open();
  next.register(world.info);
  await next.unprepare(podOf("b"));
  await next.unprepare(podOf("b"));
  assert.deepEqual(driver.calls, ["prepare c", "unprepare c"]);
});

test("containers get the devices of the claim that the scheduler made for their extended resources", async () => {
  await using world = await setUp();
  using manager = await world.open();
  manager.register(world.info);
  const resource = "example.com/gpu";
  const limits = { [resource]: "1" };
  const mapping = (containerName: string, requestName: string) => ({
    containerName,
    resourceName: resource,
    requestName,
  });
  const pod = build(Pod, {
    metadata: { name: "a" },
    spec: {
      containers: [
        { name: "main", image: "a", resources: { limits, requests: limits } },
        { name: "other", image: "a", resources: { limits, requests: limits } },
        { name: "none", image: "a" },
      ],
    },
    status: {
      extendedResourceClaimStatus: {
        resourceClaimName: "c",
        requestMappings: [mapping("main", "gpu"), mapping("other", "container-1-request-0"), mapping("none", "gpu")],
      },
    },
  });

  const claims = podClaims(manager, { get: async () => claimFor("a") } as unknown as Client);
  await claims.prepare(pod);

  assert.deepEqual(
    pod.spec.containers.map((container) => claims.devicesOf(pod, container)),
    [[`${name}/gpu=c`], [], []],
  );
  await claims.unprepare(pod);
  assert.deepEqual(world.driver.calls, ["prepare c", "unprepare c"]);
});

test("a pod waits for its driver, and for the driver to succeed", async () => {
  await using world = await setUp();
  using manager = await world.open();
  const read = async () => claimFor("a");

  await assert.rejects(manager.prepare(podOf("a"), read), {
    message: `ResourceClaim c: DRA driver ${name} is not registered`,
  });
  manager.register(world.info);
  world.driver.refusal = "no power";
  await assert.rejects(manager.prepare(podOf("a"), read), {
    message: "NodePrepareResources failed for ResourceClaim c: no power",
  });
  world.driver.refusal = "";
  await manager.prepare(podOf("a"), read);
});

test("a claim that takes long holds up no other claims", async () => {
  await using world = await setUp();
  using manager = await world.open();
  manager.register(world.info);
  const slow = Promise.withResolvers<ResourceClaim>();

  const waiting = manager.prepare(podOf("a"), () => slow.promise);
  await manager.prepare(podOf("b", "quick"), async () => claimNamed("quick", "b"));
  await manager.unprepare(podOf("b", "quick"));
  slow.resolve(claimFor("a"));
  await waiting;

  assert.deepEqual(world.driver.calls, ["prepare quick", "unprepare quick", "prepare c"]);
});

test("a kubelet that cannot read what was prepared does not forget it", async () => {
  await using world = await setUp();
  await writeFile(world.file, "[{");

  await assert.rejects(world.open(), /state\.json: .*: restore the file, or delete it/);
});

test("a pod gets nothing of a claim that is not reserved for it", async () => {
  await using world = await setUp();
  using manager = await world.open();
  manager.register(world.info);

  await assert.rejects(
    manager.prepare(podOf("thief"), async () => claimFor("a")),
    {
      message: "pod thief (uid-thief) is not allowed to use ResourceClaim c (uid-c)",
    },
  );
  assert.deepEqual(world.driver.calls, []);
});

test("a driver that speaks no version of ours is refused", async () => {
  await using world = await setUp();
  using manager = await world.open();

  assert.throws(
    () => manager.register({ ...world.info, versions: ["v1alpha1.DRAPlugin"] }),
    /none of services supported/,
  );
});
