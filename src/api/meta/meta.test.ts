import assert from "node:assert/strict";
import { test } from "node:test";
import { nullable, optional } from "#schema/fields.ts";
import { inPackage } from "#schema/schema.ts";
import { list, map, quantity, string } from "#schema/types.ts";
import { faultsIn } from "../cursor.ts";
import { age, humanDuration } from "./age.ts";
import { validateCondition, withCondition } from "./condition.ts";
import { semanticEqual } from "./equal.ts";
import { scaledValue, validateIntOrPercent } from "./int-or-string.ts";
import {
  canonicalAddress,
  ipFamily,
  isSmallerCidr,
  validateCidr,
  validateEndpointIp,
  validateIp,
} from "./ip-address.ts";
import { controllerOf, isControlledBy, ownerRefTo } from "./owner.ts";

const object = inPackage("test");

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const durations: readonly (readonly [number, string])[] = [
  [-2 * second, "<invalid>"],
  [-1 * second, "0s"],
  [0, "0s"],
  [119 * second, "119s"],
  [120 * second, "2m"],
  [125 * second, "2m5s"],
  [10 * minute, "10m"],
  [179 * minute, "179m"],
  [180 * minute, "3h"],
  [7 * hour + 5 * minute, "7h5m"],
  [47 * hour, "47h"],
  [48 * hour, "2d"],
  [50 * hour, "2d2h"],
  [8 * day, "8d"],
  [729 * day, "729d"],
  [730 * day, "2y"],
  [800 * day, "2y70d"],
  [2920 * day, "8y"],
];
for (const [ms, text] of durations) {
  test(`humanDuration() shows ${ms} ms as ${text}`, () => assert.equal(humanDuration(ms), text));
}

test("an object without a timestamp has an unknown age", () => {
  assert.equal(age(undefined, 0), "<unknown>");
  assert.equal(age("1970-01-01T00:00:00Z", 5 * minute), "5m");
});

test("scaledValue() takes integers as they are and rounds percentages", () => {
  assert.equal(scaledValue(3, 10, "up"), 3);
  assert.equal(scaledValue("25%", 10, "up"), 3);
  assert.equal(scaledValue("25%", 10, "down"), 2);
  assert.equal(scaledValue("25", 10, "down"), undefined);
});

test("validateIntOrPercent() refuses what is neither", () => {
  const messages = (value: number | string) => faultsIn(value, validateIntOrPercent).map((f) => f.message);

  assert.deepEqual(messages("10%"), []);
  assert.deepEqual(messages(-1), ["Invalid value: -1: must be greater than or equal to 0"]);
  assert.match(messages("10")[0] ?? "", /^Invalid value: "10": a valid percent string must be a numeric string/);
});

const addresses = [
  { text: "10.0.0.1", canonical: "10.0.0.1", family: "IPv4", fault: undefined },
  { text: "010.0.0.1", canonical: "10.0.0.1", family: "IPv4", fault: "must not have leading 0s" },
  { text: "2001:DB8:0:0::1", canonical: "2001:db8::1", family: "IPv6", fault: undefined },
  { text: "::", canonical: "::", family: "IPv6", fault: undefined },
  { text: "1:0:0:2:0:0:0:3", canonical: "1:0:0:2::3", family: "IPv6", fault: undefined },
  { text: "::ffff:1.2.3.4", canonical: "1.2.3.4", family: "IPv4", fault: "must not be an IPv4-mapped IPv6 address" },
  {
    text: "fe80::1%eth0",
    canonical: undefined,
    family: undefined,
    fault: "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
  },
  {
    text: "1.2.3",
    canonical: undefined,
    family: undefined,
    fault: "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
  },
];
for (const { text, canonical, family, fault } of addresses) {
  test(`the address ${text} is ${fault ? "refused" : "taken"}`, () => {
    assert.equal(canonicalAddress(text), canonical);
    assert.equal(ipFamily(text), family);
    const expected = fault ? [`Invalid value: ${JSON.stringify(text)}: ${fault}`] : [];
    assert.deepEqual(
      faultsIn(text, validateIp).map(({ message }) => message),
      expected,
    );
  });
}

const special = [
  { text: "127.1.2.3", fault: "may not be in the loopback range (127.0.0.0/8, ::1/128)" },
  { text: "::1", fault: "may not be in the loopback range (127.0.0.0/8, ::1/128)" },
  { text: "0.0.0.0", fault: "may not be unspecified (0.0.0.0)" },
  { text: "169.254.1.1", fault: "may not be in the link-local range (169.254.0.0/16, fe80::/10)" },
  { text: "fe80::1", fault: "may not be in the link-local range (169.254.0.0/16, fe80::/10)" },
  { text: "224.0.0.5", fault: "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)" },
];
for (const { text, fault } of special) {
  test(`traffic cannot be sent to ${text}`, () => {
    const messages = faultsIn(text, validateEndpointIp).map(({ message }) => message);
    assert.deepEqual(messages, [`Invalid value: "${text}": ${fault}`]);
  });
}

