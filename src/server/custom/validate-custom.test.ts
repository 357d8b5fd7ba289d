import assert from "node:assert/strict";
import { test } from "node:test";
import { faultsIn } from "#api/cursor.ts";
import { type ApiObject, type Resource } from "#api/resource.ts";
import { validateCustom } from "./validate-custom.ts";

const scale = { specReplicas: ".spec.count", statusReplicas: ".status.count", labelSelector: ".status.selector" };
const resource = { group: "a.b", plural: "cs", subresources: [{ name: "scale", scale }] } as unknown as Resource;

/** What is wrong with an object of a kind with a scale whose schema allows anything. */
function faultsOf(parts: object): string[] {
  const object = { apiVersion: "a.b/v1", kind: "C", metadata: { name: "c" }, ...parts } as unknown as ApiObject;
  const faults = faultsIn(object, (at) => {
    validateCustom(resource, { type: "object" }, at, undefined);
  });
  return faults.map(({ path, message }) => `${path}: ${message}`);
}

const cases = [
  { parts: { spec: {}, status: {} }, fault: undefined },
  { parts: { spec: null }, fault: undefined },
  { parts: { spec: { count: 3 } }, fault: undefined },
  { parts: { spec: { count: -1 } }, fault: ".spec.count: Invalid value: -1: should be a non-negative integer" },
  { parts: { spec: { count: "x" } }, fault: count("x is of the type string, expected int64") },
  { parts: { spec: { count: 1.5 } }, fault: count("1.5 is of the type float64, expected int64") },
  { parts: { spec: { count: null } }, fault: count("<nil> is of the type <nil>, expected int64") },
  { parts: { spec: { count: [1, "a"] } }, fault: count("[1 a] is of the type []interface {}, expected int64") },
  {
    parts: { spec: { count: { b: 1, a: "q" } } },
    fault: count("map[a:q b:1] is of the type map[string]interface {}, expected int64"),
  },
  { parts: { spec: true }, fault: count("true is of the type bool, expected map[string]interface{}") },
  {
    parts: { status: { selector: 1 } },
    fault:
      '.status.selector: Invalid value: "": .status.selector accessor error: 1 is of the type int64, expected string',
  },
];
for (const { parts, fault } of cases) {
  test(`validateCustom() says of the scale of ${JSON.stringify(parts)}: ${fault}`, () => {
    assert.deepEqual(faultsOf(parts), fault ? [fault] : []);
  });
}

function count(why: string): string {
  return `.spec.count: Invalid value: 0: .spec.count accessor error: ${why}`;
}
