import assert from "node:assert/strict";
import { test } from "node:test";
import { Lease } from "#api/coordination/lease.ts";
import { Event } from "#api/core/event.ts";
import { Node, type Taint } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { findCondition } from "#api/meta/condition.ts";
import { isNotFound } from "#api/status.ts";
import { runReconcilers } from "#runtime/run-reconciler.ts";
import { heartbeats, podRunner } from "#testing/pod-runner.ts";
import { startCluster, type TestCluster } from "#testing/start-cluster.ts";

const shown = (taints: readonly Taint[]) => taints.map(({ key, effect }) => `${key.split("/")[1]}:${effect}`);
/** Two nodes, of which the first stops reporting when the test says so. */
async function startTwoNodes(): Promise<TestCluster & { silence(): void }> {
  const silent = new AbortController();
  const cluster = await startCluster({
    components: (deps) => [
      (stop) => runReconcilers([podRunner()], deps, stop),
      (stop) => heartbeats(deps, ["b"], stop),
      (stop) => heartbeats(deps, ["a"], AbortSignal.any([stop, silent.signal])).catch(() => undefined),
    ],
  });
  const resources = { cpu: "100", memory: "100Gi", pods: "100" };
  const conditions = [{ type: "Ready", status: "True" }];
  for (const name of ["a", "b"]) {
    const status = { capacity: resources, allocatable: resources, conditions };
    await cluster.client.create(Node, { metadata: { name }, status });
  }
  await cluster.settle();
  return { ...cluster, silence: () => silent.abort() };
}

const podOn = (name: string, nodeName: string) => ({
  metadata: { name, namespace: "default" },
  spec: { nodeName, containers: [{ name: "c", image: "i" }] },
});

test("each node gets a range and loses its initial taints", async () => {
  await using cluster = await startTwoNodes();

  const all = await cluster.list(Node);

  assert.deepEqual(
    all.map(({ spec }) => [spec.podCIDR, spec.taints]),
    [
      ["10.244.0.0/24", undefined],
      ["10.244.1.0/24", undefined],
    ],
  );
});

test("a node that stops reporting is tainted, its pods are not ready, and are evicted after five minutes", async () => {
  await using cluster = await startTwoNodes();
  await cluster.client.create(Pod, podOn("p", "a"));
  await cluster.settle();
  const ready = async () => {
    const { status } = await cluster.client.get(Pod, { namespace: "default", name: "p" });
    return findCondition(status.conditions, "Ready")?.status;
  };
  const before = await ready();

  cluster.silence();
  await cluster.clock.advance(62_000);
  const silent = await cluster.client.get(Node, { name: "a" });
  const after = await ready();
  await cluster.clock.advance(310_000);

  assert.equal(findCondition(silent.status.conditions, "Ready")?.message, "Kubelet stopped posting node status.");
  assert.deepEqual(shown(silent.spec.taints ?? []), ["unreachable:NoSchedule", "unreachable:NoExecute"]);
  assert.deepEqual([before, after], ["True", "False"]);
  await assert.rejects(cluster.client.get(Pod, { namespace: "default", name: "p" }), isNotFound);
});

test("a node that reports again loses its taints", async () => {
  await using cluster = await startTwoNodes();
  cluster.silence();
  await cluster.clock.advance(62_000);

  const { metadata } = await cluster.client.get(Lease, { namespace: "kube-node-lease", name: "a" });
  await cluster.client.update(Lease, { metadata, spec: { renewTime: "2026-01-01T10:00:00.000000Z" } });
  const conditions = [{ type: "Ready", status: "True", lastHeartbeatTime: "2026-01-01T10:00:00Z" }];
  const current = await cluster.client.get(Node, { name: "a" });
  await cluster.client.updateStatus(Node, { ...current, status: { ...current.status, conditions } });
  await cluster.clock.advance(2_000);

  const { spec } = await cluster.client.get(Node, { name: "a" });
  assert.equal(spec.taints, undefined);
});

test("a node gets an event when it stops being ready, but not because it is new", async () => {
  await using cluster = await startTwoNodes();
  const notReady = { conditions: [{ type: "Ready", status: "False", lastTransitionTime: "2026-01-01T08:00:00Z" }] };
  await cluster.client.create(Node, { metadata: { name: "new" }, status: notReady });
  const current = await cluster.client.get(Node, { name: "b" });
  await cluster.client.updateStatus(Node, { ...current, status: { ...current.status, ...notReady } });
  await cluster.clock.advance(10_000);

  const events = await cluster.list(Event);

  const told = events
    .filter(({ reason }) => reason === "NodeNotReady")
    .map(({ involvedObject }) => involvedObject.name);
  assert.deepEqual(told, ["b"]);
});
