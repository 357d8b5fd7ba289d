import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "#api/core/pod.ts";
import type { InputOf } from "#api/resource.ts";
import { containerHash } from "#kubelet/config/runtime-labels.ts";
import { build } from "#testing/build.ts";
import type { Life } from "./life.ts";
import { planPod } from "./plan-pod.ts";
import type { ContainerRecord, SandboxRecord } from "./pod-state.ts";
import type { PodView } from "./pod-view.ts";
import { keyOf, type Step } from "./step.ts";

const now = Date.UTC(2026, 0, 1, 8);
const sandbox: SandboxRecord = { id: "s0", attempt: 0, isReady: true, ips: ["10.0.0.2"] };
const container = (name: string, more: object = {}) => ({ name, image: "i:1", ...more });
const hook = { exec: { command: ["true"] } };
const deleted = { deletionTimestamp: "2026-01-01T08:00:30Z", deletionGracePeriodSeconds: 30 };

function record(name: string, state: ContainerRecord["state"], more: Partial<ContainerRecord> = {}): ContainerRecord {
  const times = { createdAt: 1, startedAt: 1, finishedAt: state === "exited" ? 2 : 0 };
  const end = { exitCode: 0, reason: "", message: "" };
  const image = { image: "i:1", imageId: "i@sha256:1", logPath: "", hash: containerHash({ name, image: "i:1" }) };
  return { id: `${name}-0`, sandboxId: "s0", name, restartCount: 0, state, ...times, ...end, ...image, ...more };
}

interface Case extends Partial<Omit<PodView, "pod" | "steps" | "images">> {
  readonly name: string;
  readonly spec?: InputOf<Pod>["spec"];
  readonly metadata?: object;
  readonly status?: object;
  readonly underWay?: readonly Step[];
  readonly waits?: readonly Step[];
  readonly images?: readonly string[];
  /** The expected plan. */
  readonly to?: Life["phase"];
  readonly plan?: readonly Step[];
  readonly wakeAt?: number;
}

const web = { containers: [container("web")] };
const two = { containers: [container("a", { lifecycle: { postStart: hook } }), container("b")] };
const withSidecar = {
  initContainers: [container("side", { restartPolicy: "Always", lifecycle: { preStop: hook } })],
  containers: [container("web")],
};
const up = [record("web", "running"), record("side", "running")];
const stopping = { phase: "stopping", sinceMs: now, graceMs: 30_000 } as const;
const kill = (name: string, more: object = {}): Step => ({
  ...{ do: "kill", container: name, id: `${name}-0`, graceMs: 30_000, hook: "run" },
  ...more,
});
const mounted = { is: "mounted", refreshAt: undefined } as const;