const cidrs = [
  { text: "10.0.0.0/8", fault: undefined },
  { text: "2001:db8::/32", fault: undefined },
  { text: "10.0.0.1/8", fault: "must not have bits set beyond the prefix length" },
  { text: "10.0.0.0/33", fault: "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)" },
  { text: "10.0.0.0", fault: "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)" },
  { text: "10.0.0.0/08", fault: "must not have leading 0s in IP or prefix length" },
];
for (const { text, fault } of cidrs) {
  test(`the range ${text} is ${fault ? "refused" : "taken"}`, () => {
    const expected = fault ? [`Invalid value: ${JSON.stringify(text)}: ${fault}`] : [];
    assert.deepEqual(
      faultsIn(text, validateCidr).map(({ message }) => message),
      expected,
    );
  });
}

const nested = [
  { inner: "10.1.0.0/16", outer: "10.0.0.0/8", isSmaller: true },
  { inner: "10.0.0.0/8", outer: "10.0.0.0/8", isSmaller: false },
  { inner: "10.0.0.0/8", outer: "10.1.0.0/16", isSmaller: false },
  { inner: "11.1.0.0/16", outer: "10.0.0.0/8", isSmaller: false },
  { inner: "10.0.16.0/21", outer: "10.0.16.0/20", isSmaller: true },
  { inner: "10.0.32.0/21", outer: "10.0.16.0/20", isSmaller: false },
  { inner: "1.2.3.4/32", outer: "0.0.0.0/0", isSmaller: true },
  { inner: "2001:db8:8000::/34", outer: "2001:db8:8000::/33", isSmaller: true },
  { inner: "2001:db8::/34", outer: "2001:db8:8000::/33", isSmaller: false },
  { inner: "10.0.0.0/8", outer: "::/0", isSmaller: false },
  { inner: "10.0.0.0", outer: "10.0.0.0/8", isSmaller: undefined },
];
for (const { inner, outer, isSmaller } of nested) {
  test(`${inner} ${isSmaller ? "is" : "is not"} a smaller part of ${outer}`, () =>
    assert.equal(isSmallerCidr(inner, outer), isSmaller));
}

test("semanticEqual() knows what an absent value stands for", () => {
  const schema = object("T", "", {
    text: optional(1, string(), ""),
    pointer: nullable(2, object("test.P", "", { x: optional(1, string(), "") }), ""),
    names: optional(3, list(string()), ""),
    amounts: optional(4, map(quantity()), ""),
  });

  assert.equal(semanticEqual(schema, { text: "", names: [] }, {}), true);
  assert.equal(semanticEqual(schema, { pointer: {} }, {}), false);
  assert.equal(semanticEqual(schema, { amounts: { cpu: "1" } }, { amounts: { cpu: "1000m" } }), true);
  assert.equal(semanticEqual(schema, { names: ["a"] }, { names: ["b"] }), false);
});

test("an owner that is a controller is found again", () => {
  const owner = { metadata: { name: "web", uid: "1" } };
  const reference = ownerRefTo({ group: "apps", version: "v1", kind: "ReplicaSet" }, owner);
  const pod = { metadata: { ownerReferences: [{ ...reference, uid: "0", controller: false }, reference] } };

  assert.equal(reference.apiVersion, "apps/v1");
  assert.equal(controllerOf(pod)?.uid, "1");
  assert.equal(isControlledBy(pod, owner), true);
});

test("withCondition() puts a condition in the place of its type", () => {
  const before = [
    { type: "A", status: "False" },
    { type: "B", status: "True" },
  ];

  const after = withCondition(before, { type: "A", status: "True" });

  assert.deepEqual(
    after.map(({ type, status }) => type + status),
    ["ATrue", "BTrue"],
  );
});

test("validateCondition() reports every fault", () => {
  const condition = { type: "Ready", status: "Yes", lastTransitionTime: "", reason: "not ok", message: "" };

  const faults = faultsIn(condition, (at) => validateCondition(at.under("c"))).map(
    ({ path, message }) => `${path}: ${message.slice(0, 44)}`,
  );

  assert.deepEqual(faults, [
    'c.status: Unsupported value: "Yes": supported values: ',
    "c.lastTransitionTime: Required value",
    'c.reason: Invalid value: "not ok": a condition reason ',
  ]);
});
