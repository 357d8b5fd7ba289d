import assert from "node:assert/strict";
import { test } from "node:test";
import { Endpoints } from "#api/core/service/endpoints.ts";
import { EndpointSlice } from "#api/discovery/endpoint-slice.ts";
import { type InputOf } from "#api/resource.ts";
import { build } from "#testing/build.ts";
import { type MirrorPlan, planMirror } from "./plan-mirror.ts";

type Subsets = InputOf<Endpoints>["subsets"];
const http = [{ port: 80 }];
const endpoints = (subsets: Subsets, metadata: object = {}): Endpoints =>
  build(Endpoints, { metadata: { namespace: "shop", name: "db", uid: "u1", ...metadata }, subsets: subsets ?? [] });

/** The slices after a plan was carried out. */
const after = (slices: readonly EndpointSlice[], plan: MirrorPlan): EndpointSlice[] => [
  ...slices
    .filter((slice) => !plan.remove.includes(slice))
    .map((slice) => plan.update.find(({ metadata }) => metadata.name === slice.metadata.name) ?? slice),
  ...plan.create.map((slice, index) =>
    build(EndpointSlice, { ...slice, metadata: { ...slice.metadata, name: `s${slices.length + index}` } }),
  ),
];
const counts = ({ create, update, remove }: MirrorPlan) => [create.length, update.length, remove.length];
const mirror = (of: Endpoints) => after([], planMirror(of, []));

test("planMirror() makes a slice for each subset and family, with labels, annotations and owner", () => {
  const metadata = {
    labels: { app: "db" },
    annotations: { note: "x", "kubectl.kubernetes.io/last-applied-configuration": "{}" },
  };
  const given = endpoints(
    [
      {
        addresses: [{ ip: "10.0.0.1", hostname: "one" }, { ip: "fd00::1" }],
        notReadyAddresses: [{ ip: "10.0.0.2" }],
        ports: http,
      },
    ],
    metadata,
  );

  const slices = mirror(given);

  assert.deepEqual(slices.map(({ addressType }) => addressType).sort(), ["IPv4", "IPv6"]);
  const [slice] = slices.filter(({ addressType }) => addressType === "IPv4");
  assert.deepEqual(
    slice?.endpoints.map(({ addresses, conditions, hostname }) => [addresses[0], conditions.ready, hostname]),
    [
      ["10.0.0.1", true, "one"],
      ["10.0.0.2", false, undefined],
    ],
  );
  assert.deepEqual(slice?.metadata.labels, {
    app: "db",
    "kubernetes.io/service-name": "db",
    "endpointslice.kubernetes.io/managed-by": "endpointslicemirroring-controller.k8s.io",
  });
  assert.deepEqual(slice?.metadata.annotations, { note: "x" });
  assert.equal(slice?.metadata.ownerReferences?.[0]?.kind, "Endpoints");
  assert.deepEqual(counts(planMirror(given, slices)), [0, 0, 0]);
});

const before = endpoints([{ addresses: [{ ip: "10.0.0.1" }], ports: http }]);
const cases: { name: string; next: Endpoints; counts: number[] }[] = [
  {
    name: "changes the slice with the addresses",
    next: endpoints([{ addresses: [{ ip: "10.0.0.9" }], ports: http }]),
    counts: [0, 1, 0],
  },
  {
    name: "uses a slice again for other ports",
    next: endpoints([{ addresses: [{ ip: "10.0.0.1" }], ports: [{ port: 81 }] }]),
    counts: [0, 1, 0],
  },
  {
    name: "replaces a slice of another family",
    next: endpoints([{ addresses: [{ ip: "fd00::1" }], ports: http }]),
    counts: [1, 0, 1],
  },
  { name: "follows labels", next: endpoints(before.subsets, { labels: { a: "b" } }), counts: [0, 1, 0] },
  { name: "follows annotations", next: endpoints(before.subsets, { annotations: { a: "b" } }), counts: [0, 1, 0] },
  {
    name: "adopts the slices of Endpoints of the same name",
    next: endpoints(before.subsets, { uid: "u2" }),
    counts: [0, 1, 0],
  },
  { name: "removes all slices of empty Endpoints", next: endpoints([]), counts: [0, 0, 1] },
];
for (const { name, next, counts: expected } of cases) {
  test(`planMirror() ${name}`, () => assert.deepEqual(counts(planMirror(next, mirror(before))), expected));
}

test("planMirror() mirrors at most 1000 addresses of a subset, ready ones first", () => {
  const addresses = Array.from({ length: 1200 }, (_, index) => ({ ip: `10.0.${index >> 8}.${index & 255}` }));
  const plan = planMirror(
    endpoints([{ addresses: addresses.slice(0, 900), notReadyAddresses: addresses.slice(900), ports: http }]),
    [],
  );

  assert.equal(plan.create[0]?.endpoints?.length, 1000);
  assert.equal(plan.create[0]?.endpoints?.filter(({ conditions }) => conditions?.ready).length, 900);
  assert.deepEqual([plan.invalid, plan.surplus], [0, 200]);
});

test("planMirror() leaves out what is no address", () => {
  const bad = { ...before, subsets: [{ addresses: [{ ip: "x" }, { ip: "10.0.0.1" }] }] } as Endpoints;

  assert.deepEqual([planMirror(bad, []).invalid, planMirror(bad, []).surplus], [1, 0]);
});
