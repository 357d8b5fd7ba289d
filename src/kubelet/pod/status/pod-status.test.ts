import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodStatus } from "#api/core/pod/pod-status.ts";
import { Pod } from "#api/core/pod.ts";
import type { InputOf } from "#api/resource.ts";
import type { StatusInput } from "#kubelet/pod/plan/container-status.ts";
import type { ContainerRecord, SandboxRecord } from "#kubelet/pod/plan/pod-state.ts";
import { build } from "#testing/build.ts";
import { podStatus } from "./pod-status.ts";

const now = Date.UTC(2026, 0, 1, 8);
const at = "2026-01-01T08:00:00Z";
const earlier = "2026-01-01T07:00:00Z";
const sandbox: SandboxRecord = { id: "s0", attempt: 0, isReady: true, ips: ["10.0.0.2"] };

function record(name: string, state: ContainerRecord["state"], more: Partial<ContainerRecord> = {}): ContainerRecord {
  const times = { createdAt: now, startedAt: now, finishedAt: state === "exited" ? now : 0 };
  const end = { exitCode: 0, reason: state === "exited" ? "Completed" : "", message: "" };
  const image = { image: "i:1", imageId: "i@sha256:1", logPath: "" };
  return {
    id: `${name}-0`,
    sandboxId: "s0",
    name,
    restartCount: 0,
    hash: "",
    state,
    ...times,
    ...end,
    ...image,
    ...more,
  };
}

const container = (name: string, more: object = {}) => ({ name, image: "i:1", ...more });
const web = { containers: [container("web")] };
const withInit = { initContainers: [container("init")], containers: [container("web")] };
const failed = { exitCode: 1, reason: "Error" };

function statusOf(spec: InputOf<Pod>["spec"], more: Partial<StatusInput> & { status?: PodStatus; meta?: object } = {}) {
  const { status = {}, meta = {}, ...rest } = more;
  const metadata = { name: "p", namespace: "n", generation: 3, ...meta };
  const pod = build(Pod, { metadata, spec: spec ?? {}, status });
  return podStatus({
    pod,
    previous: status,
    sandbox,
    containers: [],
    waiting: new Map(),
    probes: { isStarted: () => true, isReady: () => true },
    hostIps: ["192.0.2.1"],
    hasEnded: false,
    mayRun: false,
    runtimeName: "containerd",
    now,
    ...rest,
  });
}

const phases: readonly {
  name: string;
  phase: string;
  spec: object;
  input: Partial<StatusInput>;
  before?: PodStatus;
}[] = [
  { name: "Pending before anything exists", phase: "Pending", spec: web, input: { sandbox: undefined } },
  {
    name: "Running with its container",
    phase: "Running",
    spec: web,
    input: { containers: [record("web", "running")] },
  },
  {
    name: "Pending while one of two waits",
    phase: "Pending",
    spec: { containers: [container("a"), container("b")] },
    input: { containers: [record("a", "running")] },
  },
  {
    name: "Running while all are restarted",
    phase: "Running",
    spec: web,
    input: { containers: [record("web", "exited", failed)] },
  },
  {
    name: "Succeeded after the last one",
    phase: "Succeeded",
    spec: { ...web, restartPolicy: "Never" },
    input: { containers: [record("web", "exited")] },
  },
  {
    name: "Failed if one failed",
    phase: "Failed",
    spec: { containers: [container("a"), container("b")], restartPolicy: "Never" },
    input: { containers: [record("a", "exited"), record("b", "exited", failed)] },
  },
  {
    name: "Running on when OnFailure restarts",
    phase: "Running",
    spec: { ...web, restartPolicy: "OnFailure" },
    input: { containers: [record("web", "exited", failed)] },
  },
  {
    name: "Failed when it was stopped, whatever the policy",
    phase: "Failed",
    spec: web,
    input: { containers: [record("web", "exited", { exitCode: 137 })], hasEnded: true },
  },
  {
    name: "Pending with an init container",
    phase: "Pending",
    spec: withInit,
    input: { containers: [record("init", "running")] },
  },
  {
    name: "Failed when initialisation failed for good",
    phase: "Failed",
    spec: { ...withInit, restartPolicy: "Never" },
    input: { containers: [record("init", "exited", failed)] },
  },
  {
    name: "Succeeded with a sidecar that was stopped",
    phase: "Succeeded",
    spec: {
      initContainers: [container("side", { restartPolicy: "Always" })],
      containers: [container("web")],
      restartPolicy: "Never",
    },
    input: { containers: [record("web", "exited"), record("side", "exited", { exitCode: 137 })], hasEnded: true },
  },
  {
    name: "what it was, once it has ended",
    phase: "Succeeded",
    spec: { ...web, restartPolicy: "Never" },
    input: { sandbox: undefined },
    before: { phase: "Succeeded" },
  },
];
for (const { name, phase, spec, input, before = {} } of phases) {
  test(`podStatus() is ${name}`, () => {
    assert.equal(statusOf(spec, { ...input, status: before }).phase, phase);
  });
}

