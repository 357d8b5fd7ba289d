import assert from "node:assert/strict";
import { test } from "node:test";
import { Event } from "#api/core/event.ts";
import { Pod } from "#api/core/pod.ts";
import { PriorityClass } from "#api/scheduling/priority-class.ts";
import { serviceUnavailable } from "#api/status.ts";
import { type Client } from "#client/client.ts";
import { type Clock } from "#lib/async/clock.ts";
import { seededRandom } from "#lib/data/random.ts";
import { asking } from "#testing/scheduling.ts";
import { type ClusterOptions, startCluster } from "#testing/start-cluster.ts";
import { type SchedulerPlugin } from "../framework.ts";
import { defaultProfile } from "../profiles.ts";
import { runScheduler } from "../scheduler.ts";

/** A cluster whose only node has room for two pods of one CPU. */
async function startFullCluster(stopMs = 0, components: ClusterOptions["components"] = () => []) {
  const capacity = { cpu: "2", memory: "8Gi", pods: "20" };
  const cluster = await startCluster({ nodes: 1, simulation: { capacity, delays: { stopMs } }, components });
  const { client } = cluster;
  for (const [name, value] of Object.entries({ high: 1000, middle: 500 })) {
    await client.create(PriorityClass, { metadata: { name }, value });
  }
  const add = async (name: string, priorityClassName = "", cpu = "1", more: object = {}) => {
    const spec = { containers: [asking({ cpu })], ...(priorityClassName ? { priorityClassName } : {}), ...more };
    await client.create(Pod, { metadata: { name, namespace: "default" }, spec });
    await cluster.clock.advance(1000);
  };
  const phases = async () =>
    Object.fromEntries(
      (await client.list(Pod, { namespace: "default" })).items.map(({ metadata, status }) => [
        metadata.name,
        status?.phase,
      ]),
    );
  return { cluster, client, add, phases, [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose]() };
}

test("a more important pod takes the place of the least important one", async () => {
  await using world = await startFullCluster();
  const { cluster, client, add, phases } = world;
  await add("one");
  await add("two", "middle");
  await add("three", "high");
  await cluster.clock.advance(120_000);

  assert.deepEqual(await phases(), { two: "Running", three: "Running" });
  const events = (await client.list(Event, { namespace: "default" })).items;
  const { uid } = (await client.get(Pod, { namespace: "default", name: "three" })).metadata;
  const preempted = events.filter(({ reason }) => reason === "Preempted");
  assert.deepEqual(
    preempted.map(({ involvedObject, message }) => `${involvedObject.name}: ${message}`),
    [`one: Preempted by pod ${uid} on node node-1`],
  );
});

test("a pod waits for its victims on the node that it has nominated, and others do not take it", async () => {
  await using world = await startFullCluster(10_000);
  const { cluster, client, add, phases } = world;
  await add("one", "", "2");
  await add("three", "high");
  const waiting = await client.get(Pod, { namespace: "default", name: "three" });
  await add("two", "middle", "2");

  assert.equal(waiting.status?.nominatedNodeName, "node-1");
  const victim = await client.get(Pod, { namespace: "default", name: "one" });
  assert.ok(victim.metadata.deletionTimestamp);
  assert.deepEqual(
    victim.status?.conditions
      ?.filter(({ type }) => type === "DisruptionTarget")
      .map(({ reason, message }) => [reason, message]),
    [["PreemptionByScheduler", "default-scheduler: preempting to accommodate a higher priority pod"]],
  );
  await cluster.clock.advance(120_000);
  assert.deepEqual(await phases(), { two: "Pending", three: "Running" });
});

const rival = { namespace: "default", name: "rival" };
const nominate = (client: Client, nominatedNodeName: string | null) =>
  client.patch(Pod, rival, { type: "merge", body: { status: { nominatedNodeName } } }, { subresource: "status" });
const ends: Record<string, (client: Client) => Promise<unknown>> = {
  "is taken back": (client) => nominate(client, null),
  "ends with its pod": (client) => client.delete(Pod, rival),
};

for (const [how, end] of Object.entries(ends)) {
  test(`a pod that leaves room for a nominated one is tried again when the nomination ${how}`, async () => {
    await using world = await startFullCluster();
    const { cluster, client, add, phases } = world;
    await add("rival", "", "2", { nodeSelector: { on: "no-node" } });
    await nominate(client, "node-1");
    await add("other");
    assert.equal((await phases()).other, "Pending");

    await end(client);
    await cluster.clock.advance(60_000);

    assert.equal((await phases()).other, "Running");
  });
}

/** The first time that the scheduler says which node a pod waits for, the server does not answer. */
function refusingOnce(client: Client): Client {
  let isFirst = true;
  return {
    ...client,
    async patch(resource, ref, patch, options) {
      const { status } = patch.body as Partial<Pod>;
      if (!status?.nominatedNodeName || !isFirst) return await client.patch(resource, ref, patch, options);
      isFirst = false;
      throw serviceUnavailable("the server is unavailable at the moment");
    },
  };
}

/** The server takes its time to remove the node for which a pod waits. */
const removingSlowly = (client: Client, clock: Clock): Client => ({
  ...client,
  async patch(resource, ref, patch, options) {
    const { status } = patch.body as { readonly status?: { readonly nominatedNodeName?: null } };
    if (status?.nominatedNodeName === null) await clock.sleep(5000, options?.signal);
    return await client.patch(resource, ref, patch, options);
  },
});

const schedulerName = "own";

/** The full cluster with one more scheduler. */
const startWithScheduler = (change: (client: Client, clock: Clock) => Client, plugin?: SchedulerPlugin, stopMs = 0) =>
  startFullCluster(stopMs, (deps) => [
    async (stop) => {
      const { plugins } = defaultProfile(deps);
      const profile = { schedulerName, plugins: plugin ? [...plugins, plugin] : plugins };
      const { recorder } = deps;
      assert(recorder);
      const setup = () => ({ profiles: [profile] });
      const client = change(deps.client, deps.clock);
      await runScheduler({ ...deps, client, recorder, random: seededRandom(1), setup }, stop);
    },
  ]);

test("victims end although the server does not know which node the pod waits for", async () => {
  await using world = await startWithScheduler(refusingOnce);
  const { cluster, add, phases } = world;
  await add("one", "", "2", { schedulerName });
  await add("three", "high", "2", { schedulerName });
  await cluster.clock.advance(120_000);

  assert.deepEqual(await phases(), { three: "Running" });
});

test("what is left of a binding that failed does not clear the node for which the pod waits since", async () => {
  let isFirst = true;
  const failing: SchedulerPlugin = {
    name: "FailsOnce",
    async preBind({ metadata }) {
      if (metadata.name !== "three" || !isFirst) return;
      isFirst = false;
      throw new Error("no volume");
    },
  };
  await using world = await startWithScheduler(removingSlowly, failing, 30_000);
  const { cluster, client, add, phases } = world;
  await cluster.clock.advance(1000);
  await client.create(Pod, {
    metadata: { name: "three", namespace: "default" },
    spec: { containers: [asking({ cpu: "2" })], priorityClassName: "high", schedulerName },
  });
  await add("one", "", "2", { schedulerName });
  await cluster.clock.advance(12_000);

  const waiting = await client.get(Pod, { namespace: "default", name: "three" });
  const victim = await client.get(Pod, { namespace: "default", name: "one" });
  await cluster.clock.advance(120_000);

  assert.ok(victim.metadata.deletionTimestamp);
  assert.equal(waiting.status?.nominatedNodeName, "node-1");
  assert.deepEqual(await phases(), { three: "Running" });
});