const cases: readonly Case[] = [
  {
    name: "begins with every step that needs no other",
    sandbox: undefined,
    volumes: { is: "unmounted" },
    plan: [{ do: "sandbox", attempt: 0 }, { do: "volumes" }, { do: "image", container: "web" }],
  },
  {
    name: "creates a container when its image is present",
    images: ["web"],
    plan: [{ do: "create", container: "web" }],
  },
  { name: "waits for volumes", images: ["web"], volumes: { is: "unmounted" }, plan: [{ do: "volumes" }] },
  {
    name: "pulls nothing while a create has to wait",
    waits: [{ do: "create", container: "web" }],
    plan: [],
  },
  {
    name: "starts what was created",
    containers: [record("web", "created")],
    plan: [{ do: "start", container: "web", id: "web-0" }],
  },
  {
    name: "runs a hook, and holds back containers that may rely on it",
    spec: two,
    images: ["b"],
    containers: [record("a", "running", { postStart: "open" })],
    plan: [{ do: "postStart", container: "a", id: "a-0" }],
  },
  {
    name: "does not replace a sandbox in which something is being started",
    sandbox: { ...sandbox, isReady: false },
    containers: [record("web", "created")],
    underWay: [{ do: "start", container: "web", id: "web-0" }],
    plan: [],
  },
  {
    name: "kills containers outside the sandbox before it starts another",
    images: ["web"],
    containers: [record("web", "running", { sandboxId: "old" })],
    plan: [kill("web", { message: "Stopping container web" })],
  },
  {
    name: "refreshes volumes when they are due",
    volumes: { is: "mounted", refreshAt: now },
    containers: [record("web", "running")],
    plan: [{ do: "refresh" }],
  },
  {
    name: "wakes for the deadline",
    spec: { ...web, activeDeadlineSeconds: 60 },
    status: { startTime: "2026-01-01T08:00:00Z" },
    containers: [record("web", "running")],
    plan: [],
    wakeAt: now + 60_000,
  },
  {
    name: "stops a pod over its deadline",
    spec: { ...web, activeDeadlineSeconds: 60 },
    status: { startTime: "2026-01-01T07:00:00Z" },
    containers: [record("web", "running")],
    to: "stopping",
    plan: [],
  },
  { name: "stops a pod that is deleted", metadata: deleted, to: "stopping", plan: [] },
  { name: "stops a pod that is gone", isGone: true, to: "stopping", plan: [] },
  {
    name: "stops a pod whose containers are done",
    spec: { ...web, restartPolicy: "Never" },
    containers: [record("web", "exited")],
    to: "stopping",
    plan: [],
  },
  {
    name: "stops containers first, and runs the hook of a sidecar meanwhile",
    life: stopping,
    spec: withSidecar,
    containers: up,
    plan: [kill("web"), { do: "preStop", container: "side", id: "side-0", graceMs: 30_000 }],
    wakeAt: now + 30_000,
  },
  {
    name: "stops a sidecar when it is its turn",
    life: stopping,
    spec: withSidecar,
    containers: [record("web", "exited"), record("side", "running", { preStop: "done" })],
    plan: [kill("side", { hook: "skip" })],
    wakeAt: now + 30_000,
  },
  {
    name: "shortens a kill that is in progress when the grace period is shortened",
    life: stopping,
    metadata: { ...deleted, deletionGracePeriodSeconds: 2 },
    containers: [record("web", "running", { askedGraceMs: 30_000 })],
    underWay: [kill("web")],
    plan: [{ do: "hurry", id: "web-0", graceMs: 2000 }],
    wakeAt: now + 2000,
  },
  {
    name: "does not stop the sandbox while a container is being created",
    life: stopping,
    underWay: [{ do: "create", container: "web" }],
    plan: [],
  },
  { name: "stops the sandbox when nothing runs", life: stopping, plan: [{ do: "stopSandboxes" }] },
  { name: "has stopped when the sandbox is down", life: stopping, sandbox: undefined, to: "stopped", plan: [] },
  {
    name: "looks for a sandbox that the runtime did not report",
    life: stopping,
    sandbox: undefined,
    mayHaveLostSandbox: true,
    plan: [{ do: "stopSandboxes" }],
  },
  {
    name: "releases what a finished pod used",
    life: { phase: "stopped", isReleased: false },
    plan: [{ do: "release" }],
  },
  { name: "leaves a finished pod alone", life: { phase: "stopped", isReleased: true }, plan: [] },
  {
    name: "removes a deleted pod",
    life: { phase: "stopped", isReleased: true },
    metadata: deleted,
    plan: [{ do: "remove" }],
  },
  {
    name: "cleans up after a pod that is gone",
    life: { phase: "stopped", isReleased: false },
    isGone: true,
    to: "cleaning",
    plan: [{ do: "clean" }],
  },
  {
    name: "inspects what has changed",
    toLookAt: new Set(["s0"]),
    life: stopping,
    sandbox: undefined,
    to: "stopped",
    plan: [{ do: "look", id: "s0" }],
  },
  { name: "does nothing before the pod is admitted", life: { phase: "admitting" }, plan: [] },
  { name: "does nothing for a pod that is over", life: { phase: "gone" }, isGone: true, plan: [] },
];

for (const one of cases) {
  const { name, spec = web, metadata = {}, status = {}, underWay = [], waits = [], images = [] } = one;
  const { to, plan, wakeAt, ...more } = one;
  test(`planPod() ${name}`, () => {
    const pod = build(Pod, { metadata: { name: "p", namespace: "n", ...metadata }, spec: spec ?? {}, status });
    const life: Life = more.life ?? { phase: "running" };
    const isUnderWay: PodView["steps"]["isUnderWay"] = (step, subject) =>
      underWay.some((other) => other.do === step && (subject === undefined || keyOf(other) === `${step} ${subject}`));
    const view: PodView = {
      sandbox,
      containers: [],
      isGone: false,
      verdict: undefined,
      toLookAt: new Set(),
      volumes: mounted,
      mayHaveLostSandbox: false,
      isResizing: false,
      probes: { startup: () => undefined, liveness: () => undefined },
      restarts: { decide: () => ({ at: "now", backoff: { delayMs: 0, startedAt: 0 } }) },
      now,
      ...more,
      pod,
      life,
      images: new Set(images),
      steps: { isUnderWay, isWaiting: (step) => waits.some((other) => keyOf(other) === keyOf(step)) },
    };

    const result = planPod(view);

    assert.deepEqual(result.steps, plan);
    assert.equal(result.life.phase, to ?? life.phase);
    assert.equal(result.wakeAt, wakeAt);
  });
}
