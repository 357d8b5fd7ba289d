import assert from "node:assert/strict";
import { test } from "node:test";
import { Lease } from "#api/coordination/lease.ts";
import { ConfigMap } from "#api/core/config-map.ts";
import { Event } from "#api/core/event.ts";
import { Node } from "#api/core/node.ts";
import { isReady } from "#api/core/pod/pod-state.ts";
import { Pod } from "#api/core/pod.ts";
import { seededRandom } from "#lib/data/random.ts";
import { silentLog } from "#lib/process/log.ts";
import { type SimulatedNode, startSimulatedNode } from "#testing/simulated-node.ts";
import { startCluster } from "#testing/start-cluster.ts";
import { simulatedHost } from "./host/host.ts";
import { Kubelet } from "./kubelet.ts";
import { simulatedMachine } from "./node/machine.ts";
import { SimulatedRuntime } from "./runtime/simulated.ts";

const container = (name: string, more: object = {}) => ({ name, image: "app:1", ...more });
const web = { containers: [container("web")] };
const ok = { stdout: new Uint8Array(0), stderr: new Uint8Array(0), exitCode: 0 };
const statusOf = ({ status }: Pod, name = "web") =>
  [...(status.containerStatuses ?? []), ...(status.initContainerStatuses ?? [])].find((one) => one.name === name);
test("a pod is placed, runs, becomes ready and reports it", async () => {
  await using node = await startSimulatedNode();

  await node.create("web", web);
  await node.cluster.settle();

  const pod = await node.get("web");
  assert.equal(pod.status.phase, "Running");
  assert(isReady(pod));
  assert.equal(pod.status.podIP, "10.244.0.2");
  assert.deepEqual(await node.reasons("web"), ["Scheduled", "Pulling", "Pulled", "Created", "Started"]);
});

test("the steps of a start are hops of the apply that caused them", async () => {
  await using node = await startSimulatedNode();

  await node.create("web", web);
  await node.cluster.settle();

  const object = { resource: "pods", namespace: "default", name: "web" };
  const { recorder } = node.cluster.api;
  const hops = recorder.byObject(object).filter(({ hop }) => hop === "run");
  assert.deepEqual(
    new Set(hops.map(({ facts }) => facts?.step)),
    new Set(["volumes", "sandbox", "image", "create", "start", "ready"]),
  );
  const created = recorder.byObject(object).find(({ hop }) => hop === "persist" || hop === "authenticate");
  assert.equal(new Set([...hops, ...(created ? [created] : [])].map(({ traceId }) => traceId)).size, 1);
});

test("the node registers itself and renews its lease", async () => {
  await using node = await startSimulatedNode();
  const { cluster } = node;

  const [registered] = await cluster.list(Node);
  const [lease] = await cluster.list(Lease, "kube-node-lease");
  await cluster.clock.advance(60_000);
  const [later] = await cluster.list(Lease, "kube-node-lease");

  assert.equal(registered?.metadata.labels?.["kubernetes.io/hostname"], "node-1");
  const conditions = registered?.status.conditions?.map(({ type, status, reason }) => [type, status, reason].join(" "));
  assert.deepEqual(conditions, [
    "MemoryPressure False KubeletHasSufficientMemory",
    "DiskPressure False KubeletHasNoDiskPressure",
    "PIDPressure False KubeletHasSufficientPID",
    "Ready True KubeletReady",
  ]);
  assert.equal(lease?.spec.holderIdentity, "node-1");
  assert.notEqual(lease?.spec.renewTime, later?.spec.renewTime);
});

test("an extended resource that somebody adds to the capacity can be allocated, until it is removed", async () => {
  await using node = await startSimulatedNode();
  const { client, clock } = node.cluster;
  const offer = async (amount: string | null) => {
    const body = { status: { capacity: { "example.com/dongle": amount } } };
    await client.patch(Node, { name: "node-1" }, { type: "merge", body }, { subresource: "status" });
    await clock.advance(30_000);
    return (await client.get(Node, { name: "node-1" })).status;
  };

  const offered = await offer("4");
  const removed = await offer(null);

  assert.equal(offered.allocatable?.["example.com/dongle"], "4");
  assert.equal(removed.allocatable?.["example.com/dongle"], undefined);
  assert.equal(removed.capacity?.["example.com/dongle"], undefined);
});

