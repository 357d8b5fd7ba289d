import assert from "node:assert/strict";
import { test } from "node:test";
import {
  configMapKey,
  dns1123Label,
  dns1123Subdomain,
  envVarName,
  labelValue,
  maskTrailingDash,
  pathSegmentName,
  percent,
  portName,
  qualifiedName,
} from "./names.ts";

const label =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const key =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

const cases = [
  { rule: dns1123Label, name: "dns1123Label", value: "a-1", faults: [] },
  { rule: dns1123Label, name: "dns1123Label", value: "a.b", faults: ["must not contain dots"] },
  { rule: dns1123Label, name: "dns1123Label", value: "A", faults: [label] },
  { rule: dns1123Label, name: "dns1123Label", value: "a".repeat(64), faults: ["must be no more than 63 characters"] },
  { rule: dns1123Subdomain, name: "dns1123Subdomain", value: "a.b-c.1", faults: [] },
  { rule: dns1123Subdomain, name: "dns1123Subdomain", value: "a..b", faults: [subdomain] },
  { rule: qualifiedName, name: "qualifiedName", value: "example.com/My_Name", faults: [] },
  { rule: qualifiedName, name: "qualifiedName", value: "/x", faults: ["prefix part must be non-empty"] },
  {
    rule: qualifiedName,
    name: "qualifiedName",
    value: "example.com/",
    faults: ["name part must be non-empty", `name part ${key}`],
  },
  { rule: qualifiedName, name: "qualifiedName", value: "A.com/x", faults: [`prefix part ${subdomain}`] },
  {
    rule: qualifiedName,
    name: "qualifiedName",
    value: "a/b/c",
    faults: [`a valid label key ${key} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`],
  },
  {
    rule: qualifiedName,
    name: "qualifiedName",
    value: "a".repeat(64),
    faults: ["name part must be no more than 63 bytes"],
  },
  { rule: labelValue, name: "labelValue", value: "", faults: [] },
  { rule: labelValue, name: "labelValue", value: "a".repeat(64), faults: ["must be no more than 63 bytes"] },
  {
    rule: labelValue,
    name: "labelValue",
    value: "-a",
    faults: [
      "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
    ],
  },
  { rule: envVarName, name: "envVarName", value: "my var-1.x", faults: [] },
  {
    rule: envVarName,
    name: "envVarName",
    value: "a=b",
    faults: ["a valid environment variable name must consist only of printable ASCII characters other than '='"],
  },
  { rule: envVarName, name: "envVarName", value: "", faults: ["environment variable name must be non-empty"] },
  { rule: configMapKey, name: "configMapKey", value: "..a", faults: ["must not start with '..'"] },
  { rule: configMapKey, name: "configMapKey", value: "a.b_c-1", faults: [] },
  { rule: portName, name: "portName", value: "http-1", faults: [] },
  {
    rule: portName,
    name: "portName",
    value: "-1--2",
    faults: [
      "must contain at least one letter (a-z)",
      "must not contain consecutive hyphens",
      "must not begin or end with a hyphen",
    ],
  },
  { rule: pathSegmentName, name: "pathSegmentName", value: "system:node", faults: [] },
  { rule: pathSegmentName, name: "pathSegmentName", value: "..", faults: ["may not be '..'"] },
  {
    rule: pathSegmentName,
    name: "pathSegmentName",
    value: "a/b%",
    faults: ["may not contain '/'", "may not contain '%'"],
  },
  {
    rule: percent,
    name: "percent",
    value: "5",
    faults: [
      "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')",
    ],
  },
];
for (const { rule, name, value, faults } of cases) {
  test(`${name}() judges ${JSON.stringify(value.slice(0, 20))}`, () => {
    assert.deepEqual(rule.all(value), faults);
    assert.equal(rule(value), faults[0]);
  });
}

test("a prefix may end with the dash that the random part follows", () => {
  assert.equal(dns1123Label(maskTrailingDash("web-")), undefined);
  assert.notEqual(dns1123Label(maskTrailingDash("Web-")), undefined);
});

test("a name of 400,000 characters is refused by every rule", () => {
  const long = `${"a-".repeat(200_000)}!`;

  for (const rule of [dns1123Label, dns1123Subdomain, qualifiedName, labelValue, configMapKey]) {
    assert(rule.all(long).length > 0);
  }
});
