import assert from "node:assert/strict";
import { test } from "node:test";
import { faultsOf, read, statusFaultsOf } from "../faults.suite.ts";
import { PodDisruptionBudget } from "./pod-disruption-budget.ts";

const metadata = { name: "web", namespace: "default" };
const selector = { matchLabels: { app: "web" } };
const budget = (spec: object) => ({ metadata, spec });

const cases: readonly { name: string; spec: object; faults: readonly string[] }[] = [
  { name: "may be empty", spec: {}, faults: [] },
  { name: "takes a number", spec: { minAvailable: 0, selector }, faults: [] },
  {
    name: "takes a percentage",
    spec: { maxUnavailable: "100%", selector, unhealthyPodEvictionPolicy: "AlwaysAllow" },
    faults: [],
  },
  {
    name: "has one limit",
    spec: { minAvailable: 1, maxUnavailable: "50%" },
    faults: [
      'spec: Invalid value: {"MinAvailable":1,"Selector":null,"MaxUnavailable":"50%","UnhealthyPodEvictionPolicy":null}: minAvailable and maxUnavailable cannot be both set',
    ],
  },
  {
    name: "has no negative limit",
    spec: { minAvailable: -1 },
    faults: ["spec.minAvailable: Invalid value: -1: must be greater than or equal to 0"],
  },
  {
    name: "has a percentage of at most 100",
    spec: { maxUnavailable: "101%" },
    faults: ['spec.maxUnavailable: Invalid value: "101%": must not be greater than 100%'],
  },
  {
    name: "refuses other texts",
    spec: { minAvailable: "half" },
    faults: [
      "spec.minAvailable: Invalid value: \"half\": a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')",
    ],
  },
  {
    name: "checks its selector",
    spec: { selector: { matchExpressions: [{ key: "a", operator: "Near" }] } },
    faults: ['spec.selector.matchExpressions[0].operator: Invalid value: "Near": not a valid selector operator'],
  },
  {
    name: "knows two policies",
    spec: { unhealthyPodEvictionPolicy: "Never" },
    faults: [
      'spec.unhealthyPodEvictionPolicy: Unsupported value: "Never": supported values: "AlwaysAllow", "IfHealthyBudget"',
    ],
  },
];
for (const { name, spec, faults } of cases) {
  test(`a PodDisruptionBudget ${name}`, () => assert.deepEqual(faultsOf(PodDisruptionBudget, budget(spec)), faults));
}

test("the status of a PodDisruptionBudget has no negative numbers and each condition once", () => {
  const condition = {
    type: "DisruptionAllowed",
    status: "True",
    reason: "SufficientPods",
    lastTransitionTime: "2026-01-01T00:00:00Z",
  };
  const status = { disruptionsAllowed: -1, expectedPods: -2, conditions: [condition, { ...condition, reason: "" }] };

  assert.deepEqual(statusFaultsOf(PodDisruptionBudget, { ...budget({}), status }, budget({})), [
    'status.conditions[1].type: Duplicate value: "DisruptionAllowed"',
    "status.conditions[1].reason: Required value",
    "status.disruptionsAllowed: Invalid value: -1: must be greater than or equal to 0",
    "status.expectedPods: Invalid value: -2: must be greater than or equal to 0",
  ]);
});

test("a new PodDisruptionBudget has no status yet", () => {
  const sent = read(PodDisruptionBudget, { ...budget({}), status: { disruptionsAllowed: 7 } });

  PodDisruptionBudget.prepareForCreate?.(sent);

  assert.deepEqual(sent.status, { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 });
});

test("the columns of a PodDisruptionBudget show its limits", () => {
  const object = read(PodDisruptionBudget, { ...budget({ maxUnavailable: 1 }), status: { disruptionsAllowed: 2 } });

  assert.deepEqual(
    PodDisruptionBudget.columns.map(({ value }) => value(object, 0)),
    ["N/A", "1", 2, "<unknown>"],
  );
});

test("a PodDisruptionBudget may have any name that fits into a path", () => {
  const named = (name: string) => faultsOf(PodDisruptionBudget, { metadata: { ...metadata, name }, spec: {} });

  assert.deepEqual(named("system:Under_score"), []);
  assert.deepEqual(named("a/b"), [`metadata.name: Invalid value: "a/b": may not contain '/'`]);
});