test("a runtime that hangs makes the node not ready, until it answers again", async () => {
  await using node = await startSimulatedNode();
  const ready = async () => {
    const { status } = await node.cluster.client.get(Node, { name: "node-1" });
    const { status: value, message } = status.conditions?.find(({ type }) => type === "Ready") ?? {};
    return `${value} ${message}`;
  };
  const { conditions } = node.runtime;

  Object.assign(node.runtime, { conditions: () => new Promise(() => {}) });
  await node.cluster.clock.advance(60_000);
  const during = await ready();
  Object.assign(node.runtime, { conditions });
  await node.cluster.clock.advance(40_000);

  assert.equal(during, "False container runtime is down");
  assert.equal(await ready(), "True kubelet is posting ready status");
});

test("a deleted pod ends and leaves nothing behind", async () => {
  await using node = await startSimulatedNode();
  await node.create("web", web);
  await node.cluster.settle();

  await node.cluster.client.delete(Pod, { namespace: "default", name: "web" });
  await node.cluster.settle();

  assert.deepEqual(await node.cluster.list(Pod), []);
  assert.deepEqual(await node.runtime.listSandboxes(), []);
  assert.deepEqual(await node.runtime.listContainers(), []);
  assert((await node.reasons("web")).includes("Killing"));
  assert.deepEqual(node.kubelet.handle.pods(), []);
});

test("a force-deleted pod is still stopped", async () => {
  await using node = await startSimulatedNode();
  await node.create("web", web);
  await node.cluster.settle();

  await node.cluster.client.delete(Pod, { namespace: "default", name: "web" }, { gracePeriodSeconds: 0 });
  await node.cluster.settle();

  assert.deepEqual(await node.runtime.listSandboxes(), []);
});

test("commands and logs are those of the new pod while a force-deleted one of its name still ends", async () => {
  await using node = await startSimulatedNode();
  await node.create("web", { containers: [container("old")] });
  await node.cluster.settle();
  const ended = Promise.withResolvers<void>();
  const stop = node.runtime.stopContainer.bind(node.runtime);
  Object.assign(node.runtime, {
    stopContainer: async (...request: Parameters<typeof stop>) => {
      await ended.promise;
      return await stop(...request);
    },
  });

  await node.cluster.client.delete(Pod, { namespace: "default", name: "web" }, { gracePeriodSeconds: 0 });
  await node.create("web", { containers: [container("new")] });
  await node.cluster.clock.advance(1000);
  const pods = node.kubelet.handle.pods();
  const run = node.kubelet.handle.run({ namespace: "default", name: "web" }, "new", ["true"]);
  const [{ status }] = await Promise.allSettled([run]);
  ended.resolve();
  await node.cluster.settle();

  assert.equal(pods.length, 2);
  assert.equal(status, "fulfilled");
});

test("a container that crashes is restarted after 10 s, 20 s, 40 s", async () => {
  const starts: number[] = [];
  await using node = await startSimulatedNode({
    startContainer: () => void starts.push(node.cluster.clock.now()),
    ending: () => ({ afterMs: 1000, exitCode: 1 }),
  });

  await node.create("web", web);
  await node.cluster.clock.advance(30_000);

  const waiting = await node.get("web");
  assert.equal(waiting.status.phase, "Running");
  const { name, uid } = waiting.metadata;
  const message = `back-off 20s restarting failed container=web pod=${name}_default(${uid})`;
  assert.deepEqual(statusOf(waiting)?.state.waiting, { reason: "CrashLoopBackOff", message });
  assert.equal(statusOf(waiting)?.lastState.terminated?.exitCode, 1);
  await node.cluster.clock.advance(60_000);

  const pauses = starts.slice(1).map((at, index) => at - (starts[index] ?? 0));
  assert.deepEqual(pauses.slice(0, 4), [1000, 11_000, 21_000, 41_000]);
  assert.equal(statusOf(await node.get("web"))?.restartCount, 4);
  assert((await node.reasons("web")).includes("BackOff"));
});

test("a pod that runs once succeeds", async () => {
  await using node = await startSimulatedNode({ ending: () => ({ afterMs: 1000, exitCode: 0 }) });

  await node.create("job", { ...web, restartPolicy: "Never" });
  await node.cluster.settle();

  const pod = await node.get("job");
  assert.equal(pod.status.phase, "Succeeded");
  assert.equal(statusOf(pod)?.state.terminated?.reason, "Completed");
  assert.equal(pod.status.podIP, "10.244.0.2");
  assert((await node.runtime.listSandboxes()).every(({ state }) => state === "notReady"));
});

