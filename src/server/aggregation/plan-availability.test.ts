import assert from "node:assert/strict";
import { test } from "node:test";
import { Service } from "#api/core/service.ts";
import { EndpointSlice } from "#api/discovery/endpoint-slice.ts";
import { read } from "#api/faults.suite.ts";
import { passed, planAvailability, withVerdict } from "./plan-availability.ts";

const service = (spec: object) => read(Service, { metadata: { name: "s", namespace: "n" }, spec });
const slice = (part: object) =>
  read(EndpointSlice, {
    metadata: { name: "s", namespace: "n" },
    addressType: "IPv4",
    ports: [{ name: "https", port: 443 }],
    endpoints: [{ addresses: ["10.0.0.1"] }],
    ...part,
  });
const https = service({ type: "ClusterIP", ports: [{ name: "https", port: 443 }] });

const cases = [
  {
    name: "misses the service",
    around: { service: undefined, slices: [] },
    says: ["ServiceNotFound", 'service/s in "n" is not present'],
  },
  {
    name: "misses the port",
    around: { service: service({ type: "ClusterIP", ports: [{ port: 80 }] }), slices: [] },
    says: ["ServicePortError", 'service/s in "n" is not listening on port 443'],
  },
  {
    name: "misses slices",
    around: { service: https, slices: [] },
    says: ["EndpointsNotFound", 'cannot find endpointslices for service/s in "n"'],
  },
  {
    name: "misses ready endpoints",
    around: {
      service: https,
      slices: [slice({ endpoints: [{ addresses: ["10.0.0.1"], conditions: { ready: false } }] })],
    },
    says: ["MissingEndpoints", 'endpointslices for service/s in "n" have no addresses with port name "https"'],
  },
  {
    name: "misses the port of endpoints",
    around: { service: https, slices: [slice({ ports: [{ name: "http", port: 80 }] })] },
    says: ["MissingEndpoints", 'endpointslices for service/s in "n" have no addresses with port name "https"'],
  },
  { name: "asks the server", around: { service: https, slices: [slice({})] }, says: undefined },
  {
    name: "asks the server of another type of service",
    around: { service: service({ type: "NodePort", ports: [{ port: 80 }] }), slices: [] },
    says: undefined,
  },
];
for (const { name, around, says } of cases) {
  test(`planAvailability() ${name}`, () => {
    const verdict = planAvailability({ namespace: "n", name: "s", port: 443 }, around);

    assert.deepEqual(verdict && [verdict.status, verdict.reason, verdict.message], says && ["False", ...says]);
  });
}

test("withVerdict() keeps other conditions, and the time while the status stays the same", () => {
  const other = { type: "Other", status: "True" };
  const first = withVerdict({ conditions: [other] }, passed, "2026-01-01T00:00:00Z");
  const same = withVerdict(first, { ...passed, message: "still" }, "2026-01-02T00:00:00Z");
  const lost = withVerdict(same, { status: "False", reason: "R", message: "m" }, "2026-01-03T00:00:00Z");

  const times = [first, same, lost].map(({ conditions = [] }) => conditions[1]?.lastTransitionTime);
  assert.deepEqual(times, ["2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "2026-01-03T00:00:00Z"]);
  assert.deepEqual(lost.conditions?.[0], other);
});
