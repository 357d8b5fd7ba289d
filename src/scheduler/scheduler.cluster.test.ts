import assert from "node:assert/strict";
import { test } from "node:test";
import { Event } from "#api/core/event.ts";
import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { ServiceAccount } from "#api/core/service-account.ts";
import { type InputOf } from "#api/resource.ts";
import { conflict } from "#api/status.ts";
import { type Client } from "#client/client.ts";
import { seededRandom } from "#lib/data/random.ts";
import { asking } from "#testing/scheduling.ts";
import { startCluster, type TestCluster } from "#testing/start-cluster.ts";
import { type SchedulerPlugin } from "./framework.ts";
import { defaultProfile } from "./profiles.ts";
import { runScheduler } from "./scheduler.ts";

const noRoom =
  "0/1 nodes are available: 1 Insufficient cpu. " +
  "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.";

type PodSpec = Partial<InputOf<Pod>["spec"]>;
type World = Awaited<ReturnType<typeof startWorld>>;

/** The API server and the scheduler, without other components that could change anything. */
async function startWorld(plugins: (client: Client) => readonly SchedulerPlugin[] = () => []) {
  const cluster: TestCluster = await startCluster({
    controllers: false,
    components: (deps) => [
      async (signal) => {
        const profile = defaultProfile(deps);
        const all = { ...profile, plugins: [...plugins(deps.client), ...profile.plugins] };
        const { recorder } = deps;
        assert(recorder);
        await runScheduler({ ...deps, recorder, random: seededRandom(1), setup: () => ({ profiles: [all] }) }, signal);
      },
    ],
  });
  const { client, clock } = cluster;
  await client.create(ServiceAccount, { metadata: { name: "default", namespace: "default" } });
  const get = (name: string) => client.get(Pod, { namespace: "default", name });
  const settle = async () => {
    // On a busy machine the scheduler pauses between two decisions.
    for (let pause = 0; pause < 3; pause++) await clock.settle();
  };
  return {
    client,
    clock,
    get,
    async addNode(name: string, { spec = {}, allocatable = {} }: NodeParts = {}): Promise<void> {
      const all = { cpu: "4", memory: "8Gi", pods: "10", ...allocatable };
      await client.create(Node, { metadata: { name }, spec: { taints: [], ...spec }, status: { allocatable: all } });
      const body = { spec: { taints: null, ...spec }, status: { allocatable: all } };
      await client.patch(Node, { name }, { type: "merge", body });
      await client.patch(Node, { name }, { type: "merge", body }, { subresource: "status" });
      await settle();
    },
    async addPod(name: string, spec: PodSpec = {}, metadata: Partial<Pod["metadata"]> = {}): Promise<Pod> {
      const containers = [asking({ cpu: "1" })];
      const pod = { metadata: { name, namespace: "default", ...metadata }, spec: { containers, ...spec } };
      await client.create(Pod, pod);
      await settle();
      return await get(name);
    },
    nodeOf: async (name: string) => (await get(name)).spec.nodeName,
    conditionOf: async (name: string) =>
      (await get(name)).status?.conditions?.find(({ type }) => type === "PodScheduled"),
    events: async (name: string) =>
      (await client.list(Event, { namespace: "default" })).items
        .filter(({ involvedObject }) => involvedObject.name === name)
        .map(({ type, reason, message }) => `${type} ${reason}: ${message}`),
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  };
}
interface NodeParts {
  spec?: InputOf<Node>["spec"];
  allocatable?: Record<string, string>;
}

test("the scheduler binds a pod and reports it", async () => {
  await using world = await startWorld();
  await world.addNode("a");

  const pod = await world.addPod("web");

  assert.equal(pod.spec.nodeName, "a");
  assert.equal((await world.conditionOf("web"))?.status, "True");
  assert.deepEqual(await world.events("web"), ["Normal Scheduled: Successfully assigned default/web to a"]);
});

test("the scheduler counts pods that it has bound", async () => {
  await using world = await startWorld();
  for (const name of ["a", "b"]) await world.addNode(name, { allocatable: { cpu: "2" } });

  for (const name of ["p1", "p2", "p3", "p4", "p5"]) await world.addPod(name);

  const nodes = await Promise.all(["p1", "p2", "p3", "p4"].map((name) => world.nodeOf(name)));
  assert.deepEqual(nodes.toSorted(), ["a", "a", "b", "b"]);
  assert.equal(await world.nodeOf("p5"), undefined);
});