test("init containers run one after another, then the rest, and a sidecar ends last", async () => {
  const order: string[] = [];
  await using node = await startSimulatedNode({
    startContainer: ({ name }) => void order.push(name),
    ending: ({ name }) => (name.startsWith("init") ? { afterMs: 100, exitCode: 0 } : undefined),
  });

  const side = container("side", { restartPolicy: "Always" });
  await node.create("web", { ...web, initContainers: [container("init-1"), side, container("init-2")] });
  await node.cluster.settle();

  assert.deepEqual(order, ["init-1", "side", "init-2", "web"]);
  const pod = await node.get("web");
  assert(isReady(pod));
  assert.deepEqual([statusOf(pod, "init-1")?.ready, statusOf(pod, "side")?.ready], [true, true]);
});

test("a readiness probe decides when a pod becomes ready and unready", async () => {
  let exitCode = 1;
  await using node = await startSimulatedNode({ exec: () => ({ ...ok, exitCode }) });
  const readinessProbe = { exec: { command: ["check"] }, periodSeconds: 5, failureThreshold: 2 };
  await node.create("web", { containers: [container("web", { readinessProbe })] });
  await node.cluster.clock.advance(20_000);
  const before = await node.get("web");

  exitCode = 0;
  await node.cluster.clock.advance(6000);
  const during = await node.get("web");
  const hops = node.cluster.api.recorder.byObject({ resource: "pods", namespace: "default", name: "web" });
  exitCode = 1;
  await node.cluster.clock.advance(6000);
  const once = await node.get("web");
  await node.cluster.clock.advance(6000);
  const after = await node.get("web");

  assert.deepEqual([before, during, once, after].map(isReady), [false, true, true, false]);
  assert.equal(statusOf(after)?.restartCount, 0);
  assert((await node.reasons("web")).includes("Unhealthy"));
  const wait = hops.find(({ facts }) => facts?.step === "probes");
  assert((wait?.durationMs ?? 0) >= 20_000, "the wait for the probe is its own hop");
});

test("a liveness probe that fails restarts the container", async () => {
  let exitCode = 0;
  await using node = await startSimulatedNode({ exec: () => ({ ...ok, exitCode }) });
  const livenessProbe = { exec: { command: ["check"] }, periodSeconds: 5, failureThreshold: 2 };
  await node.create("web", { containers: [container("web", { livenessProbe })] });
  await node.cluster.clock.advance(12_000);
  assert.equal(statusOf(await node.get("web"))?.restartCount, 0);

  exitCode = 1;
  await node.cluster.clock.advance(11_000);
  exitCode = 0;
  await node.cluster.clock.advance(30_000);

  const pod = await node.get("web");
  assert.equal(statusOf(pod)?.restartCount, 1);
  assert(isReady(pod));
  const events = await node.cluster.list(Event, "default");
  const killing = events.find(({ reason }) => reason === "Killing");
  assert.equal(killing?.message, "Container web failed liveness probe, will be restarted");
});

test("a startup probe holds the others back, and restarts what never starts", async () => {
  let exitCode = 1;
  await using node = await startSimulatedNode({ exec: () => ({ ...ok, exitCode }) });
  const startupProbe = { exec: { command: ["check"] }, periodSeconds: 2, failureThreshold: 5 };
  const livenessProbe = { exec: { command: ["check"] }, periodSeconds: 1, failureThreshold: 1 };
  await node.create("web", { containers: [container("web", { startupProbe, livenessProbe })] });
  await node.cluster.clock.advance(5000);
  const starting = await node.get("web");
  await node.cluster.clock.advance(6000);
  const restarted = await node.get("web");

  exitCode = 0;
  await node.cluster.clock.advance(15_000);
  const started = await node.get("web");

  assert.deepEqual([statusOf(starting)?.started, statusOf(starting)?.restartCount], [false, 0]);
  assert.equal(statusOf(restarted)?.restartCount, 1);
  assert.deepEqual([statusOf(started)?.started, isReady(started)], [true, true]);
});

