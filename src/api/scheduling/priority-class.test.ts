import assert from "node:assert/strict";
import { test } from "node:test";
import { faultsOf, read, updateFaultsOf } from "../faults.suite.ts";
import { PriorityClass, systemPriorityClasses } from "./priority-class.ts";

const metadata = { name: "high" };

test("a PriorityClass gets its defaults and shows its numbers", () => {
  const priorityClass = read(PriorityClass, { metadata, value: 7 });

  assert.equal(priorityClass.preemptionPolicy, "PreemptLowerPriority");
  assert.deepEqual(
    PriorityClass.columns.map(({ name, value }) => [name, value(priorityClass, 0)]),
    [
      ["Value", 7],
      ["Global-Default", false],
      ["Age", "<unknown>"],
      ["PreemptionPolicy", "PreemptLowerPriority"],
    ],
  );
});

const reserved = "priority class names with 'system-' prefix are reserved for system use only. error:";
const cases = [
  { name: "takes a negative value", object: { metadata, value: -5 }, faults: [] },
  {
    name: "leaves the highest values to the system",
    object: { metadata, value: 1_000_000_001 },
    faults: ["value: Forbidden: maximum allowed value of a user defined priority is 1000000000"],
  },
  {
    name: "knows the policies",
    object: { metadata, value: 1, preemptionPolicy: "Always" },
    faults: ['preemptionPolicy: Unsupported value: "Always": supported values: "PreemptLowerPriority", "Never"'],
  },
  {
    name: "has no system classes but the known ones",
    object: { metadata: { name: "system-other" }, value: 1 },
    faults: [`metadata.name: Forbidden: ${reserved} system-other is not a known system priority class`],
  },
  {
    name: "keeps the value of a system class",
    object: { metadata: { name: "system-node-critical" }, value: 1 },
    faults: [`metadata.name: Forbidden: ${reserved} value of system-node-critical PriorityClass must be 2000001000`],
  },
];
for (const { name, object, faults } of cases) {
  test(`a PriorityClass ${name}`, () => assert.deepEqual(faultsOf(PriorityClass, object), faults));
}

test("the system's own classes are sound", () => {
  for (const priorityClass of systemPriorityClasses) assert.deepEqual(faultsOf(PriorityClass, priorityClass), []);
});

test("a PriorityClass keeps its value and its policy", () => {
  const old = { metadata, value: 1, preemptionPolicy: "Never" };

  assert.deepEqual(updateFaultsOf(PriorityClass, { metadata, value: 2 }, old), [
    'preemptionPolicy: Invalid value: "PreemptLowerPriority": field is immutable',
    "value: Forbidden: may not be changed in an update.",
  ]);
});

test("the generation of a PriorityClass is always 1", () => {
  const object = read(PriorityClass, { metadata, value: 1 });
  PriorityClass.prepareForCreate?.(object);

  assert.equal(object.metadata.generation, 1);
  assert.equal(PriorityClass.hasGeneration, false);
});
