import assert from "node:assert/strict";
import { test } from "node:test";
import { decode } from "#schema/json/decode.ts";
import { Pod } from "../pod.ts";
import { summarizePod } from "./pod-columns.ts";
import { PodStatus } from "./pod-status.ts";
import { aPod } from "./testing-pod.ts";

interface State {
  readonly name?: string;
  readonly state?: object;
  readonly lastState?: object;
  readonly ready?: boolean;
  readonly started?: boolean;
  readonly restartCount?: number;
}
const container = ({ name = "web", ...rest }: State) => ({ name, image: "i", imageID: "", restartCount: 0, ...rest });
const running = { state: { running: {} }, ready: true };
const initSpec = {
  initContainers: [
    { name: "a", image: "i" },
    { name: "b", image: "i" },
  ],
};
const sidecarSpec = { initContainers: [{ name: "side", image: "i", restartPolicy: "Always" }] };
const twoContainers = {
  containers: [
    { name: "web", image: "i" },
    { name: "job", image: "i" },
  ],
};
const isReady = [{ type: "Ready", status: "True" }];

const cases = [
  { name: "Pending", status: { phase: "Pending" }, shown: "0/1 Pending 0" },
  { name: "Running", status: { phase: "Running", containerStatuses: [container(running)] }, shown: "1/1 Running 0" },
  { name: "Evicted", status: { phase: "Failed", reason: "Evicted" }, shown: "0/1 Evicted 0" },
  {
    name: "SchedulingGated",
    status: { phase: "Pending", conditions: [{ type: "PodScheduled", status: "False", reason: "SchedulingGated" }] },
    shown: "0/1 SchedulingGated 0",
  },
  {
    name: "CrashLoopBackOff",
    status: {
      phase: "Running",
      containerStatuses: [
        container({
          restartCount: 3,
          state: { waiting: { reason: "CrashLoopBackOff" } },
          lastState: { terminated: { exitCode: 1, finishedAt: "2026-01-01T00:00:00Z" } },
        }),
      ],
    },
    shown: "0/1 CrashLoopBackOff 3 (5m ago)",
  },
  {
    name: "Completed",
    status: {
      phase: "Succeeded",
      containerStatuses: [container({ state: { terminated: { exitCode: 0, reason: "Completed" } } })],
    },
    shown: "0/1 Completed 0",
  },
  {
    name: "Error",
    status: {
      phase: "Failed",
      containerStatuses: [container({ state: { terminated: { exitCode: 1, reason: "Error" } } })],
    },
    shown: "0/1 Error 0",
  },
  {
    name: "ExitCode",
    status: { phase: "Failed", containerStatuses: [container({ state: { terminated: { exitCode: 7 } } })] },
    shown: "0/1 ExitCode:7 0",
  },
  {
    name: "NotReady",
    spec: twoContainers,
    status: {
      phase: "Running",
      containerStatuses: [
        container({ state: { terminated: { exitCode: 0, reason: "Completed" } } }),
        container({ name: "job", ...running }),
      ],
    },
    shown: "1/2 NotReady 0",
  },
  {
    name: "Running with one container done",
    spec: twoContainers,
    status: {
      phase: "Running",
      conditions: isReady,
      containerStatuses: [
        container({ state: { terminated: { exitCode: 0, reason: "Completed" } } }),
        container({ name: "job", ...running }),
      ],
    },
    shown: "1/2 Running 0",
  },
  {
    name: "Init:0/2",
    spec: initSpec,
    status: {
      phase: "Pending",
      initContainerStatuses: [container({ name: "a", state: { running: {} } })],
      containerStatuses: [container({ state: { waiting: { reason: "PodInitializing" } } })],
    },
    shown: "0/1 Init:0/2 0",
  },
  {
    name: "Init:1/2",
    spec: initSpec,
    status: {
      phase: "Pending",
      initContainerStatuses: [
        container({ name: "a", state: { terminated: { exitCode: 0 } } }),
        container({ name: "b", state: { waiting: { reason: "PodInitializing" } } }),
      ],
    },
    shown: "0/1 Init:1/2 0",
  },
  {
    name: "Init:Error",
    spec: initSpec,
    status: {
      phase: "Pending",
      initContainerStatuses: [
        container({ name: "a", restartCount: 2, state: { terminated: { exitCode: 1, reason: "Error" } } }),
      ],
    },
    shown: "0/1 Init:Error 2",
  },
  {
    name: "Init:CrashLoopBackOff",
    spec: initSpec,
    status: {
      phase: "Pending",
      initContainerStatuses: [container({ name: "a", state: { waiting: { reason: "CrashLoopBackOff" } } })],
    },
    shown: "0/1 Init:CrashLoopBackOff 0",
  },
  {
    name: "a ready sidecar",
    spec: sidecarSpec,
    status: {
      phase: "Running",
      initContainerStatuses: [container({ name: "side", started: true, restartCount: 1, ...running })],
      containerStatuses: [container({ ...running, restartCount: 1 })],
    },
    shown: "2/2 Running 2",
  },
  {
    name: "Terminating",
    metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" },
    status: { phase: "Running", containerStatuses: [container(running)] },
    shown: "1/1 Terminating 0",
  },
  {
    name: "Unknown on a lost node",
    metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" },
    status: { phase: "Running", reason: "NodeLost", containerStatuses: [container(running)] },
    shown: "1/1 Unknown 0",
  },
  {
    name: "Completed though it is being deleted",
    metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" },
    status: {
      phase: "Succeeded",
      containerStatuses: [container({ state: { terminated: { exitCode: 0, reason: "Completed" } } })],
    },
    shown: "0/1 Completed 0",
  },
];
const now = Date.parse("2026-01-01T00:05:00Z");
for (const { name, spec, metadata, status, shown } of cases) {
  test(`kubectl get pods shows ${name}`, () => {
    const pod = aPod(spec, {}, metadata);
    pod.status = decode(PodStatus, status, { defaults: true }).value;

    const cells = Pod.columns.slice(0, 3).map((column) => column.value(pod, now));

    assert.equal(cells.join(" "), shown);
  });
}

test("summarizePod() says when a container was last restarted", () => {
  const pod = aPod();
  const lastState = (finishedAt: string) => ({ lastState: { terminated: { exitCode: 1, finishedAt } } });
  pod.status = decode(
    PodStatus,
    { containerStatuses: [container(lastState("2026-01-01T00:00:02Z")), container(lastState("2026-01-01T00:00:01Z"))] },
    { defaults: true },
  ).value;

  assert.equal(summarizePod(pod).lastRestart, "2026-01-01T00:00:02Z");
});

test("the wide columns show where a pod is", () => {
  const pod = aPod({ nodeName: "n1", readinessGates: [{ conditionType: "a" }, { conditionType: "b" }] });
  pod.status = { podIPs: [{ ip: "10.0.0.1" }], conditions: [{ type: "a", status: "True" }] };

  const cells = Pod.columns.slice(4).map((column) => column.value(pod, now));

  assert.deepEqual(cells, ["10.0.0.1", "n1", "<none>", "1/2"]);
});
