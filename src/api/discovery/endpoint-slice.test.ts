import assert from "node:assert/strict";
import { test } from "node:test";
import { faultsOf, read, updateFaultsOf } from "../faults.suite.ts";
import { EndpointSlice } from "./endpoint-slice.ts";

const metadata = { name: "web-1", namespace: "default" };
const good = { metadata, addressType: "IPv4", endpoints: [{ addresses: ["10.0.0.1"] }], ports: [{ port: 80 }] };

const cases = [
  { name: "takes a good one", change: {}, faults: [] },
  { name: "wants a type", change: { addressType: "" }, faults: ["addressType: Required value"] },
  {
    name: "knows its types",
    change: { addressType: "IPX" },
    faults: ['addressType: Unsupported value: "IPX": supported values: "FQDN", "IPv4", "IPv6"'],
  },
  {
    name: "wants an address for each endpoint",
    change: { endpoints: [{}] },
    faults: ["endpoints[0].addresses: Required value: must contain at least 1 address"],
  },
  {
    name: "wants addresses of its type",
    change: { endpoints: [{ addresses: ["2001:db8::1"] }] },
    faults: ['endpoints[0].addresses: Invalid value: "2001:db8::1": must be an IPv4 address'],
  },
  {
    name: "sends no traffic to the node itself",
    change: { endpoints: [{ addresses: ["127.0.0.1"] }] },
    faults: [
      'endpoints[0].addresses[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
    ],
  },
  {
    name: "wants domains to be whole",
    change: { addressType: "FQDN", endpoints: [{ addresses: ["web"] }] },
    faults: [
      'endpoints[0].addresses[0]: Invalid value: "web": should be a domain with at least two segments separated by dots',
    ],
  },
  {
    name: "tells its ports apart",
    change: { ports: [{ name: "a" }, { name: "a", protocol: "ICMP" }] },
    faults: [
      'ports[1].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"',
      'ports[1].name: Duplicate value: "a"',
    ],
  },
  {
    name: "has at most a thousand endpoints",
    change: { endpoints: Array.from({ length: 1001 }, () => ({ addresses: ["10.0.0.1"] })) },
    faults: ["endpoints: Too many: 1001: must have at most 1000 items"],
  },
];
for (const { name, change, faults } of cases) {
  test(`an EndpointSlice ${name}`, () => assert.deepEqual(faultsOf(EndpointSlice, { ...good, ...change }), faults));
}

test("the type of an EndpointSlice cannot be changed", () => {
  const after = { ...good, addressType: "IPv6", endpoints: [] };

  assert.deepEqual(updateFaultsOf(EndpointSlice, after, good), [
    'addressType: Invalid value: "IPv6": field is immutable',
  ]);
});

test("the columns of an EndpointSlice show a few of its ports and addresses", () => {
  const addresses = ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"];
  const slice = read(EndpointSlice, { ...good, endpoints: addresses.map((address) => ({ addresses: [address] })) });

  const cells = EndpointSlice.columns.map(({ value }) => value(slice, 0));

  assert.deepEqual(cells, ["IPv4", "80", "10.0.0.1,10.0.0.2,10.0.0.3 + 1 more...", "<unknown>"]);
});
