import assert from "node:assert/strict";
import { test } from "node:test";
import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { Service } from "#api/core/service.ts";
import { EndpointSlice } from "#api/discovery/endpoint-slice.ts";
import { type InputOf } from "#api/resource.ts";
import { build } from "#testing/build.ts";
import { endpointsOf } from "./endpoints-of.ts";
import { planSlices, type SlicePlan } from "./plan-slices.ts";

const node = build(Node, { metadata: { name: "n", labels: { "topology.kubernetes.io/zone": "z" } } });
const nodeOf = (name: string) => (name === "n" ? node : undefined);
const type = "IPv4";

const service = (spec: InputOf<Service>["spec"] = {}) =>
  build(Service, {
    metadata: { name: "web", namespace: "default", labels: { team: "a" } },
    spec: { clusterIP: "10.96.0.1", ipFamilies: ["IPv4"], ports: [{ name: "http", port: 80 }], ...spec },
  });

interface Facts {
  readonly ready?: boolean;
  readonly ending?: boolean;
  readonly node?: string;
  readonly port?: number;
  readonly hostname?: string;
}
const pod = (number: number, { ready = true, ending = false, node = "n", port = 8080, hostname }: Facts = {}) =>
  build(Pod, {
    metadata: {
      name: `p${number}`,
      namespace: "default",
      ...(ending ? { deletionTimestamp: "2026-01-01T08:00:00Z" } : {}),
    },
    spec: {
      nodeName: node,
      ...(hostname ? { hostname, subdomain: "web" } : {}),
      containers: [{ name: "c", image: "i", ports: [{ name: "web", containerPort: port }] }],
    },
    status: {
      phase: "Running",
      podIP: `10.0.${Math.floor(number / 250)}.${number % 250}`,
      podIPs: [{ ip: `10.0.${Math.floor(number / 250)}.${number % 250}` }],
      conditions: [{ type: "Ready", status: ready ? "True" : "False" }],
    },
  });
const pods = (count: number, from = 0) => Array.from({ length: count }, (_, index) => pod(from + index));

function plan(subject: Service, selected: readonly Pod[], slices: readonly EndpointSlice[]): SlicePlan {
  const { groups } = endpointsOf(subject, selected, { type, nodeOf });
  return planSlices(subject, groups, { type, slices });
}
/** The slices after the plan. */
function after(slices: readonly EndpointSlice[], { create, update, remove }: SlicePlan): EndpointSlice[] {
  const gone = new Set([...update, ...remove].map(({ metadata }) => metadata.name));
  const made = create.map((slice, index) =>
    build(EndpointSlice, { ...slice, metadata: { ...slice.metadata, name: `s${slices.length + index}` } }),
  );
  return [...slices.filter(({ metadata }) => !gone.has(metadata.name)), ...update, ...made];
}
const sizes = (slices: readonly EndpointSlice[]) => slices.map(({ endpoints }) => endpoints.length);
const counts = ({ create, update, remove }: SlicePlan) => [create.length, update.length, remove.length];

test("endpointsOf() describes a pod as an endpoint of a service", () => {
  const { groups } = endpointsOf(service(), [pod(1, { hostname: "db" })], { type, nodeOf });

  const [group] = [...groups.values()];
  assert.deepEqual(group?.ports, [{ name: "http", protocol: "TCP", port: 80 }]);
  assert.deepEqual(
    [...(group?.endpoints.values() ?? [])],
    [
      {
        addresses: ["10.0.0.1"],
        conditions: { ready: true, serving: true, terminating: false },
        hostname: "db",
        targetRef: { kind: "Pod", namespace: "default", name: "p1", uid: "uid-p1" },
        nodeName: "n",
        zone: "z",
      },
    ],
  );
});

const conditionCases = [
  { name: "a pod that is not ready", facts: { ready: false }, expected: [false, false, false] },
  { name: "a pod that is ending", facts: { ending: true }, expected: [false, true, true] },
  { name: "a pod that is published anyway", facts: { ready: false }, publish: true, expected: [true, false, false] },
];
for (const { name, facts, publish = false, expected } of conditionCases) {
  test(`endpointsOf() handles ${name}`, () => {
    const subject = service({ publishNotReadyAddresses: publish });

    const { groups } = endpointsOf(subject, [pod(1, facts)], { type, nodeOf });

    const [endpoint] = [...groups.values()].flatMap(({ endpoints }) => [...endpoints.values()]);
    const { ready, serving, terminating } = endpoint?.conditions ?? {};
    assert.deepEqual([ready, serving, terminating], expected);
  });
}

