import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { Pod, type Pod as PodType } from "#api/core/pod.ts";
import { faultsIn } from "#api/cursor.ts";
import { type ApiObject } from "#api/resource.ts";
import { aPod, lines } from "../testing-pod.ts";

type Change = (pod: PodType) => void;

const changed = (old: PodType, change: Change): PodType => {
  const pod = structuredClone(old);
  change(pod);
  return pod;
};
const updateFaults = (old: PodType, change: Change): string[] =>
  lines(faultsIn(changed(old, change), (at) => Pod.validateUpdate?.(at, old)));
const first = (pod: PodType) => pod.spec.containers[0] ?? assert.fail("a container");

suite("an update of a pod", () => {
  const old = aPod({ tolerations: [{ key: "a", operator: "Exists", effect: "NoExecute" }] });
  const allowed: [string, Change][] = [
    ["nothing", () => {}],
    ["an image", (pod) => Object.assign(first(pod), { image: "nginx:2" })],
    ["labels", (pod) => Object.assign(pod.metadata, { labels: { a: "b" } })],
    ["a deadline", (pod) => Object.assign(pod.spec, { activeDeadlineSeconds: 5 })],
    ["one more toleration", ({ spec }) => spec.tolerations?.push({ operator: "Exists" })],
    ["the time of a toleration", ({ spec }) => Object.assign(spec.tolerations?.[0] ?? {}, { tolerationSeconds: 5 })],
    ["a quantity in another form", (pod) => Object.assign(first(pod), { resources: { limits: {} } })],
  ];
  for (const [name, change] of allowed) {
    test(`may change ${name}`, () => assert.deepEqual(updateFaults(old, change), []));
  }

  const refused: [string, Change, string[]][] = [
    [
      "containers",
      ({ spec }) => spec.containers.pop(),
      ["spec.containers: Forbidden: pod updates may not add or remove containers"],
    ],
    ["an image away", (pod) => delete first(pod).image, ["spec.containers[0].image: Required value"]],
    [
      "a toleration away",
      ({ spec }) => spec.tolerations?.pop(),
      ["spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds"],
    ],
    [
      "gates in",
      ({ spec }) => Object.assign(spec, { schedulingGates: [{ name: "g" }] }),
      ["spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new scheduling gate 'g'"],
    ],
    [
      "the mirror annotation in",
      (pod) => Object.assign(pod.metadata, { annotations: { "kubernetes.io/config.mirror": "x" } }),
      ["metadata.annotations[kubernetes.io/config.mirror]: Forbidden: may not add mirror pod annotation"],
    ],
  ];
  for (const [name, change, faults] of refused) {
    test(`may not change ${name}`, () => assert.deepEqual(updateFaults(old, change), faults));
  }

  test("may not change anything else, and is told what it changed", () => {
    const [fault = ""] = updateFaults(old, ({ spec }) => {
      spec.nodeName = "n";
    });

    assert.match(
      fault,
      /^spec: Forbidden: pod updates may not change fields other than `spec\.containers\[\*\]\.image`,`spec\.initContainers\[\*\]\.image`,`spec\.activeDeadlineSeconds`,`spec\.tolerations` \(only additions to existing tolerations\),`spec\.terminationGracePeriodSeconds` \(allow it to be set to 1 if it was previously negative\)\n/,
    );
    assert.match(fault, /\n\+ "nodeName": "n"/);
  });

  test("may only shorten a deadline", () => {
    const limited = aPod({ activeDeadlineSeconds: 10 });

    assert.deepEqual(
      updateFaults(limited, ({ spec }) => {
        spec.activeDeadlineSeconds = 11;
      }),
      ["spec.activeDeadlineSeconds: Invalid value: 11: must be less than or equal to previous value"],
    );
    assert.equal(updateFaults(limited, ({ spec }) => delete spec.activeDeadlineSeconds).length, 1);
  });

  test("may narrow where a gated pod goes, but not widen it", () => {
    const gated = aPod({ schedulingGates: [{ name: "g" }], nodeSelector: { a: "b" } });

    assert.deepEqual(
      updateFaults(gated, ({ spec }) => {
        spec.nodeSelector = { a: "b", c: "d" };
        delete spec.schedulingGates;
      }),
      [],
    );
    assert.deepEqual(
      updateFaults(gated, ({ spec }) => {
        spec.nodeSelector = { c: "d" };
      }),
      [
        'spec.nodeSelector: Invalid value: {"c":"d"}: only additions to spec.nodeSelector are allowed (no mutations or deletions)',
      ],
    );
  });
});

function partial(name: string, old: PodType, change: Change): { pod: PodType; faults: string[] } {
  const update = Pod.subresources.find((subresource) => subresource.name === name)?.update;
  assert(update);
  const pod = changed(old, change);
  update.prepare(pod satisfies ApiObject, old);
  return { pod, faults: lines(faultsIn(pod, (at) => update.validate(at, old))) };
}

suite("pods/ephemeralcontainers", () => {
  const debug = aPod({ ephemeralContainers: [{ name: "debug", image: "busybox" }] }).spec.ephemeralContainers ?? [];

  test("adds containers and changes nothing else", () => {
    const old = aPod();

    const { pod, faults } = partial("ephemeralcontainers", old, ({ spec, metadata }) => {
      spec.ephemeralContainers = debug;
      spec.nodeName = "elsewhere";
      metadata.labels = { a: "b" };
    });

    assert.deepEqual(faults, []);
    assert.deepEqual(pod, { ...old, spec: { ...old.spec, ephemeralContainers: debug } });
  });

  test("does not take containers away or change them", () => {
    const old = aPod({ ephemeralContainers: [{ name: "debug", image: "busybox" }] });

    assert.deepEqual(partial("ephemeralcontainers", old, ({ spec }) => delete spec.ephemeralContainers).faults, [
      'spec.ephemeralContainers: Forbidden: existing ephemeral containers "debug" may not be removed\n',
    ]);
  });
});

suite("pods/resize", () => {
  const both = { cpu: "1", memory: "1Gi" };
  const old = aPod({}, { resources: { requests: { cpu: "1" }, limits: { memory: "1Gi" } } });

  test("changes CPU and memory", () => {
    const { pod, faults } = partial("resize", old, (next) => {
      first(next).resources = { requests: { cpu: "2", memory: "1Gi" }, limits: { memory: "2Gi" } };
      first(next).image = "other";
    });

    assert.deepEqual(faults, []);
    assert.equal(first(pod).image, "nginx:1");
    assert.equal(first(pod).resources.requests?.cpu, "2");
  });

  const refused: [string, Change, string[]][] = [
    [
      "requests away",
      (pod) => Object.assign(first(pod), { resources: { requests: { memory: "1Gi" }, limits: { memory: "1Gi" } } }),
      ["spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed"],
    ],
    [
      "the class of service",
      (pod) => Object.assign(first(pod), { resources: { requests: both, limits: both } }),
      ['spec: Invalid value: "": Pod QOS Class may not change as a result of resizing'],
    ],
    [
      "other resources",
      (pod) => Object.assign(first(pod).resources.requests ?? {}, { "ephemeral-storage": "1Gi" }),
      ["spec: Forbidden: only cpu and memory resources are mutable"],
    ],
    [
      "containers",
      ({ spec }) => spec.containers.push({ ...(spec.containers[0] ?? assert.fail()), name: "b" }),
      ["spec.containers: Forbidden: containers may not be added or removed on resize"],
    ],
  ];
  for (const [name, change, faults] of refused) {
    test(`does not change ${name}`, () => assert.deepEqual(partial("resize", old, change).faults, faults));
  }
});