test("a failing pull is retried with growing delays", async () => {
  let isThere = false;
  const tries: number[] = [];
  await using node = await startSimulatedNode({
    pullImage() {
      tries.push(node.cluster.clock.now());
      if (!isThere) throw new Error("no such image");
    },
  });
  await node.create("web", web);
  await node.cluster.clock.advance(500);
  const first = statusOf(await node.get("web"))?.state.waiting;
  const hops = node.cluster.api.recorder.byObject({ resource: "pods", namespace: "default", name: "web" });
  await node.cluster.clock.advance(40_000);
  const second = statusOf(await node.get("web"))?.state.waiting;

  isThere = true;
  await node.cluster.clock.advance(40_000);

  assert.deepEqual(first, { reason: "ErrImagePull", message: "no such image" });
  const image = hops.find(({ facts }) => facts?.step === "image");
  assert.equal(image?.facts?.error, "ErrImagePull: no such image");
  assert.equal(second?.reason, "ImagePullBackOff");
  assert.equal(second?.message, 'Back-off pulling image "app:1": ErrImagePull: no such image');
  const pauses = tries.slice(1).map((at, index) => at - (tries[index] ?? 0));
  assert.deepEqual(pauses.slice(0, 2), [10_000, 20_000]);
  assert(isReady(await node.get("web")));
});

test("a missing pull secret gives an event, and the pull is tried without it", async () => {
  await using node = await startSimulatedNode();

  await node.create("web", { ...web, imagePullSecrets: [{ name: "login" }] });
  await node.cluster.settle();

  assert(isReady(await node.get("web")));
  const told = (await node.cluster.list(Event, "default")).find(
    ({ reason }) => reason === "FailedToRetrieveImagePullSecret",
  );
  assert.match(told?.message ?? "", /^Unable to retrieve some image pull secrets \(login\);/);
});

test("a container whose config map is missing starts as soon as that exists", async () => {
  await using node = await startSimulatedNode();
  const env = [{ name: "A", valueFrom: { configMapKeyRef: { name: "settings", key: "a" } } }];
  await node.create("web", { containers: [container("web", { env })] });
  await node.cluster.settle();
  const before = statusOf(await node.get("web"))?.state.waiting;

  await node.cluster.client.create(ConfigMap, {
    metadata: { namespace: "default", name: "settings" },
    data: { a: "1" },
  });
  await node.cluster.clock.advance(10);

  assert.deepEqual(before, { reason: "CreateContainerConfigError", message: 'configmap "settings" not found' });
  assert(isReady(await node.get("web")));
});

test("a sandbox that cannot be created is retried", async () => {
  let failures = 2;
  await using node = await startSimulatedNode({
    runSandbox() {
      if (failures-- > 0) throw new Error("no address left");
    },
  });

  await node.create("web", web);
  await node.cluster.settle();

  assert(isReady(await node.get("web")));
  const events = await node.cluster.list(Event, "default");
  const failed = events.find(({ reason }) => reason === "FailedCreatePodSandBox");
  assert.equal(failed?.message, "Failed to create pod sandbox: no address left");
});

test("a lost sandbox is recreated with its containers", async () => {
  await using node = await startSimulatedNode();
  await node.create("web", web);
  await node.cluster.settle();
  const [sandbox] = await node.runtime.listSandboxes();

  await node.runtime.stopSandbox(sandbox?.id ?? "");
  await node.cluster.settle();

  const pod = await node.get("web");
  assert(isReady(pod));
  assert.equal(statusOf(pod)?.restartCount, 1);
  assert((await node.reasons("web")).includes("SandboxChanged"));
});

test("a pod over its active deadline is stopped", async () => {
  await using node = await startSimulatedNode();

  await node.create("web", { ...web, activeDeadlineSeconds: 30 });
  await node.cluster.clock.advance(20_000);
  const before = await node.get("web");
  await node.cluster.settle();

  assert.equal(before.status.phase, "Running");
  const { phase, reason } = (await node.get("web")).status;
  assert.deepEqual([phase, reason], ["Failed", "DeadlineExceeded"]);
});