test("endpointsOf() groups pods by the number of a named port", () => {
  const subject = service({ ports: [{ port: 80, targetPort: "web" }] });

  const { groups } = endpointsOf(subject, [pod(1), pod(2), pod(3, { port: 9090 })], { type, nodeOf });

  const found = [...groups.values()].map(({ ports, endpoints }) => [ports[0]?.port, endpoints.size]);
  assert.deepEqual(found, [
    [8080, 2],
    [9090, 1],
  ]);
});

test("endpointsOf() leaves out a pod whose node is unknown", () => {
  const { groups, withoutNode } = endpointsOf(service(), [pod(1, { node: "?" })], { type, nodeOf });

  assert.equal([...groups.values()][0]?.endpoints.size, 0);
  assert.equal(withoutNode.length, 1);
});

test("endpointsOf() adds hints for traffic that prefers near endpoints", () => {
  const subject = service({ trafficDistribution: "PreferSameNode" });

  const { groups } = endpointsOf(subject, [pod(1)], { type, nodeOf });

  const [endpoint] = [...groups.values()].flatMap(({ endpoints }) => [...endpoints.values()]);
  assert.deepEqual(endpoint?.hints, { forZones: [{ name: "z" }], forNodes: [{ name: "n" }] });
});

test("planSlices() fills slices with a hundred endpoints each", () => {
  const slices = after([], plan(service(), pods(250), []));

  assert.deepEqual(sizes(slices), [100, 100, 50]);
  assert.deepEqual(counts(plan(service(), pods(250), slices)), [0, 0, 0]);
  assert.deepEqual(slices[0]?.metadata.labels, {
    team: "a",
    "kubernetes.io/service-name": "web",
    "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
  });
});

test("planSlices() puts a few new endpoints into the slice with room", () => {
  const slices = after([], plan(service(), pods(250), []));

  const next = plan(service(), pods(260), slices);

  assert.deepEqual(counts(next), [0, 1, 0]);
  assert.deepEqual(sizes(after(slices, next)), [100, 100, 60]);
});

test("planSlices() changes only the slice whose endpoint changed", () => {
  const slices = after([], plan(service(), pods(250), []));
  const changed = pods(250).with(120, pod(120, { ready: false }));

  const next = plan(service(), changed, slices);

  assert.deepEqual(counts(next), [0, 1, 0]);
  assert.equal(next.update[0]?.metadata.name, "s1");
});

test("planSlices() fills the gap that a replaced pod leaves", () => {
  const slices = after([], plan(service(), pods(200), []));
  const replaced = pods(200).with(5, pod(777));

  const next = plan(service(), replaced, slices);

  assert.deepEqual(counts(next), [0, 1, 0]);
  assert.deepEqual(sizes(after(slices, next)), [100, 100]);
});

test("planSlices() removes empty slices, but keeps one for a service without endpoints", () => {
  const slices = after([], plan(service(), pods(250), []));

  const next = plan(service(), [], slices);

  assert.deepEqual(counts(next), [0, 1, 2]);
  const left = after(slices, next);
  assert.deepEqual(sizes(left), [0]);
  assert.deepEqual(left[0]?.ports ?? [], []);
  assert.deepEqual(counts(plan(service(), [], left)), [0, 0, 0]);
});

test("planSlices() creates an empty slice for a service without pods and uses it for the first one", () => {
  const slices = after([], plan(service(), [], []));

  const next = plan(service(), pods(1), slices);

  assert.deepEqual(sizes(slices), [0]);
  assert.deepEqual(counts(next), [0, 1, 0]);
  assert.equal(next.update[0]?.ports?.length, 1);
});

test("planSlices() removes slices of an earlier service of the same name", () => {
  const slices = after([], plan(service(), pods(1), []));
  const next = plan({ ...service(), metadata: { ...service().metadata, uid: "other" } }, pods(1), slices);

  assert.deepEqual(counts(next), [1, 0, 1]);
});

test("planSlices() marks slices of a headless service and follows its labels", () => {
  const slices = after([], plan(service(), pods(1), []));
  const headless = service({ clusterIP: "None" });

  const next = plan(headless, pods(1), slices);

  assert.deepEqual(counts(next), [0, 1, 0]);
  assert.equal(next.update[0]?.metadata.labels?.["service.kubernetes.io/headless"], "");
});
