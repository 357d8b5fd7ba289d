import assert from "node:assert/strict";
import { test } from "node:test";
import { faultsOf, read, updateFaultsOf, warningsOfNew } from "../faults.suite.ts";
import { RuntimeClass } from "./runtime-class.ts";

const metadata = { name: "gvisor" };
const toleration = { key: "sandbox", operator: "Exists", effect: "NoSchedule" };

const label =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const cases = [
  {
    name: "may have an overhead and nodes of its own",
    object: {
      handler: "runsc",
      overhead: { podFixed: { cpu: "100m", memory: "64Mi" } },
      scheduling: { nodeSelector: { sandbox: "yes" }, tolerations: [toleration] },
    },
    faults: [],
  },
  { name: "needs a handler", object: {}, faults: ["handler: Required value"] },
  {
    name: "has a label as its handler",
    object: { handler: "Run_SC" },
    faults: [`handler: Invalid value: "Run_SC": ${label}`],
  },
  {
    name: "has an overhead of resources that containers can have",
    object: { handler: "runsc", overhead: { podFixed: { pods: "1", cpu: "-1" } } },
    faults: [
      'overhead.limits[pods]: Invalid value: "pods": must be a standard resource for containers',
      'overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0',
    ],
  },
  {
    name: "has sound labels and tolerations",
    object: {
      handler: "runsc",
      scheduling: { nodeSelector: { a: "b c" }, tolerations: [{ key: "a", operator: "Like" }] },
    },
    faults: [
      "scheduling.nodeSelector: Invalid value: \"b c\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
      'scheduling.tolerations[0].operator: Unsupported value: "Like": supported values: "Equal", "Exists"',
    ],
  },
  {
    name: "has each toleration once, whatever its seconds",
    object: {
      handler: "runsc",
      scheduling: {
        tolerations: [
          { ...toleration, effect: "NoExecute" },
          toleration,
          { ...toleration, effect: "NoExecute", tolerationSeconds: 5 },
        ],
      },
    },
    faults: [
      'scheduling.tolerations[2]: Duplicate value: {"Key":"sandbox","Operator":"Exists","Value":"","Effect":"NoExecute","TolerationSeconds":5}',
    ],
  },
];
for (const { name, object, faults } of cases) {
  test(`a RuntimeClass ${name}`, () => assert.deepEqual(faultsOf(RuntimeClass, { metadata, ...object }), faults));
}

test("a RuntimeClass keeps its handler", () => {
  const old = { metadata, handler: "runsc" };

  assert.deepEqual(updateFaultsOf(RuntimeClass, { metadata, handler: "kata" }, old), [
    'handler: Invalid value: "kata": field is immutable',
  ]);
  assert.deepEqual(updateFaultsOf(RuntimeClass, { ...old, overhead: { podFixed: { cpu: "1" } } }, old), []);
});

test("a RuntimeClass shows its handler, and warns of labels that nodes no longer have", () => {
  const runtimeClass = {
    metadata,
    handler: "runsc",
    scheduling: { nodeSelector: { "beta.kubernetes.io/os": "linux" } },
  };

  assert.deepEqual(
    RuntimeClass.columns.map(({ name, value }) => [name, value(read(RuntimeClass, runtimeClass), 0)]),
    [
      ["Handler", "runsc"],
      ["Age", "<unknown>"],
    ],
  );
  assert.deepEqual(warningsOfNew(RuntimeClass, runtimeClass), [
    'scheduling.nodeSelector: deprecated since v1.14; use "kubernetes.io/os" instead',
  ]);
});