test("an evicted pod fails with the reason, and its object stays", async () => {
  await using node = await startSimulatedNode();
  await node.create("web", web);
  await node.cluster.settle();
  const { uid } = (await node.get("web")).metadata;
  const message = "The node was low on resource: memory. ";

  const known = node.kubelet.evictPod(uid, { message, isDisruption: true });
  await node.cluster.settle();

  const { status } = await node.get("web");
  assert(known);
  assert.deepEqual([status.phase, status.reason, status.message], ["Failed", "Evicted", message]);
  const target = status.conditions?.find(({ type }) => type === "DisruptionTarget");
  assert.deepEqual([target?.status, target?.reason], ["True", "TerminationByKubelet"]);
  assert((await node.runtime.listContainers()).every(({ state }) => state === "exited"));
  assert((await node.reasons("web")).includes("Evicted"));
  assert.equal(node.kubelet.evictPod("nobody", { message }), false);
});

test("a postStart hook that fails ends the container", async () => {
  let exitCode = 1;
  await using node = await startSimulatedNode({ exec: () => ({ ...ok, exitCode }) });
  const lifecycle = { postStart: { exec: { command: ["hook"] } } };
  await node.create("web", { containers: [container("web", { lifecycle })] });
  await node.cluster.clock.advance(5000);
  const before = await node.get("web");

  exitCode = 0;
  await node.cluster.settle();

  assert(!isReady(before));
  assert(isReady(await node.get("web")));
  assert((await node.reasons("web")).includes("FailedPostStartHook"));
});

test("the output of a failing hook is not in the status", async () => {
  const stdout = Buffer.alloc(1 << 20, "babble ");
  await using node = await startSimulatedNode({ exec: () => ({ stdout, stderr: stdout, exitCode: 1 }) });
  const lifecycle = { postStart: { exec: { command: ["hook"] } } };
  await node.create("web", { containers: [container("web", { lifecycle })] });
  await node.cluster.clock.advance(5000);

  const { status } = await node.get("web");

  const text = JSON.stringify(status);
  assert((await node.reasons("web")).includes("FailedPostStartHook"));
  assert(!text.includes("babble"));
  assert(text.length < 8192, `${text.length} bytes`);
});

test("a container has not started, and its pod is not ready, while its postStart hook runs", async () => {
  await using node = await startSimulatedNode();
  const hook = Promise.withResolvers<void>();
  Object.assign(node.runtime, { execSync: () => hook.promise.then(() => ok) });
  const lifecycle = { postStart: { exec: { command: ["hook"] } } };
  await node.create("web", { containers: [container("web", { lifecycle }), container("next")] });
  await node.cluster.clock.advance(5000);
  const during = await node.get("web");

  hook.resolve();
  await node.cluster.settle();

  const { state, started, ready } = statusOf(during) ?? {};
  assert(state?.running);
  assert.deepEqual([started, ready, isReady(during)], [false, false, false]);
  assert(statusOf(during, "next")?.state.waiting);
  const after = await node.get("web");
  assert(isReady(after));
  assert(statusOf(after)?.started);
});

test("a pod deleted while its container is being created ends, and is not reported as ended too early", async () => {
  await using node = await startSimulatedNode();
  const created = Promise.withResolvers<void>();
  const create = node.runtime.createContainer.bind(node.runtime);
  Object.assign(node.runtime, {
    createContainer: async (request: Parameters<typeof create>[0]) => {
      await created.promise;
      return await create(request);
    },
  });
  await node.create("web", { ...web, restartPolicy: "Never" });
  await node.cluster.clock.advance(1000);
  await node.cluster.client.delete(Pod, { namespace: "default", name: "web" });
  await node.cluster.clock.advance(60_000);
  const during = await node.get("web");

  created.resolve();
  await node.cluster.settle();

  assert.equal(statusOf(during)?.state.terminated, undefined);
  assert.equal(during.status.phase, "Pending");
  assert.deepEqual(await node.cluster.list(Pod), []);
  assert.deepEqual(await node.runtime.listSandboxes(), []);
});

test("an evicted pod has not failed while one of its containers runs", async () => {
  await using node = await startSimulatedNode();
  const stopped = Promise.withResolvers<void>();
  const stop = node.runtime.stopContainer.bind(node.runtime);
  Object.assign(node.runtime, {
    stopContainer: async (id: string, graceMs: number) => {
      await stopped.promise;
      await stop(id, graceMs);
    },
  });
  await node.create("web", web);
  await node.cluster.settle();
  const { uid } = (await node.get("web")).metadata;

  node.kubelet.evictPod(uid, { message: "too much" });
  await node.cluster.clock.advance(60_000);
  const during = await node.get("web");
  stopped.resolve();
  await node.cluster.settle();

  assert.equal(during.status.phase, "Running");
  assert.equal((await node.get("web")).status.phase, "Failed");
});

