import assert from "node:assert/strict";
import { test } from "node:test";
import { faultsOf, read } from "../faults.suite.ts";
import { LimitRange } from "./limit-range.ts";

const metadata = { name: "limits", namespace: "default" };
const withLimits = (...limits: object[]) => ({ metadata, spec: { limits } });

test("a LimitRange of containers gets limits from its maximum and requests from limits and minimum", () => {
  const { spec } = read(
    LimitRange,
    withLimits({ type: "Container", max: { cpu: "2" }, min: { cpu: "1", memory: "1Mi" }, default: { memory: "2Mi" } }),
  );

  assert.deepEqual(spec.limits[0]?.default, { cpu: "2", memory: "2Mi" });
  assert.deepEqual(spec.limits[0]?.defaultRequest, { cpu: "2", memory: "2Mi" });
});

const cases = [
  {
    name: "takes good limits",
    limits: [
      { type: "Container", max: { cpu: "2", memory: "1Gi" }, min: { cpu: "100m" } },
      { type: "Pod", max: { cpu: "4", "example.com/gpu": "1" }, maxLimitRequestRatio: { cpu: "4" } },
      { type: "PersistentVolumeClaim", min: { storage: "1Gi" } },
    ],
    faults: [],
  },
  {
    name: "has one entry of a type, and knows the types",
    limits: [{ type: "Pod" }, { type: "Pod" }, { type: "Disk" }],
    faults: [
      'spec.limits[1].type: Duplicate value: "Pod"',
      'spec.limits[2].type: Invalid value: "Disk": must be a standard limit type or fully qualified',
    ],
  },
  {
    name: "wants names of resources",
    limits: [{ type: "Pod", max: { time: "1" } }],
    faults: [
      'spec.limits[0].max[time]: Invalid value: "time": must be a standard resource type or fully qualified',
      'spec.limits[0].max[time]: Invalid value: "time": must be a standard resource for containers',
    ],
  },
  {
    name: "has no defaults for pods",
    limits: [{ type: "Pod", default: { cpu: "1" }, defaultRequest: { cpu: "1" } }],
    faults: [
      "spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'",
      "spec.limits[0].defaultRequest: Forbidden: may not be specified when `type` is 'Pod'",
    ],
  },
  {
    name: "says how much storage a claim may ask for",
    limits: [{ type: "PersistentVolumeClaim", max: { cpu: "1" } }],
    faults: [
      "spec.limits[0].limits: Required value: either minimum or maximum storage value is required, but neither was provided",
    ],
  },
  {
    name: "has numbers that agree with each other",
    limits: [
      { type: "Container", min: { cpu: "3" }, max: { cpu: "2" }, default: { cpu: "4" }, defaultRequest: { cpu: "5" } },
    ],
    faults: [
      'spec.limits[0].min[cpu]: Invalid value: "3": min value 3 is greater than max value 2',
      'spec.limits[0].defaultRequest[cpu]: Invalid value: "5": default request value 5 is greater than max value 2',
      'spec.limits[0].defaultRequest[cpu]: Invalid value: "5": default request value 5 is greater than default limit value 4',
      'spec.limits[0].default[cpu]: Invalid value: "2": default value 4 is greater than max value 2',
    ],
  },
  {
    name: "has a ratio that can be kept",
    limits: [
      {
        type: "Pod",
        min: { cpu: "1", memory: "1Gi" },
        max: { cpu: "2" },
        maxLimitRequestRatio: { cpu: "3", memory: "500m" },
      },
    ],
    faults: [
      'spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "3": ratio 3 is greater than max/min = 2.000000',
      'spec.limits[0].maxLimitRequestRatio[memory]: Invalid value: "500m": ratio 500m is less than 1',
    ],
  },
  {
    name: "promises no more of a device than there is",
    limits: [{ type: "Container", default: { "example.com/gpu": "2" }, defaultRequest: { "example.com/gpu": "1" } }],
    faults: [
      'spec.limits[0].defaultRequest[example.com/gpu]: Invalid value: "1": default value 2 must equal to defaultRequest value 1 in example.com/gpu',
    ],
  },
];
for (const { name, limits, faults } of cases) {
  test(`a LimitRange ${name}`, () => assert.deepEqual(faultsOf(LimitRange, withLimits(...limits)), faults));
}

test("a LimitRange refuses a resource with the name of something that every object has", () => {
  const faults = faultsOf(
    LimitRange,
    withLimits({ type: "Pod", max: { cpu: "1" }, min: JSON.parse('{"__proto__":"1"}') }),
  );

  assert.match(faults[0] ?? "", /^spec\.limits\[0\]\.min\[__proto__\]: Invalid value: "__proto__"/);
});
