import assert from "node:assert/strict";
import { test } from "node:test";
import { faultsOf, read, updateFaultsOf, warningsOfNew } from "#api/faults.suite.ts";
import { Endpoints } from "./endpoints.ts";

const metadata = { name: "web", namespace: "default" };
const withSubsets = (...subsets: object[]) => ({ metadata, subsets });
const addresses = [{ ip: "10.0.0.1" }];

const cases = [
  {
    name: "may have no ports, and any number of them with names",
    object: withSubsets(
      { addresses },
      {
        notReadyAddresses: [{ ip: "2001:db8::1", hostname: "a", nodeName: "node.example" }],
        ports: [
          { name: "dns", port: 53, protocol: "UDP" },
          { name: "web", port: 80, appProtocol: "kubernetes.io/h2c" },
        ],
      },
    ),
    faults: [],
  },
  {
    name: "has an address in every subset",
    object: withSubsets({ ports: [{ port: 80 }] }),
    faults: ["subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`"],
  },
  {
    name: "has addresses that traffic can be sent to",
    object: withSubsets({ addresses: [{ ip: "" }, { ip: "127.0.0.1" }], notReadyAddresses: [{ ip: "10.0.0.01" }] }),
    faults: [
      'subsets[0].addresses[0].ip: Invalid value: "": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
      'subsets[0].addresses[0].ip: Invalid value: "": must be a valid IP address',
      'subsets[0].addresses[1].ip: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
      'subsets[0].notReadyAddresses[0].ip: Invalid value: "10.0.0.01": must not have leading 0s',
    ],
  },
  {
    name: "has host names and node names that can be looked up",
    object: withSubsets({ addresses: [{ ip: "10.0.0.1", hostname: "a.b", nodeName: "N" }] }),
    faults: [
      'subsets[0].addresses[0].hostname: Invalid value: "a.b": must not contain dots',
      `subsets[0].addresses[0].nodeName: Invalid value: "N": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
    ],
  },
  {
    name: "has ports with names if there are several, and sound numbers and protocols",
    object: withSubsets({
      addresses,
      ports: [{ port: 0 }, { name: "a", port: 1, protocol: "ICMP", appProtocol: "/" }],
    }),
    faults: [
      "subsets[0].ports[0].name: Required value",
      "subsets[0].ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
      'subsets[0].ports[1].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"',
      'subsets[0].ports[1].appProtocol: Invalid value: "/": prefix part must be non-empty',
      'subsets[0].ports[1].appProtocol: Invalid value: "/": name part must be non-empty',
      `subsets[0].ports[1].appProtocol: Invalid value: "/": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
    ],
  },
];
for (const { name, object, faults } of cases) {
  test(`an Endpoints object ${name}`, () => assert.deepEqual(faultsOf(Endpoints, object), faults));
}

test("an update checks the subsets only if they change", () => {
  const old = withSubsets({ addresses: [{ ip: "010.0.0.1" }], ports: [{ port: 80 }] });
  const relabelled = { ...old, metadata: { ...metadata, labels: { a: "b" } } };

  assert.deepEqual(updateFaultsOf(Endpoints, relabelled, old), []);
  assert.deepEqual(updateFaultsOf(Endpoints, withSubsets({ addresses: [{ ip: "010.0.0.1" }] }), old), [
    'subsets[0].addresses[0].ip: Invalid value: "010.0.0.1": must not have leading 0s',
  ]);
});

test("a port is a TCP port unless it says otherwise", () => {
  const { subsets } = read(Endpoints, withSubsets({ addresses, ports: [{ port: 80 }] }));

  assert.deepEqual(subsets?.[0]?.ports, [{ port: 80, protocol: "TCP" }]);
});

const shown: readonly { name: string; subsets: object[]; text: string }[] = [
  { name: "nothing", subsets: [], text: "<none>" },
  { name: "no address that is ready", subsets: [{ notReadyAddresses: addresses }], text: "" },
  {
    name: "addresses without ports",
    subsets: [{ addresses: [{ ip: "10.0.0.1" }, { ip: "fd::1" }] }],
    text: "10.0.0.1,fd::1",
  },
  {
    name: "addresses with each of their ports",
    subsets: [
      { addresses: [{ ip: "10.0.0.1" }], ports: [{ port: 80 }, { port: 443 }] },
      { addresses: [{ ip: "fd::1" }], ports: [{ port: 9 }] },
    ],
    text: "10.0.0.1:80,10.0.0.1:443,[fd::1]:9",
  },
  {
    name: "how many more there are",
    subsets: [{ addresses: [{ ip: "10.0.0.1" }, { ip: "10.0.0.2" }], ports: [{ port: 80 }, { port: 443 }] }],
    text: "10.0.0.1:80,10.0.0.2:80,10.0.0.1:443 + 1 more...",
  },
];
for (const { name, subsets, text } of shown) {
  test(`the table shows ${name}`, () => {
    assert.equal(Endpoints.columns[0]?.value(read(Endpoints, { metadata, subsets }), 0), text);
  });
}

test("unusual addresses are warned of, unless the controller wrote them", () => {
  const unusual = withSubsets({ addresses: [{ ip: "2001:DB8::1" }], notReadyAddresses: [{ ip: "FD::1" }] });
  const labels = { "endpoints.kubernetes.io/managed-by": "endpoint-controller" };

  assert.deepEqual(warningsOfNew(Endpoints, unusual), [
    'subsets[0].addresses[0].ip: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format ("2001:db8::1")',
    'subsets[0].notReadyAddresses[0].ip: IPv6 address "FD::1" should be in RFC 5952 canonical format ("fd::1")',
  ]);
  assert.deepEqual(warningsOfNew(Endpoints, { ...unusual, metadata: { ...metadata, labels } }), []);
});