test("the scheduler counts pods whose binding is in progress", async () => {
  let release = (): void => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  await using world = await startWorld(() => [{ name: "Slow", preBind: () => gate }]);
  await world.addNode("a", { allocatable: { cpu: "1" } });

  await world.addPod("first");
  await world.addPod("second");
  assert.equal((await world.conditionOf("second"))?.message, noRoom);
  release();
  await world.clock.settle();

  assert.equal(await world.nodeOf("first"), "a");
  assert.equal(await world.nodeOf("second"), undefined);
});

test("a pod that fits nowhere gets the reason, once", async () => {
  await using world = await startWorld();
  const pod = await world.addPod("web");
  assert.equal(pod.spec.nodeName, undefined);
  assert.equal((await world.conditionOf("web"))?.message, "no nodes available to schedule pods");
  assert.deepEqual(await world.events("web"), ["Warning FailedScheduling: no nodes available to schedule pods"]);

  await world.addNode("small", { allocatable: { cpu: "500m" } });
  await world.clock.advance(2000);

  const message =
    "0/1 nodes are available: 1 Insufficient cpu. " +
    "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.";
  const { lastTransitionTime, ...condition } = (await world.conditionOf("web")) ?? {};
  assert.ok(lastTransitionTime);
  assert.deepEqual(condition, {
    type: "PodScheduled",
    status: "False",
    reason: "Unschedulable",
    message,
    observedGeneration: 1,
  });
  const { resourceVersion } = (await world.get("web")).metadata;
  await world.clock.advance(600_000);
  assert.equal((await world.get("web")).metadata.resourceVersion, resourceVersion);
});

const cordoned = { spec: { unschedulable: true } };
const tainted = { spec: { taints: [{ key: "only", effect: "NoSchedule" }] } };
const retries: { name: string; node?: NodeParts; spec?: PodSpec; help(world: World): Promise<unknown> }[] = [
  { name: "a node is added", help: (world) => world.addNode("b") },
  {
    name: "a node is uncordoned",
    node: cordoned,
    help: ({ client }) =>
      client.patch(Node, { name: "a" }, { type: "merge", body: { spec: { unschedulable: false, taints: null } } }),
  },
  {
    name: "a node loses its taint",
    node: tainted,
    help: ({ client }) => client.patch(Node, { name: "a" }, { type: "merge", body: { spec: { taints: null } } }),
  },
  {
    name: "a node gets larger",
    node: { allocatable: { cpu: "0" } },
    help: ({ client }) =>
      client.patch(
        Node,
        { name: "a" },
        { type: "merge", body: { status: { allocatable: { cpu: "4", memory: "8Gi", pods: "10" } } } },
        { subresource: "status" },
      ),
  },
  {
    name: "a node gets the label",
    node: {},
    spec: { nodeSelector: { disk: "ssd" } },
    help: ({ client }) =>
      client.patch(Node, { name: "a" }, { type: "merge", body: { metadata: { labels: { disk: "ssd" } } } }),
  },
  {
    name: "a pod that occupies the node is deleted",
    node: { allocatable: { cpu: "1" } },
    help: ({ client }) => client.delete(Pod, { namespace: "default", name: "filler" }, { gracePeriodSeconds: 0 }),
  },
  {
    name: "a pod that occupies the node has finished",
    node: { allocatable: { cpu: "1" } },
    help: ({ client }) =>
      client.patch(
        Pod,
        { namespace: "default", name: "filler" },
        { type: "merge", body: { status: { phase: "Succeeded" } } },
        { subresource: "status" },
      ),
  },
  {
    name: "it gets a toleration",
    node: tainted,
    help: ({ client }) =>
      client.patch(
        Pod,
        { namespace: "default", name: "web" },
        { type: "json", body: [{ op: "add", path: "/spec/tolerations/-", value: { operator: "Exists" } }] },
      ),
  },
];
for (const { name, node, spec, help } of retries) {
  test(`a waiting pod is bound when ${name}`, async () => {
    await using world = await startWorld();
    if (node) await world.addNode("a", node);
    if (node?.allocatable?.cpu === "1") await world.addPod("filler");
    await world.addPod("web", spec);
    await world.clock.advance(60_000);
    assert.equal(await world.nodeOf("web"), undefined);

    await help(world);
    await world.clock.settle();

    assert.ok(await world.nodeOf("web"));
    assert.equal((await world.conditionOf("web"))?.status, "True");
  });
}

