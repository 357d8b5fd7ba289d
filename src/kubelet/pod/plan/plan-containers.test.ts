import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "#api/core/pod.ts";
import type { InputOf } from "#api/resource.ts";
import { containerHash } from "#kubelet/config/runtime-labels.ts";
import type { ProbeResult } from "#kubelet/probes/results.ts";
import { build } from "#testing/build.ts";
import { type ContainersPlan, planContainers } from "./plan-containers.ts";
import type { ContainerRecord, SandboxRecord } from "./pod-state.ts";

const sandbox: SandboxRecord = { id: "s0", attempt: 0, isReady: true, ips: ["10.0.0.2"] };

function record(name: string, state: ContainerRecord["state"], more: Partial<ContainerRecord> = {}): ContainerRecord {
  const hash = containerHash({ name, image: "i:1" });
  const times = { createdAt: 1, startedAt: 1, finishedAt: state === "exited" ? 2 : 0 };
  const end = { exitCode: 0, reason: "", message: "" };
  const image = { image: "i:1", imageId: "i@sha256:1", logPath: "" };
  return { id: `${name}-0`, sandboxId: "s0", name, restartCount: 0, hash, state, ...times, ...end, ...image, ...more };
}

type Spec = InputOf<Pod>["spec"];
const container = (name: string, more: object = {}) => ({ name, image: "i:1", ...more });
const probe = { tcpSocket: { port: 80 } };

interface Case {
  readonly name: string;
  readonly spec: Spec;
  readonly sandbox?: SandboxRecord | undefined;
  readonly containers?: readonly ContainerRecord[];
  readonly startup?: Readonly<Record<string, ProbeResult>>;
  readonly liveness?: Readonly<Record<string, ProbeResult>>;
  readonly plan: Partial<ContainersPlan>;
}

const web = { containers: [container("web")] };
const twice = { containers: [container("a"), container("b")] };
const withInit = { initContainers: [container("i1"), container("i2")], containers: [container("web")] };
const withSidecar = {
  initContainers: [container("side", { restartPolicy: "Always" }), container("i2")],
  containers: [container("web")],
};

