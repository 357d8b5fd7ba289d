import assert from "node:assert/strict";
import { test } from "node:test";
import { faultsOf, read, updateFaultsOf } from "../faults.suite.ts";
import { prepareUpdate } from "../rules.ts";
import { ServiceCIDR } from "./service-cidr.ts";

const metadata = { name: "kubernetes" };
const range = (...cidrs: string[]) => ({ metadata, spec: { cidrs } });

const cases: readonly { name: string; cidrs: readonly string[]; faults: readonly string[] }[] = [
  { name: "takes one range", cidrs: ["10.96.0.0/12"], faults: [] },
  { name: "takes a range of each family", cidrs: ["10.96.0.0/12", "2001:db8::/108"], faults: [] },
  { name: "wants a range", cidrs: [], faults: ["spec.cidrs: Required value: at least one CIDR required"] },
  {
    name: "takes no more than two",
    cidrs: ["10.0.0.0/16", "10.1.0.0/16", "10.2.0.0/16"],
    faults: [
      'spec.cidrs: Invalid value: {"CIDRs":["10.0.0.0/16","10.1.0.0/16","10.2.0.0/16"]}: may only hold up to 2 values',
    ],
  },
  {
    name: "takes one of a family",
    cidrs: ["10.0.0.0/16", "10.1.0.0/16"],
    faults: [
      'spec.cidrs: Invalid value: ["10.0.0.0/16","10.1.0.0/16"]: may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64',
    ],
  },
  {
    name: "wants ranges in their usual form",
    cidrs: ["10.0.0.1/16", "2001:DB8::/64"],
    faults: [
      'spec.cidrs[0]: Invalid value: "10.0.0.1/16": must not have bits set beyond the prefix length',
      'spec.cidrs[1]: Invalid value: "2001:DB8::/64": must be in canonical form ("2001:db8::/64")',
    ],
  },
];
for (const { name, cidrs, faults } of cases) {
  test(`a ServiceCIDR ${name}`, () => assert.deepEqual(faultsOf(ServiceCIDR, range(...cidrs)), faults));
}

const changes: readonly { name: string; from: object; to: object; faults: readonly string[] }[] = [
  {
    name: "can get a second family",
    from: range("10.0.0.0/16"),
    to: range("10.0.0.0/16", "2001:db8::/64"),
    faults: [],
  },
  {
    name: "keeps the first range when it gets a second",
    from: range("10.0.0.0/16"),
    to: range("10.1.0.0/16", "x"),
    faults: [
      'spec.cidrs[0]: Invalid value: "10.1.0.0/16": field is immutable',
      'spec.cidrs[1]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
    ],
  },
  {
    name: "keeps its range",
    from: range("10.0.0.0/16"),
    to: range("10.1.0.0/16"),
    faults: ['spec.cidrs[0]: Invalid value: "10.1.0.0/16": field is immutable'],
  },
  {
    name: "loses no range",
    from: range("10.0.0.0/16", "2001:db8::/64"),
    to: range("10.0.0.0/16"),
    faults: ['spec.cidrs: Invalid value: ["10.0.0.0/16"]: field is immutable'],
  },
];
for (const { name, from, to, faults } of changes) {
  test(`a ServiceCIDR ${name}`, () => assert.deepEqual(updateFaultsOf(ServiceCIDR, to, from), faults));
}

test("only a write of the status changes the status of a ServiceCIDR, and nothing else", () => {
  const condition = { type: "Ready", status: "True", reason: "Ok", lastTransitionTime: "2026-01-01T00:00:00Z" };
  const sent = { ...range("10.1.0.0/16"), status: { conditions: [condition] } };
  const old = read(ServiceCIDR, { ...range("10.0.0.0/16"), metadata: { ...metadata, labels: { a: "b" } } });
  const created = read(ServiceCIDR, sent);
  const updated = read(ServiceCIDR, { ...sent, metadata: { ...metadata, annotations: { c: "d" } } });

  ServiceCIDR.prepareForCreate?.(created);
  prepareUpdate(ServiceCIDR, { object: updated, old, subresource: "status" });

  assert.deepEqual(created.status, {});
  assert.deepEqual(updated.spec, old.spec);
  assert.deepEqual(updated.metadata, { ...metadata, labels: { a: "b" } });
  assert.equal(updated.status.conditions?.[0]?.type, "Ready");
});

test("the columns of a ServiceCIDR show its ranges", () => {
  const object = read(ServiceCIDR, range("10.96.0.0/12", "2001:db8::/108"));

  assert.deepEqual(
    ServiceCIDR.columns.map(({ value }) => value(object, 0)),
    ["10.96.0.0/12,2001:db8::/108", "<unknown>"],
  );
});