test("a change that cannot help wakes no pod", async () => {
  await using world = await startWorld();
  await world.addNode("a", cordoned);
  await world.addPod("web");
  await world.clock.advance(60_000);
  const events = await world.events("web");

  await world.client.patch(Node, { name: "a" }, { type: "merge", body: { metadata: { labels: { x: "y" } } } });
  await world.addNode("b", cordoned);
  await world.clock.advance(60_000);

  assert.deepEqual(await world.events("web"), events);
});

test("a pod with gates is placed once they are gone", async () => {
  await using world = await startWorld();
  await world.addNode("a");
  const pod = await world.addPod("web", { schedulingGates: [{ name: "example.com/wait" }] });
  assert.equal(pod.spec.nodeName, undefined);
  const condition = await world.conditionOf("web");
  assert.deepEqual([condition?.status, condition?.reason], ["False", "SchedulingGated"]);
  assert.equal(condition?.message, "Scheduling is blocked due to non-empty scheduling gates");
  assert.deepEqual(await world.events("web"), []);

  await world.client.patch(Pod, pod, { type: "merge", body: { spec: { schedulingGates: null } } });
  await world.clock.settle();

  assert.equal(await world.nodeOf("web"), "a");
});

test("pods of other schedulers are left alone", async () => {
  await using world = await startWorld();
  await world.addNode("a", cordoned);

  const other = await world.addPod("other", { schedulerName: "somebody-else" });
  const preset = await world.addPod("preset", { nodeName: "a" });

  assert.equal(other.spec.nodeName, undefined);
  assert.equal(other.status?.conditions, undefined);
  assert.equal(preset.spec.nodeName, "a");
  assert.deepEqual([...(await world.events("other")), ...(await world.events("preset"))], []);
});

test("pods that were created with a node are counted there", async () => {
  await using world = await startWorld();
  await world.addNode("a", { allocatable: { cpu: "1" } });
  await world.addPod("preset", { nodeName: "a" });

  const pod = await world.addPod("web");

  assert.equal(pod.spec.nodeName, undefined);
});

test("a pod that is being deleted is not placed", async () => {
  await using world = await startWorld();
  await world.addPod("web", {}, { finalizers: ["example.com/keep"] });
  await world.client.delete(Pod, { namespace: "default", name: "web" });
  await world.clock.settle();

  await world.addNode("a");
  await world.clock.advance(60_000);

  assert.equal(await world.nodeOf("web"), undefined);
});

test("a nominated node that a user set does no harm", async () => {
  await using world = await startWorld();
  await world.addPod("web");
  const body = { status: { nominatedNodeName: "gone" } };
  await world.client.patch(
    Pod,
    { namespace: "default", name: "web" },
    { type: "merge", body },
    { subresource: "status" },
  );
  await world.clock.advance(60_000);

  await world.addNode("a");
  await world.clock.settle();

  const { spec, status } = await world.get("web");
  assert.equal(spec.nodeName, "a");
  assert.equal(status?.nominatedNodeName, undefined);
});

/** Fails the first binding with the result of `fail`. */
const failsOnce = (fail: (pod: Pod) => Promise<void>): SchedulerPlugin => {
  let isFirst = true;
  return {
    name: "FailsOnce",
    async bind(pod) {
      if (!isFirst) return false;
      isFirst = false;
      await fail(pod);
      return false;
    },
  };
};

test("a pod whose binding fails is undone, reported and tried again", async () => {
  await using world = await startWorld(() => [
    failsOnce(async () => {
      throw new Error("binding refused");
    }),
  ]);
  await world.addNode("a", { allocatable: { cpu: "1" } });

  await world.addPod("web");

  const condition = await world.conditionOf("web");
  assert.deepEqual([condition?.status, condition?.reason], ["False", "SchedulerError"]);
  assert.equal(condition?.message, 'running Bind plugin "FailsOnce": binding refused');
  await world.clock.advance(1000);
  assert.equal(await world.nodeOf("web"), "a");
});