const cases: readonly Case[] = [
  {
    name: "creates a sandbox and starts all containers in it",
    spec: twice,
    sandbox: undefined,
    plan: { sandbox: "create", attempt: 0, start: ["a", "b"], isFinished: false },
  },
  {
    name: "creates another sandbox when the first is lost",
    spec: web,
    sandbox: { ...sandbox, isReady: false },
    containers: [record("web", "exited", { exitCode: 137 })],
    plan: { sandbox: "create", attempt: 1, start: ["web"] },
  },
  {
    name: "creates another sandbox when one has no address",
    spec: web,
    sandbox: { ...sandbox, ips: [] },
    plan: { sandbox: "create", attempt: 1 },
  },
  {
    name: "needs no address on the node's network",
    spec: { ...web, hostNetwork: true },
    sandbox: { ...sandbox, ips: [] },
    plan: { sandbox: "keep", start: ["web"] },
  },
  {
    name: "does not rerun what runs once, even if the sandbox is lost",
    spec: { ...web, restartPolicy: "Never" },
    sandbox: { ...sandbox, isReady: false },
    containers: [record("web", "exited", { exitCode: 1 })],
    plan: { sandbox: "keep", start: [], isFinished: true },
  },
  {
    name: "does nothing while everything runs",
    spec: twice,
    containers: [record("a", "running"), record("b", "running")],
    plan: { start: [], kill: [], isFinished: false },
  },
  { name: "restarts an ended container", spec: web, containers: [record("web", "exited")], plan: { start: ["web"] } },
  {
    name: "restarts only the failed container under OnFailure",
    spec: { ...twice, restartPolicy: "OnFailure" },
    containers: [record("a", "exited"), record("b", "exited", { exitCode: 1 })],
    plan: { start: ["b"], isFinished: false },
  },
  {
    name: "is finished when nothing will run again",
    spec: { ...twice, restartPolicy: "Never" },
    containers: [record("a", "exited"), record("b", "exited", { exitCode: 1 })],
    plan: { start: [], isFinished: true },
  },
  {
    name: "restarts by a rule on the exit code",
    spec: {
      restartPolicy: "Never",
      containers: [
        container("web", {
          restartPolicy: "Never",
          restartPolicyRules: [{ action: "Restart", exitCodes: { operator: "In", values: [42] } }],
        }),
      ],
    },
    containers: [record("web", "exited", { exitCode: 42 })],
    plan: { start: ["web"], isFinished: false },
  },
  { name: "begins with the first init container", spec: withInit, plan: { start: ["i1"] } },
  {
    name: "waits for an init container",
    spec: withInit,
    containers: [record("i1", "running")],
    plan: { start: [], isFinished: false },
  },
  {
    name: "continues with the next init container",
    spec: withInit,
    containers: [record("i1", "exited")],
    plan: { start: ["i2"] },
  },
  {
    name: "starts the containers after the last init container",
    spec: withInit,
    containers: [record("i2", "exited"), record("i1", "exited")],
    plan: { start: ["web"] },
  },
  {
    name: "does not need init containers that were removed",
    spec: withInit,
    containers: [record("web", "running")],
    plan: { start: [], kill: [] },
  },
  {
    name: "reruns a failed init container",
    spec: withInit,
    containers: [record("i1", "exited", { exitCode: 1 })],
    plan: { start: ["i1"] },
  },
  {
    name: "is finished when an init container failed for good",
    spec: { ...withInit, restartPolicy: "Never" },
    containers: [record("i1", "exited", { exitCode: 1 })],
    plan: { start: [], isFinished: true },
  },
  {
    name: "reruns init containers in a new sandbox",
    spec: withInit,
    sandbox: { ...sandbox, id: "s1", attempt: 1 },
    containers: [record("web", "exited"), record("i2", "exited"), record("i1", "exited")],
    plan: { start: ["i1"] },
  },
  {
    name: "continues when a sidecar runs",
    spec: withSidecar,
    containers: [record("side", "running")],
    plan: { start: ["i2"] },
  },
  {
    name: "waits for the startup probe of a sidecar",
    spec: {
      ...withSidecar,
      initContainers: [container("side", { restartPolicy: "Always", startupProbe: probe }), container("i2")],
    },
    containers: [record("side", "running")],
    plan: { start: [] },
  },
  {
    name: "restarts a sidecar while the containers run",
    spec: withSidecar,
    containers: [record("web", "running"), record("i2", "exited"), record("side", "exited", { exitCode: 1 })],
    plan: { start: ["side"], kill: [] },
  },
  {
    name: "does not let a sidecar keep a pod alive",
    spec: { ...withSidecar, restartPolicy: "Never" },
    containers: [record("web", "exited"), record("i2", "exited"), record("side", "running")],
    plan: { start: [], isFinished: true },
  },
  {
    name: "kills and restarts a container that fails its liveness probe",
    spec: web,
    containers: [record("web", "running")],
    liveness: { "web-0": "failure" },
    plan: {
      start: ["web"],
      kill: [
        {
          id: "web-0",
          name: "web",
          probe: "liveness",
          message: "Container web failed liveness probe, will be restarted",
        },
      ],
    },
  },
  {
    name: "kills without a restart under Never",
    spec: { ...twice, restartPolicy: "Never" },
    containers: [record("a", "running"), record("b", "running")],
    startup: { "a-0": "failure" },
    plan: {
      start: [],
      kill: [{ id: "a-0", name: "a", probe: "startup", message: "Container a failed startup probe" }],
    },
  },
  {
    name: "replaces a container whose image changed",
    spec: { containers: [container("web", { image: "i:2" })] },
    containers: [record("web", "running")],
    plan: {
      start: ["web"],
      kill: [{ id: "web-0", name: "web", message: "Container web definition changed, will be restarted" }],
    },
  },
  {
    name: "starts an ephemeral container once, even before the pod is initialised",
    spec: { ...withInit, ephemeralContainers: [container("debug"), container("old")] },
    containers: [record("old", "exited", { exitCode: 1 }), record("i1", "running")],
    plan: { start: ["debug"] },
  },
];

for (const { name, spec, plan, containers = [], startup = {}, liveness = {}, ...rest } of cases) {
  test(`planContainers() ${name}`, () => {
    const pod = build(Pod, { metadata: { name: "p", namespace: "n" }, spec: spec ?? {} });
    const current = "sandbox" in rest ? rest.sandbox : sandbox;
    const probes = { startup: (id: string) => startup[id], liveness: (id: string) => liveness[id] };

    const result = planContainers({ pod, sandbox: current, containers, probes });

    const { ...seen } = result;
    assert.deepEqual({ ...seen, ...plan }, seen);
  });
}