test("a preStop hook runs within the grace period", async () => {
  await using node = await startSimulatedNode();
  const lifecycle = { preStop: { sleep: { seconds: 5 } } };
  await node.create("web", { containers: [container("web", { lifecycle })], terminationGracePeriodSeconds: 10 });
  await node.cluster.settle();

  await node.cluster.client.delete(Pod, { namespace: "default", name: "web" });
  await node.cluster.clock.advance(4900);
  const running = (await node.runtime.listContainers()).filter(({ state }) => state === "running");
  await node.cluster.clock.advance(200);

  assert.equal(running.length, 1);
  assert.deepEqual(await node.cluster.list(Pod), []);
});

test("a restarted kubelet takes over running containers and restarts none", async () => {
  const started: string[] = [];
  await using node = await startSimulatedNode({ startContainer: ({ name }) => void started.push(name) });
  const readinessProbe = { exec: { command: ["check"] } };
  await node.create("web", { containers: [container("web", { readinessProbe })] });
  await node.cluster.settle();
  const before = await node.get("web");

  await node.restartKubelet();
  await node.cluster.settle();

  const after = await node.get("web");
  assert.deepEqual(started, ["web"]);
  assert.deepEqual(statusOf(after), statusOf(before));
  assert.deepEqual(after.status, before.status);
});

test("a restarted kubelet whose runtime has lost everything counts the restarts on", async () => {
  let failures = 0;
  await using node = await startSimulatedNode({
    runSandbox: () => {
      if (failures-- > 0) throw new Error("no address left");
    },
  });
  await node.create("web", web);
  await node.cluster.settle();
  const [sandbox] = await node.runtime.listSandboxes();
  failures = 2; // So that the status says that the container is lost before there is another.

  const restarted = node.restartKubelet();
  await node.runtime.removeSandbox(sandbox?.id ?? "");
  await restarted;
  await node.cluster.settle();

  const { restartCount, lastState, containerID } = statusOf(await node.get("web")) ?? {};
  assert(containerID);
  assert.equal(restartCount, 1);
  assert.equal(lastState?.terminated?.reason, "ContainerStatusUnknown");
});

test("a restarted kubelet keeps the host name to which its volumes are tied", async () => {
  await using node = await startSimulatedNode();
  const { client } = node.cluster;
  const old = { "kubernetes.io/hostname": "before", "kubernetes.io/os": "other" };
  await client.patch(Node, { name: "node-1" }, { type: "merge", body: { metadata: { labels: old } } });

  await node.restartKubelet();
  await node.cluster.settle();

  const { metadata } = await client.get(Node, { name: "node-1" });
  assert.equal(metadata.labels?.["kubernetes.io/hostname"], "before");
  assert.equal(metadata.labels?.["kubernetes.io/os"], "linux");
});

test("a restarted kubelet stops pods that were deleted meanwhile", async () => {
  await using node = await startSimulatedNode();
  await node.create("web", web);
  await node.create("other", web);
  await node.cluster.settle();

  const restarted = node.restartKubelet();
  await node.cluster.client.delete(Pod, { namespace: "default", name: "web" }, { gracePeriodSeconds: 0 });
  await restarted;
  await node.cluster.settle();

  const left = (await node.runtime.listSandboxes()).map(({ pod }) => pod.name);
  assert.deepEqual(left, ["other"]);
});

test("an ephemeral container joins a running pod", async () => {
  await using node = await startSimulatedNode();
  await node.create("web", web);
  await node.cluster.settle();
  const pod = await node.get("web");

  const ephemeralContainers = [{ name: "debug", image: "tool:1", targetContainerName: "web" }];
  const changed = { ...pod, spec: { ...pod.spec, ephemeralContainers } };
  await node.cluster.client.update(Pod, changed, { subresource: "ephemeralcontainers" });
  await node.cluster.settle();

  const after = await node.get("web");
  assert(after.status.ephemeralContainerStatuses?.[0]?.state.running);
  assert.equal(statusOf(after)?.restartCount, 0);
});

