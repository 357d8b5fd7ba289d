import assert from "node:assert/strict";
import { test } from "node:test";
import { type Pod } from "#api/core/pod.ts";
import { type InputOf } from "#api/resource.ts";
import { asking, makePod } from "#testing/scheduling.ts";
import { isLess, placedRequestOf, requestOf, resourcesOf } from "./resources.ts";

type Spec = Partial<InputOf<Pod>["spec"]>;
const mebibyte = 1024 * 1024;

test("resourcesOf() reads amounts as numbers", () => {
  const list = { cpu: "1500m", memory: "1Gi", "ephemeral-storage": "1k", pods: "110", "example.com/gpu": "2" };

  assert.deepEqual(resourcesOf(list), {
    milliCpu: 1500,
    memory: 1024 * mebibyte,
    ephemeralStorage: 1000,
    scalar: new Map([["example.com/gpu", 2]]),
  });
  assert.deepEqual(resourcesOf(undefined), { milliCpu: 0, memory: 0, ephemeralStorage: 0, scalar: new Map() });
});

const init = (requests: Record<string, string>, restartPolicy?: "Always") => ({
  ...asking(requests, `init-${requests.cpu ?? "none"}`),
  ...(restartPolicy ? { restartPolicy } : {}),
});

/** The requested [CPU, memory], and the amounts used for scoring. */
const cases: { name: string; spec: Spec; asked: [number, number]; counted: [number, number] }[] = [
  { name: "nothing", spec: {}, asked: [0, 0], counted: [100, 200 * mebibyte] },
  {
    name: "the sum of all containers",
    spec: { containers: [asking({ cpu: "1", memory: "1Mi" }), asking({ cpu: "500m" }, "second")] },
    asked: [1500, mebibyte],
    counted: [1500, 201 * mebibyte],
  },
  {
    name: "an init container that needs more",
    spec: { containers: [asking({ cpu: "1", memory: "1Mi" })], initContainers: [init({ cpu: "2" })] },
    asked: [2000, mebibyte],
    counted: [2000, 200 * mebibyte],
  },
  {
    name: "sidecars in addition to containers",
    spec: {
      containers: [asking({ cpu: "1", memory: "1Mi" })],
      initContainers: [init({ cpu: "2", memory: "1Mi" }, "Always")],
    },
    asked: [3000, 2 * mebibyte],
    counted: [3000, 2 * mebibyte],
  },
  {
    name: "the overhead, even of pods without requests",
    spec: { overhead: { cpu: "250m", memory: "1Mi" } },
    asked: [250, mebibyte],
    counted: [350, 201 * mebibyte],
  },
  {
    name: "the pod-level request instead of those of its containers",
    spec: { resources: { requests: { cpu: "3" } }, containers: [asking({ cpu: "1", memory: "1Mi" })] },
    asked: [3000, mebibyte],
    counted: [3000, mebibyte],
  },
];
for (const { name, spec, asked, counted } of cases) {
  test(`requestOf() counts ${name}`, () => {
    const { requests, nonZero } = requestOf(makePod("p", spec));

    assert.deepEqual([requests.milliCpu, requests.memory], asked);
    assert.deepEqual([nonZero.milliCpu, nonZero.memory], counted);
  });
}

test("requestOf() returns the same object for equal requests", () => {
  const pod = (cpu: string, name: string) => makePod(name, { containers: [asking({ cpu })] });

  assert.equal(requestOf(pod("1", "a")), requestOf(pod("1", "b")));
  assert.notEqual(requestOf(pod("1", "a")), requestOf(pod("2", "b")));
});

const resized = (wanted: string, held: { actual?: string; allocated?: string }, reason?: string): Pod =>
  makePod("p", {
    containers: [asking({ cpu: wanted })],
    status: {
      containerStatuses: [
        {
          name: "main",
          image: "web:1",
          imageID: "",
          ready: true,
          restartCount: 0,
          ...(held.actual ? { resources: { requests: { cpu: held.actual } } } : {}),
          ...(held.allocated ? { allocatedResources: { cpu: held.allocated } } : {}),
        },
      ],
      ...(reason ? { conditions: [{ type: "PodResizePending", status: "True", reason }] } : {}),
    },
  });

const resizes = [
  { name: "the request while the node has reported nothing", pod: resized("2", {}), cpu: 2000 },
  { name: "the request once it is allocated", pod: resized("2", { actual: "2", allocated: "2" }), cpu: 2000 },
  { name: "the actual amount while it shrinks", pod: resized("1", { actual: "2", allocated: "1" }), cpu: 2000 },
  { name: "the requested amount while it grows", pod: resized("3", { actual: "2", allocated: "2" }), cpu: 3000 },
  { name: "the allocated amount", pod: resized("1", { actual: "1", allocated: "4" }), cpu: 4000 },
  {
    name: "the actual amount when the resize is infeasible",
    pod: resized("9", { actual: "2" }, "Infeasible"),
    cpu: 2000,
  },
  {
    name: "the requested amount when the resize is deferred",
    pod: resized("9", { actual: "2" }, "Deferred"),
    cpu: 9000,
  },
];
for (const { name, pod, cpu } of resizes) {
  test(`placedRequestOf() counts ${name}`, () => assert.equal(placedRequestOf(pod).requests.milliCpu, cpu));
}

test("isLess() compares every resource", () => {
  const request = (requests: Record<string, string>) => requestOf(makePod("p", { containers: [asking(requests)] }));
  const gpu = "example.com/gpu";

  assert.equal(isLess(request({ cpu: "1" }), request({ cpu: "2" })), true);
  assert.equal(isLess(request({ cpu: "2" }), request({ cpu: "1" })), false);
  assert.equal(isLess(request({ cpu: "2", memory: "1" }), request({ cpu: "1", memory: "2" })), true);
  assert.equal(isLess(request({}), request({ [gpu]: "1" })), true);
  assert.equal(isLess(request({ [gpu]: "1" }), request({ [gpu]: "1" })), false);
});
