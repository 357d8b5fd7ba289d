import assert from "node:assert/strict";
import { test } from "node:test";
import { faultsOf, read, updateFaultsOf } from "../faults.suite.ts";
import { IPAddress } from "./ip-address.ts";

const metadata = { name: "10.0.0.1" };
const parentRef = { resource: "services", namespace: "default", name: "web" };

const cases: readonly { name: string; object: object; faults: readonly string[] }[] = [
  { name: "belongs to a service", object: { metadata, spec: { parentRef } }, faults: [] },
  { name: "may be of IPv6", object: { metadata: { name: "2001:db8::1" }, spec: { parentRef } }, faults: [] },
  {
    name: "is its name",
    object: { metadata: { name: "web" }, spec: { parentRef } },
    faults: ['metadata.name: Invalid value: "web": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'],
  },
  {
    name: "has one name",
    object: { metadata: { name: "2001:db8:0::1" }, spec: { parentRef } },
    faults: ['metadata.name: Invalid value: "2001:db8:0::1": must be in canonical form ("2001:db8::1")'],
  },
  { name: "belongs to something", object: { metadata }, faults: ["spec.parentRef: Required value"] },
  {
    name: "wants the resource and the name of its parent",
    object: { metadata, spec: { parentRef: { group: "acme_io" } } },
    faults: [
      "spec.parentRef.group: Invalid value: \"acme_io\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
      "spec.parentRef.resource: Required value",
      "spec.parentRef.name: Required value",
    ],
  },
  {
    name: "wants a parent that has a path",
    object: { metadata, spec: { parentRef: { resource: "a/b", name: "c%", namespace: ".." } } },
    faults: [
      "spec.parentRef.resource: Invalid value: \"a/b\": may not contain '/'",
      "spec.parentRef.name: Invalid value: \"c%\": may not contain '%'",
      "spec.parentRef.namespace: Invalid value: \"..\": may not be '..'",
    ],
  },
];
for (const { name, object, faults } of cases) {
  test(`an IPAddress ${name}`, () => assert.deepEqual(faultsOf(IPAddress, object), faults));
}

test("an IPAddress keeps its parent", () => {
  const old = { metadata, spec: { parentRef } };
  const sent = { metadata, spec: { parentRef: { ...parentRef, name: "other" } } };

  assert.deepEqual(updateFaultsOf(IPAddress, old, old), []);
  assert.deepEqual(updateFaultsOf(IPAddress, sent, old), [
    'spec.parentRef: Invalid value: {"Group":"","Resource":"services","Namespace":"default","Name":"other"}: field is immutable',
  ]);
});

test("the column of an IPAddress shows its parent", () => {
  const cells = (spec: object) => IPAddress.columns.map(({ value }) => value(read(IPAddress, { metadata, spec }), 0));

  assert.deepEqual(cells({ parentRef }), ["services/default/web"]);
  assert.deepEqual(cells({ parentRef: { group: "acme.io", resource: "Things", name: "a" } }), ["things.acme.io/a"]);
  assert.deepEqual(cells({}), ["<none>"]);
});
