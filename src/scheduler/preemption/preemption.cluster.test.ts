import assert from "node:assert/strict";
import { test } from "node:test";
import { Event } from "#api/core/event.ts";
import { Pod } from "#api/core/pod.ts";
import { PriorityClass } from "#api/scheduling/priority-class.ts";
import { asking } from "#testing/scheduling.ts";
import { startCluster } from "#testing/start-cluster.ts";

/** A cluster whose only node has room for two pods of one CPU. */
async function startFullCluster(stopMs = 0) {
  const capacity = { cpu: "2", memory: "8Gi", pods: "20" };
  const cluster = await startCluster({ nodes: 1, simulation: { capacity, delays: { stopMs } } });
  const { client } = cluster;
  for (const [name, value] of Object.entries({ high: 1000, middle: 500 })) {
    await client.create(PriorityClass, { metadata: { name }, value });
  }
  const add = async (name: string, priorityClassName = "", cpu = "1") => {
    const spec = { containers: [asking({ cpu })], ...(priorityClassName ? { priorityClassName } : {}) };
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