const shortConditions = ({ conditions = [] }: PodStatus) =>
  conditions.map(({ type, status, reason = "" }) => [type, status, reason].join(" ").trim());

test("podStatus() has the conditions of a pod that is starting", () => {
  const status = statusOf(withInit, { sandbox: undefined });

  assert.deepEqual(shortConditions(status), [
    "PodReadyToStartContainers False",
    "Initialized False ContainersNotInitialized",
    "Ready False ContainersNotReady",
    "ContainersReady False ContainersNotReady",
    "PodScheduled True",
  ]);
  const [, initialized, ready] = status.conditions ?? [];
  assert.equal(initialized?.message, "containers with incomplete status: [init]");
  assert.equal(ready?.message, "containers with unready status: [web]");
  assert.equal(ready?.observedGeneration, 3);
  assert.equal(status.observedGeneration, 3);
  assert.equal(status.startTime, at);
});

test("podStatus() has the conditions of a ready pod, with the times of their first change", () => {
  const before = [{ type: "PodScheduled", status: "True", lastTransitionTime: earlier } as const];

  const status = statusOf(web, {
    containers: [record("web", "running")],
    status: { conditions: before, startTime: earlier },
  });

  assert.deepEqual(shortConditions(status), [
    "PodReadyToStartContainers True",
    "Initialized True",
    "Ready True",
    "ContainersReady True",
    "PodScheduled True",
  ]);
  assert.deepEqual(
    status.conditions?.map(({ lastTransitionTime }) => lastTransitionTime),
    [at, at, at, at, earlier],
  );
  assert.equal(status.startTime, earlier);
  assert.deepEqual([status.podIP, status.hostIP], ["10.0.0.2", "192.0.2.1"]);
});

test("podStatus() waits for readiness gates and keeps what others wrote", () => {
  const gates = {
    ...web,
    readinessGates: [{ conditionType: "example.com/lb" }, { conditionType: "example.com/other" }],
  };
  const conditions = [{ type: "example.com/lb", status: "False", reason: "Slow" } as const];

  const status = statusOf(gates, { containers: [record("web", "running")], status: { conditions } });

  assert.deepEqual(status.conditions?.[0], conditions[0]);
  const ready = status.conditions?.find(({ type }) => type === "Ready");
  assert.equal(ready?.reason, "ReadinessGatesNotReady");
  assert.equal(
    ready?.message,
    'the status of pod readiness gate "example.com/lb" is not "True", but False, corresponding condition of pod readiness gate "example.com/other" does not exist.',
  );
});

test("podStatus() has the conditions of a completed pod", () => {
  const status = statusOf(
    { ...web, restartPolicy: "Never" },
    { containers: [record("web", "exited")], sandbox: { ...sandbox, isReady: false } },
  );

  assert.deepEqual(shortConditions(status), [
    "PodReadyToStartContainers False",
    "Initialized True PodCompleted",
    "Ready False PodCompleted",
    "ContainersReady False PodCompleted",
    "PodScheduled True",
  ]);
});

test("podStatus() shows a verdict", () => {
  const verdict = { reason: "Evicted", message: "The node was low on resource: memory." };

  const { phase, reason, message } = statusOf(web, { containers: [record("web", "running")], verdict });

  assert.deepEqual([phase, reason, message], ["Failed", "Evicted", verdict.message]);
});

