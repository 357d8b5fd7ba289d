import assert from "node:assert/strict";
import { test } from "node:test";
import { APIService } from "#api/apiregistration/api-service.ts";
import { read } from "#api/faults.suite.ts";
import { localService, managedLabel, planRegistration, type Registered } from "./plan-registration.ts";

const madeFor = (group: string, isBuiltIn: boolean): Registered => {
  const made = localService({ group, version: "v1" }, { isBuiltIn });
  assert(made);
  return made;
};
const builtIn = madeFor("apps", true);
const custom = madeFor("example.com", false);
const stored = ({ metadata, spec }: Registered, label: string | undefined, priority?: number): APIService =>
  read(APIService, {
    metadata: { ...metadata, labels: label ? { [managedLabel]: label } : {} },
    spec: { ...spec, ...(priority ? { versionPriority: priority } : {}) },
  });

const cases = [
  { name: "creates what is missing", wanted: custom, step: "create" },
  { name: "creates what is missing at the start", wanted: builtIn, step: "create" },
  { name: "does not create a built-in one again", wanted: builtIn, wasSettled: true, step: "leave" },
  { name: "creates a custom one again", wanted: custom, wasSettled: true, step: "create" },
  { name: "knows nothing of others", current: stored(custom, undefined), step: "leave" },
  { name: "leaves what is right", wanted: custom, current: stored(custom, "true"), step: "leave" },
  {
    name: "puts a custom one right",
    wanted: custom,
    current: stored(custom, "true", 5),
    wasSettled: true,
    step: "update",
  },
  { name: "leaves one that is somebody's", wanted: custom, current: stored(custom, undefined, 5), step: "leave" },
  {
    name: "puts a built-in one right",
    wanted: builtIn,
    current: stored(builtIn, "onstart", 5),
    wasThere: true,
    step: "update",
  },
  { name: "leaves a new built-in one", wanted: builtIn, current: stored(builtIn, "onstart", 5), step: "leave" },
  {
    name: "puts a built-in one right only once",
    ...{ wanted: builtIn, current: stored(builtIn, "onstart", 5), wasThere: true, wasSettled: true, step: "leave" },
  },
  { name: "deletes one of an older server", current: stored(builtIn, "onstart"), wasThere: true, step: "delete" },
  {
    name: "deletes one of a custom group that is gone",
    current: stored(custom, "true"),
    wasSettled: true,
    step: "delete",
  },
];
for (const { name, step, wanted, current, wasThere = false, wasSettled = false } of cases) {
  test(`planRegistration() ${name}`, () =>
    assert.equal(planRegistration({ wanted, current, wasThere, wasSettled }), step));
}

test("localService() has upstream's names, labels and priorities", () => {
  assert.equal(localService({ group: "metrics.k8s.io", version: "v1beta1" }, { isBuiltIn: true }), undefined);
  assert.deepEqual(madeFor("", true), {
    metadata: { name: "v1.", labels: { [managedLabel]: "onstart" } },
    spec: { version: "v1", groupPriorityMinimum: 18000, versionPriority: 1 },
  });
  assert.deepEqual(custom, {
    metadata: { name: "v1.example.com", labels: { [managedLabel]: "true" } },
    spec: { group: "example.com", version: "v1", groupPriorityMinimum: 1000, versionPriority: 100 },
  });
});