test("the room of a pod whose binding failed goes to a waiting pod", async () => {
  await using world = await startWorld(() => [
    failsOnce(async (pod) => {
      await Promise.resolve();
      throw conflict(Pod, pod.metadata.name, "not now");
    }),
  ]);
  await world.addNode("a", { allocatable: { cpu: "1" } });
  const make = (name: string) =>
    world.client.create(Pod, {
      metadata: { name, namespace: "default" },
      spec: { containers: [asking({ cpu: "1" })] },
    });

  await Promise.all([make("first"), make("second")]);
  await world.clock.settle();

  const nodes = [await world.nodeOf("first"), await world.nodeOf("second")];
  assert.equal(nodes.filter((node) => node === "a").length, 1);
});

test("a pod that somebody else binds first is counted where it is", async () => {
  await using world = await startWorld((client) => [
    failsOnce(async ({ metadata }) => {
      const binding = { metadata: { name: metadata.name }, target: { kind: "Node", name: "b" } };
      const path = `/api/v1/namespaces/default/pods/${metadata.name}/binding`;
      const body = JSON.stringify({ apiVersion: "v1", kind: "Binding", ...binding });
      await client.raw("POST", path, { body: Buffer.from(body), headers: { "content-type": "application/json" } });
    }),
  ]);
  await world.addNode("a", { allocatable: { cpu: "2" } });
  await world.addNode("b", { allocatable: { cpu: "1", memory: "1Gi" } });

  await world.addPod("first");
  assert.equal(await world.nodeOf("first"), "b");
  const rest = [await world.addPod("second"), await world.addPod("third")];

  assert.deepEqual(
    rest.map(({ spec }) => spec.nodeName),
    ["a", "a"],
  );
  await world.clock.advance(60_000);
  assert.equal((await world.conditionOf("first"))?.status, "True");
});

test("a pod that is deleted during its binding leaves nothing behind", async () => {
  await using world = await startWorld((client) => [
    failsOnce(async (pod) => {
      await client.delete(Pod, pod, { gracePeriodSeconds: 0 });
    }),
  ]);
  await world.addNode("a", { allocatable: { cpu: "1" } });
  await world.client.create(Pod, {
    metadata: { name: "gone", namespace: "default" },
    spec: { containers: [asking({ cpu: "1" })] },
  });
  await world.clock.settle();

  const pod = await world.addPod("next");

  assert.equal(pod.spec.nodeName, "a");
  await world.clock.advance(60_000);
  assert.equal((await world.client.list(Pod, { namespace: "default" })).items.length, 1);
});

test("a plugin's reservation is undone when the pod is not bound", async () => {
  const calls: string[] = [];
  const claims: SchedulerPlugin = {
    name: "Claims",
    reserve: (pod, node) => void calls.push(`reserve ${pod.metadata.name} ${node}`),
    unreserve: (pod, node) => void calls.push(`unreserve ${pod.metadata.name} ${node}`),
    postBind: (pod, node) => void calls.push(`postBind ${pod.metadata.name} ${node}`),
  };
  const refusal = failsOnce(async () => {
    throw new Error("not yet");
  });
  await using world = await startWorld(() => [claims, refusal]);
  await world.addNode("a");
  await world.addPod("web");
  await world.clock.advance(1000);

  assert.deepEqual(calls, ["reserve web a", "unreserve web a", "reserve web a", "postBind web a"]);
});

test("pods with a higher priority go first", async () => {
  await using world = await startWorld();
  await world.addNode("a", { ...cordoned, allocatable: { cpu: "2" } });
  await world.addPod("low");
  await world.addPod("middle", { priorityClassName: "system-cluster-critical" });
  await world.addPod("high", { priorityClassName: "system-node-critical" });
  await world.clock.advance(60_000);

  // One change that helps all of them: between two of them, the scheduler may have tried the first pods in vain.
  const body = { spec: { unschedulable: false } };
  await world.client.patch(Node, { name: "a" }, { type: "merge", body });
  await world.clock.advance(1000);

  const nodes = await Promise.all(["high", "middle", "low"].map((name) => world.nodeOf(name)));
  assert.deepEqual(nodes, ["a", "a", undefined]);
});
