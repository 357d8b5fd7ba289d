import assert from "node:assert/strict";
import { test } from "node:test";
import { faultsOf, read, statusFaultsOf, updateFaultsOf } from "../faults.suite.ts";
import { prepareUpdate } from "../rules.ts";
import { APIService } from "./api-service.ts";

const metadata = { name: "v1.example.com", creationTimestamp: "2026-01-01T00:00:00Z" };
const local = { group: "example.com", version: "v1", groupPriorityMinimum: 1000, versionPriority: 15 };
const service = { namespace: "n", name: "s" };
const remote = { ...local, service };
const caBundle = Buffer.from("hello").toString("base64");
const having = (spec: object): object => ({ metadata, spec });

const wrongName = (name: string): string => `Invalid value: "${name}": must be \`spec.version+"."+spec.group\`:`;
const version =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";

const cases: readonly { name: string; object: object; faults: string[] }[] = [
  { name: "can be local", object: having(local), faults: [] },
  { name: "can be remote", object: having({ ...remote, caBundle }), faults: [] },
  {
    name: "can leave out the checks of a remote server",
    object: having({ ...remote, insecureSkipTLSVerify: true }),
    faults: [],
  },
  {
    name: "can be of the core group",
    object: { metadata: { name: "v1." }, spec: { ...local, group: "" } },
    faults: [],
  },
  {
    name: "is named after its version and group",
    object: { metadata: { name: "v2.example.com", generateName: "v" }, spec: local },
    faults: [
      `metadata.generateName: ${wrongName("v")} "v1.example.com"`,
      `metadata.name: ${wrongName("v2.example.com")} "v1.example.com"`,
    ],
  },
  {
    name: "has a name that fits into a path",
    object: { metadata: { name: "v1.a/b" }, spec: { ...local, group: "a" } },
    faults: ["metadata.name: Invalid value: \"v1.a/b\": may not contain '/'"],
  },
  {
    name: "needs a group, a version and priorities",
    object: { metadata: { name: "." } },
    faults: [
      "metadata.name: Invalid value: \".\": may not be '.'",
      "spec.group: Required value: only v1 may have an empty group and it better be legacy kube",
      `spec.version: Invalid value: "": ${version}`,
      "spec.groupPriorityMinimum: Invalid value: 0: must be positive and less than 20000",
      "spec.versionPriority: Invalid value: 0: must be positive and less than 1000",
    ],
  },
  {
    name: "has limited priorities",
    object: having({ ...local, groupPriorityMinimum: 20_001, versionPriority: 1001 }),
    faults: [
      "spec.groupPriorityMinimum: Invalid value: 20001: must be positive and less than 20000",
      "spec.versionPriority: Invalid value: 1001: must be positive and less than 1000",
    ],
  },
  {
    name: "checks no certificates if it is local",
    object: having({ ...local, caBundle, insecureSkipTLSVerify: true }),
    faults: [
      'spec.caBundle: Invalid value: "5 bytes": local APIServices may not have a caBundle',
      "spec.insecureSkipTLSVerify: Invalid value: true: local APIServices may not have insecureSkipTLSVerify",
    ],
  },
  {
    name: "needs the whole service",
    object: having({ ...remote, service: { port: 0 }, caBundle, insecureSkipTLSVerify: true }),
    faults: [
      "spec.service.namespace: Required value",
      "spec.service.name: Required value",
      "spec.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive",
      "spec.insecureSkipTLSVerify: Invalid value: true: may not be true if caBundle is present",
    ],
  },
];
for (const { name, object, faults } of cases) {
  test(`an APIService ${name}`, () => assert.deepEqual(faultsOf(APIService, object), faults));
}

test("an APIService gets the usual port", () => {
  assert.equal(read(APIService, having(remote)).spec.service?.port, 443);
});

test("an APIService keeps its version and its group, because its name says them", () => {
  assert.deepEqual(updateFaultsOf(APIService, having({ ...local, version: "v2" }), having(local)), [
    `metadata.name: ${wrongName("v1.example.com")} "v2.example.com"`,
  ]);
  assert.deepEqual(updateFaultsOf(APIService, having(remote), having(local)), []);
});

const cellsOf = (object: object): unknown[] =>
  APIService.columns.map(({ value }) => value(read(APIService, object), 0));
const available = (status: string, reason?: string): object => ({
  ...having(remote),
  status: { conditions: [{ type: "Available", status, reason }] },
});

test("an APIService shows its service and whether it is available", () => {
  assert.deepEqual(
    APIService.columns.map(({ name }) => name),
    ["Service", "Available", "Age"],
  );
  assert.deepEqual(cellsOf(having(local)).slice(0, 2), ["Local", "Unknown"]);
  assert.deepEqual(cellsOf(available("True", "Passed")).slice(0, 2), ["n/s", "True"]);
  assert.deepEqual(cellsOf(available("False", "Missing")).slice(0, 2), ["n/s", "False (Missing)"]);
  assert.deepEqual(cellsOf(available("False")).slice(0, 2), ["n/s", "False"]);
});

test("a new local APIService is available, and a remote one has no status", () => {
  const statusOf = (spec: object) => {
    const created = read(APIService, { ...having(spec), status: { conditions: [{ type: "Made", status: "True" }] } });
    APIService.prepareForCreate?.(created);
    return created.status;
  };

  assert.deepEqual(statusOf(remote), {});
  assert.deepEqual(statusOf(local), {
    conditions: [
      {
        type: "Available",
        status: "True",
        lastTransitionTime: metadata.creationTimestamp,
        reason: "Local",
        message: "Local APIServices are always available",
      },
    ],
  });
});

test("the status of an APIService has conditions that are true, false or unknown", () => {
  assert.deepEqual(statusFaultsOf(APIService, available("Maybe"), having(remote)), [
    'status.conditions[0].status: Unsupported value: "Maybe": supported values: "True", "False", "Unknown"',
  ]);
  assert.deepEqual(statusFaultsOf(APIService, available("False"), having(remote)), []);
});

test("a write of the status changes neither the spec nor the labels of an APIService", () => {
  const old = read(APIService, having(remote));
  const object = read(APIService, {
    metadata: { ...metadata, labels: { a: "b" }, annotations: { a: "b" } },
    spec: local,
    status: { conditions: [{ type: "Available", status: "False" }] },
  });

  prepareUpdate(APIService, { object, old, subresource: "status" });

  assert.deepEqual(object, { ...old, status: object.status });
  assert.equal(object.status.conditions?.[0]?.status, "False");
});