test("podStatus() shows why a crashing container waits, how it ended and how often", () => {
  const waiting = new Map([["web", { reason: "CrashLoopBackOff", message: "back-off 10s" }]]);
  const containers = [
    record("web", "exited", { ...failed, restartCount: 2, id: "web-2" }),
    record("web", "exited", { id: "web-1" }),
  ];

  const [status] = statusOf(web, { containers, waiting }).containerStatuses ?? [];

  assert.deepEqual(status?.state, { waiting: { reason: "CrashLoopBackOff", message: "back-off 10s" } });
  assert.equal(status?.lastState.terminated?.exitCode, 1);
  assert.equal(status?.lastState.terminated?.containerID, "containerd://web-2");
  assert.deepEqual([status?.restartCount, status?.ready, status?.started], [2, false, false]);
});

test("podStatus() shows a restarted container and its last state", () => {
  const containers = [
    record("web", "running", { restartCount: 1, id: "web-1" }),
    record("web", "exited", { ...failed, message: "bye" }),
  ];

  const [status] = statusOf(web, { containers }).containerStatuses ?? [];

  assert.deepEqual(status?.state, { running: { startedAt: at } });
  assert.deepEqual(status?.lastState, {
    terminated: {
      exitCode: 1,
      reason: "Error",
      message: "bye",
      startedAt: at,
      finishedAt: at,
      containerID: "containerd://web-0",
    },
  });
  assert.deepEqual([status?.restartCount, status?.ready, status?.containerID], [1, true, "containerd://web-1"]);
});

test("podStatus() remembers from the API what the runtime has lost", () => {
  const old = {
    name: "web",
    ready: true,
    restartCount: 4,
    image: "i:1",
    imageID: "",
    state: { running: { startedAt: earlier } },
    lastState: {},
  };

  const [status] = statusOf(web, { sandbox: undefined, status: { containerStatuses: [old] } }).containerStatuses ?? [];

  assert.deepEqual(status?.state, { waiting: { reason: "ContainerCreating" } });
  assert.equal(status?.lastState.terminated?.reason, "ContainerStatusUnknown");
  assert.equal(status?.restartCount, 5);
});

test("podStatus() shows a container that was never created as terminated, if its pod is deleted", () => {
  const meta = { deletionTimestamp: at };

  const status = statusOf(web, { sandbox: undefined, hasEnded: true, meta });

  assert.equal(status.phase, "Failed");
  assert.equal(status.containerStatuses?.[0]?.state.terminated?.exitCode, 137);
});

test("podStatus() shows a container as terminated if the deadline passed before it started", () => {
  const verdict = { reason: "DeadlineExceeded", message: "too long" };

  const { containerStatuses, phase } = statusOf(web, { hasEnded: true, verdict });

  assert.equal(phase, "Failed");
  assert.equal(containerStatuses?.[0]?.state.terminated?.reason, "ContainerStatusUnknown");
});

test("podStatus() leaves readiness to the probes", () => {
  const probes = { isStarted: (id: string) => id === "b-0", isReady: () => true };
  const two = {
    containers: [container("b"), container("a", { volumeMounts: [{ name: "v", mountPath: "/v", readOnly: true }] })],
  };

  const [a, b] =
    statusOf(two, { containers: [record("a", "running"), record("b", "running")], probes }).containerStatuses ?? [];

  assert.deepEqual([a?.name, a?.started, a?.ready], ["a", false, false]);
  assert.deepEqual([b?.name, b?.started, b?.ready], ["b", true, true]);
  assert.deepEqual(a?.volumeMounts, [{ name: "v", mountPath: "/v", readOnly: true, recursiveReadOnly: "Disabled" }]);
});

test("podStatus() shows a pod on the node's network with the node's address", () => {
  const { podIPs, hostIPs } = statusOf(
    { ...web, hostNetwork: true },
    { sandbox: { ...sandbox, ips: [] }, hostIps: ["192.0.2.1", "2001:db8::1"] },
  );

  assert.deepEqual(podIPs, [{ ip: "192.0.2.1" }, { ip: "2001:db8::1" }]);
  assert.deepEqual(hostIPs, podIPs);
});