test("a changed image replaces the container", async () => {
  await using node = await startSimulatedNode();
  await node.create("web", web);
  await node.cluster.settle();

  const body = [{ op: "replace", path: "/spec/containers/0/image", value: "app:2" }];
  await node.cluster.client.patch(Pod, { namespace: "default", name: "web" }, { type: "json", body });
  await node.cluster.settle();

  const status = statusOf(await node.get("web"));
  assert.deepEqual([status?.image, status?.restartCount], ["app:2", 1]);
});

const resized = (node: SimulatedNode, cpu: string) => {
  const body = { spec: { containers: [{ name: "web", resources: { requests: { cpu } } }] } };
  const ref = { namespace: "default", name: "web" };
  return node.cluster.client.patch(Pod, ref, { type: "strategic", body }, { subresource: "resize" });
};

test("a running container is resized", async () => {
  await using node = await startSimulatedNode();
  await node.create("web", { containers: [container("web", { resources: { requests: { cpu: "100m" } } })] });
  await node.cluster.settle();

  await resized(node, "200m");
  await node.cluster.settle();

  const pod = await node.get("web");
  const status = statusOf(pod);
  assert.deepEqual(status?.allocatedResources, { cpu: "200m" });
  assert.deepEqual(status?.resources, { requests: { cpu: "200m" } });
  assert.deepEqual([status?.restartCount, pod.status.observedGeneration], [0, 2]);
  assert(!pod.status.conditions?.some(({ type }) => type.startsWith("PodResize")));
  const [running] = await node.runtime.listContainers();
  assert.equal((await node.runtime.containerStatus(running?.id ?? ""))?.resources?.cpuShares, 204);
  const told = await node.reasons("web");
  assert.deepEqual(told.slice(-2), ["ResizeStarted", "ResizeCompleted"]);
});

test("a container is restarted for a resize if its policy says so", async () => {
  await using node = await startSimulatedNode();
  const resizePolicy = [{ resourceName: "cpu", restartPolicy: "RestartContainer" }];
  await node.create("web", {
    containers: [container("web", { resources: { requests: { cpu: "100m" } }, resizePolicy })],
  });
  await node.cluster.settle();

  await resized(node, "200m");
  await node.cluster.settle();

  const pod = await node.get("web");
  assert.deepEqual(statusOf(pod)?.resources, { requests: { cpu: "200m" } });
  assert.equal(statusOf(pod)?.restartCount, 1);
  assert(!pod.status.conditions?.some(({ type }) => type.startsWith("PodResize")));
});

test("a resize that waits for a restart costs nothing, however long the container takes to end", async () => {
  let changes = 0;
  const setLimits = async () => {
    // A worker that never pauses would not let this test end.
    if (++changes > 100) throw new Error("too many changes of the pod's limits");
  };
  await using node = await startSimulatedNode({}, { host: { ...simulatedHost, setLimits } });
  const resizePolicy = [{ resourceName: "cpu", restartPolicy: "RestartContainer" }];
  const lifecycle = { preStop: { sleep: { seconds: 20 } } };
  await node.create("web", {
    containers: [container("web", { resources: { requests: { cpu: "100m" } }, resizePolicy, lifecycle })],
  });
  await node.cluster.settle();

  await resized(node, "200m");
  await node.cluster.clock.advance(10_000);
  const meanwhile = changes;
  await node.cluster.clock.advance(20_000);

  assert.equal(statusOf(await node.get("web"))?.restartCount, 1);
  assert.deepEqual([meanwhile, changes], [0, 2], "lifted once and set once, after the restart");
});

test("a resize waits for free resources, and one that will never fit says so", async () => {
  await using node = await startSimulatedNode();
  await node.create("big", { containers: [container("web", { resources: { requests: { cpu: "15" } } })] });
  await node.create("web", { containers: [container("web", { resources: { requests: { cpu: "100m" } } })] });
  await node.cluster.settle();
  const pending = ({ status }: Pod) => status.conditions?.find(({ type }) => type === "PodResizePending");

  await assert.rejects(resized(node, "100"), { code: 403 });
  // The API server may not know yet that the node is that small.
  const { client } = node.cluster;
  const known = await client.get(Node, { name: "node-1" });
  const allocatable = { ...known.status.allocatable, cpu: "1000" };
  await client.updateStatus(Node, { ...known, status: { ...known.status, allocatable } });
  await resized(node, "100");
  await node.cluster.settle();
  const never = await node.get("web");
  await resized(node, "2");
  await node.cluster.settle();
  const later = await node.get("web");
  await node.cluster.client.delete(Pod, { namespace: "default", name: "big" });
  await node.cluster.settle();
  const done = await node.get("web");

  assert.equal(pending(never)?.reason, "Infeasible");
  assert.equal(pending(never)?.message, "Node didn't have enough capacity: cpu, requested: 100000, capacity: 16000");
  assert.equal(pending(later)?.reason, "Deferred");
  assert.deepEqual(statusOf(later)?.allocatedResources, { cpu: "100m" });
  assert.equal(pending(done), undefined);
  assert.deepEqual(statusOf(done)?.allocatedResources, { cpu: "2" });
});

