import assert from "node:assert/strict";
import { test } from "node:test";
import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { ServiceAccount } from "#api/core/service-account.ts";
import { type InputOf } from "#api/resource.ts";
import { isConflict } from "#api/status.ts";
import { type Client } from "#client/client.ts";
import { type EventRecorder } from "#client/events.ts";
import { silentLog } from "#lib/process/log.ts";
import { createFakeInformers } from "#testing/fake-informers.ts";
import { startCluster } from "#testing/start-cluster.ts";
import { disruptPod } from "./disrupt-pod.ts";
import { nodeLifecycleController } from "./node-lifecycle.ts";

const { signal } = new AbortController();
const podOn = (nodeName: string): InputOf<Pod> => ({
  metadata: { name: "p", namespace: "default" },
  spec: { nodeName, containers: [{ name: "c", image: "i" }] },
  status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] },
});

/** A server whose informers still show what is gone, and notes of the events and writes that are sent. */
async function startLate() {
  const cluster = await startCluster({ controllers: false });
  const told: string[] = [];
  const events: EventRecorder = {
    event: (about, _type, reason) => void told.push(`${"name" in about ? about.name : ""} ${reason}`),
    async flush() {},
    async [Symbol.asyncDispose]() {},
  };
  const calls: string[] = [];
  const client: Client = {
    ...cluster.client,
    patch(...args) {
      calls.push("patch");
      return cluster.client.patch(...args);
    },
    delete(...args) {
      calls.push("delete");
      return cluster.client.delete(...args);
    },
  };
  const informers = createFakeInformers();
  const deps = { client, informers, clock: cluster.clock, log: silentLog, events };
  return { cluster, deps, informers, told, calls, [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose]() };
}

test("node-lifecycle tells nothing of a pod that is gone", async () => {
  await using late = await startLate();
  const { cluster, informers, deps } = late;
  const stopped = { conditions: [{ type: "Ready", status: "False", lastTransitionTime: "2026-01-01T08:00:00Z" }] };
  const node = await cluster.client.create(Node, { metadata: { name: "a" }, status: stopped });
  informers.put(Node, node);
  informers.put(Pod, podOn("a"));

  await nodeLifecycleController()(deps).reconcile(node, signal);

  assert.deepEqual(late.told, ["a RegisteredNode"]);
});

test("disruptPod() deletes nothing if the pod was gone when it was to be told why", async () => {
  await using late = await startLate();
  const pod = late.informers.put(Pod, podOn("a"));

  await disruptPod(late.deps, { pod, reason: "DeletionByTaintManager", message: "why" }, signal);

  assert.deepEqual(late.calls, ["patch"]);
});

test("disruptPod() comes back to a pod that somebody else has changed", async () => {
  await using late = await startLate();
  const { cluster, deps } = late;
  // Without it the pod waits for the controller that makes it, and here that one does not run.
  await cluster.client.create(ServiceAccount, { metadata: { name: "default", namespace: "default" } });
  const pod = await cluster.client.create(Pod, podOn("a"));
  await cluster.client.patch(Pod, pod, { type: "merge", body: { metadata: { labels: { a: "b" } } } });

  await assert.rejects(disruptPod(deps, { pod, reason: "DeletionByTaintManager", message: "why" }, signal), isConflict);

  assert.deepEqual(late.calls, ["patch"]);
});
