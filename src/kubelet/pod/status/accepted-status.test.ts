import assert from "node:assert/strict";
import { test } from "node:test";
import type { ContainerState, ContainerStatus, PodStatus } from "#api/core/pod/pod-status.ts";
import { Pod } from "#api/core/pod.ts";
import { faultsIn } from "#api/cursor.ts";
import type { InputOf } from "#api/resource.ts";
import { build } from "#testing/build.ts";
import { acceptedStatus } from "./accepted-status.ts";

const running: ContainerState = { running: { startedAt: "2026-01-01T08:00:00Z" } };
const waiting: ContainerState = { waiting: { reason: "ContainerCreating" } };
const ended = (exitCode: number): ContainerState => ({ terminated: { exitCode, reason: "Error" } });
const container = (name: string) => ({ name, image: "i:1" });

function statusOf(name: string, state: ContainerState): ContainerStatus {
  return { name, image: "i:1", imageID: "", ready: false, restartCount: 0, state, lastState: {} };
}

function podWith(spec: InputOf<Pod>["spec"], status: PodStatus): Pod {
  return build(Pod, { metadata: { name: "p", namespace: "n" }, spec: spec ?? {}, status });
}

const once: InputOf<Pod>["spec"] = { restartPolicy: "Never", containers: [container("a")] };
const onFailure: InputOf<Pod>["spec"] = {
  restartPolicy: "OnFailure",
  initContainers: [container("i")],
  containers: [container("a")],
};
const cases = [
  { name: "what ended once stays ended", spec: once, from: ended(1), to: waiting, kept: true },
  { name: "what ended once is not running again", spec: once, from: ended(0), to: running, kept: true },
  { name: "what is restarted may run again", spec: { containers: [container("a")] }, from: ended(1), to: running },
  { name: "what failed may run again on failure", spec: onFailure, from: ended(1), to: running },
  { name: "what succeeded may not run again on failure", spec: onFailure, from: ended(0), to: running, kept: true },
  { name: "what runs may end", spec: once, from: running, to: ended(0) },
];
for (const { name, spec, from, to, kept = false } of cases) {
  test(`acceptedStatus(): ${name}`, () => {
    const pod = podWith(spec, { containerStatuses: [statusOf("a", from)] });

    const accepted = acceptedStatus(pod, { containerStatuses: [statusOf("a", to)] });

    assert.deepEqual(accepted.containerStatuses?.[0]?.state, kept ? from : to);
    assert.deepEqual(
      faultsIn({ ...pod, status: accepted }, (at) => Pod.validateStatusUpdate?.(at, pod)),
      [],
    );
  });
}

test("acceptedStatus() keeps an init container terminated that reruns in another sandbox", () => {
  const pod = podWith(onFailure, { initContainerStatuses: [statusOf("i", ended(0))] });

  const accepted = acceptedStatus(pod, { initContainerStatuses: [statusOf("i", running)] });

  assert.deepEqual(accepted.initContainerStatuses?.[0]?.state, ended(0));
  assert.deepEqual(
    faultsIn({ ...pod, status: accepted }, (at) => Pod.validateStatusUpdate?.(at, pod)),
    [],
  );
});

test("acceptedStatus() gives a container 4 KiB for its messages, and all containers of a pod 12 KiB together", () => {
  const long = "ü".repeat(100_000);
  const saying = { terminated: { exitCode: 1, message: long } };
  const sizes = [1, 3, 6].map((count) => {
    const names = Array.from({ length: count }, (_, n) => `c${n}`);
    const pod = podWith({ containers: names.map(container) }, {});
    const statuses = names.map((name) => ({ ...statusOf(name, saying), lastState: saying }));

    const { containerStatuses = [] } = acceptedStatus(pod, { containerStatuses: statuses });

    const bytes = containerStatuses.map(({ state }) => Buffer.byteLength(state.terminated?.message ?? ""));
    assert.deepEqual(containerStatuses[0]?.lastState, containerStatuses[0]?.state);
    return [bytes[0], bytes.reduce((sum, size) => sum + size, 0)];
  });

  assert.deepEqual(sizes, [
    [4096, 4096],
    [4096, 12_288],
    [2048, 12_288],
  ]);
});

test("acceptedStatus() limits the messages of waiting containers, failed pods and conditions", () => {
  const long = "x".repeat(100_000);
  const pod = podWith({ containers: [container("a")] }, {});
  const conditions = [{ type: "PodResizeInProgress", status: "True", message: long }] as const;
  const wanted = { message: long, conditions: [...conditions] };
  const statuses = [statusOf("a", { waiting: { reason: "CreateContainerError", message: long } })];

  const accepted = acceptedStatus(pod, { ...wanted, containerStatuses: statuses });

  const { state } = accepted.containerStatuses?.[0] ?? {};
  const lengths = [
    state?.waiting?.message?.length,
    accepted.message?.length,
    accepted.conditions?.[0]?.message?.length,
  ];
  assert.deepEqual(lengths, [4096, 4096, 4096]);
});

test("acceptedStatus() reports one valid address per family, and keeps a final phase", () => {
  const pod = podWith({ containers: [container("a")] }, { phase: "Failed" });
  const podIPs = [{ ip: "nonsense" }, { ip: "10.0.0.2" }, { ip: "10.0.0.3" }, { ip: "fd00::2" }];

  const accepted = acceptedStatus(pod, { phase: "Running", podIP: "nonsense", podIPs });

  assert.deepEqual(accepted.podIPs, [{ ip: "10.0.0.2" }, { ip: "fd00::2" }]);
  assert.equal(accepted.podIP, "10.0.0.2");
  assert.equal(accepted.phase, "Failed");
});