test("a pod that the node cannot run is refused", async () => {
  await using node = await startSimulatedNode();
  const nodeName = "node-1";

  await node.create("big", { nodeName, containers: [container("web", { resources: { requests: { cpu: "17" } } })] });
  const sysctls = [{ name: "kernel.msgmax", value: "1" }];
  await node.create("unsafe", { nodeName, ...web, securityContext: { sysctls } });
  await node.cluster.settle();

  const { phase, reason, message } = (await node.get("big")).status;
  assert.deepEqual([phase, reason], ["Failed", "OutOfcpu"]);
  assert.equal(
    message,
    "Pod was rejected: Node didn't have enough resource: cpu, requested: 17000, used: 0, capacity: 16000",
  );
  assert.equal((await node.get("unsafe")).status.reason, "SysctlForbidden");
  const before = await node.get("big");
  assert.equal(before.status.containerStatuses, undefined);
  const event = (await node.cluster.list(Event, "default")).find(({ reason }) => reason === "OutOfcpu");
  assert.equal(event?.message, "Node didn't have enough resource: cpu, requested: 17000, used: 0, capacity: 16000");
  await node.restartKubelet();
  await node.cluster.settle();
  assert.deepEqual((await node.get("big")).status, before.status);
  assert.deepEqual(await node.runtime.listSandboxes(), []);
});

test("many nodes in one process run their pods", async () => {
  const cluster = await startCluster();
  const stop = new AbortController();
  const { clock, api } = cluster;
  const { informers, recorder } = api;
  const nodes = Array.from({ length: 200 }, (_, index) => {
    const random = seededRandom(index + 1);
    const nodeName = `node-${index}`;
    const runtime = new SimulatedRuntime({ clock, random, podCidr: `10.${index >> 8}.${index & 255}.0/24` });
    const client = cluster.clientFor({ name: `system:node:${nodeName}`, groups: ["system:nodes"] });
    const machine = simulatedMachine(nodeName, "10.0.0.1");
    const options = { client, informers, recorder, clock, log: silentLog, nodeName, runtime, machine, random };
    return new Kubelet(options).run(stop.signal);
  });
  await cluster.clock.advance(1000);

  const names = Array.from({ length: 200 }, (_, index) => index);
  await Promise.all(
    names.map((index) =>
      cluster.client.create(Pod, {
        metadata: { namespace: "default", name: `pod-${index}` },
        spec: { ...web, nodeName: `node-${index}` },
      }),
    ),
  );
  await cluster.clock.advance(5000);

  const pods = await cluster.list(Pod, "default");
  stop.abort(new Error("the test ends"));
  await Promise.all(nodes);
  await cluster[Symbol.asyncDispose]();
  assert.equal(pods.filter(isReady).length, 200);
});

test("volumes with a token are written again when the token must be renewed, and not before", async () => {
  let asked = 0;
  let isDue = false;
  const tokens = {
    async get() {
      asked++;
      isDue = false;
      return "token";
    },
    due: () => (isDue ? [...uids] : []),
    forgetPod() {},
  };
  const uids = new Set<string>();
  await using node = await startSimulatedNode({}, { tokens });
  const sources = [{ serviceAccountToken: { path: "token", expirationSeconds: 600 } }];
  const pod = await node.create("web", { ...web, volumes: [{ name: "token", projected: { sources } }] });
  uids.add(pod.metadata.uid);
  await node.cluster.settle();

  const first = asked;
  await node.cluster.clock.advance(600_000);
  assert.equal(asked, first);
  isDue = true;
  await node.cluster.clock.advance(60_000);
  assert(asked > first);
});
