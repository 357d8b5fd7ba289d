import assert from "node:assert/strict";
import { test } from "node:test";
import { faultsOf, read, statusFaultsOf, updateFaultsOf, warningsOfNew } from "../faults.suite.ts";
import { warningsOf } from "../rules.ts";
import { ResourceQuota } from "./resource-quota.ts";

const metadata = { name: "quota", namespace: "default" };
const quota = (spec: object, status: object = {}) => ({ metadata, spec, status });
const selecting = (...matchExpressions: object[]) => ({ scopeSelector: { matchExpressions } });

test("a ResourceQuota shows what is used", () => {
  const status = {
    hard: { "requests.cpu": "2", "limits.cpu": "4", pods: "10", "requests.memory": "1Gi" },
    used: { pods: "1", "limits.cpu": "500m" },
  };

  assert.deepEqual(
    ResourceQuota.columns.map(({ value }) => value(read(ResourceQuota, quota({}, status)), 0)),
    ["pods: 1/10, requests.cpu: 0/2, requests.memory: 0/1Gi", "limits.cpu: 500m/4", "<unknown>"],
  );
});

test("a new ResourceQuota has no status, and amounts are rounded up", () => {
  const created = read(ResourceQuota, quota({ hard: { cpu: "1u" } }, { hard: { cpu: "1n" } }));
  assert.deepEqual([created.spec.hard, created.status.hard], [{ cpu: "1m" }, { cpu: "1m" }]);
  ResourceQuota.prepareForCreate?.(created);

  assert.deepEqual(created.status, {});
});

const mustExist =
  "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";
const unfit = "unsupported scope applied to resource";
const at = "spec.scopeSelector.matchExpressions";
const cases = [
  {
    name: "takes good limits",
    spec: {
      hard: {
        ...{ pods: "10", cpu: "1", "requests.storage": "1Gi", "count/deployments.apps": "5" },
        ...{ "hugepages-2Mi": "1Gi", "requests.example.com/gpu": "2", "services.nodeports": "0" },
      },
    },
    faults: [],
  },
  {
    name: "takes good scopes",
    spec: {
      hard: { pods: "10", "limits.memory": "1Gi" },
      scopes: ["NotTerminating", "NotBestEffort"],
      ...selecting({ scopeName: "PriorityClass", operator: "In", values: ["high"] }),
    },
    faults: [],
  },
  {
    name: "knows the resources and their units",
    spec: { hard: { storage: "1", time: "1", pods: "500m", cpu: "-1" } },
    faults: [
      'spec.hard[storage]: Invalid value: "storage": must be a standard resource for quota',
      'spec.hard[time]: Invalid value: "time": must be a standard resource type or fully qualified',
      'spec.hard[time]: Invalid value: "time": must be a standard resource for quota',
      'spec.hard[pods]: Invalid value: "500m": must be an integer',
      'spec.hard[cpu]: Invalid value: "-1": must be greater than or equal to 0',
    ],
  },
  {
    name: "knows the scopes, and which resources they have",
    spec: { hard: { cpu: "1", "example.com/gpu": "1" }, scopes: ["BestEffort", "Other", "VolumeAttributesClass"] },
    faults: ["unsupported scope", unfit].map(
      (detail) => `spec.scopes: Invalid value: ["BestEffort","Other","VolumeAttributesClass"]: ${detail}`,
    ),
  },
  {
    name: "has scopes that do not exclude each other",
    spec: { scopes: ["BestEffort", "NotBestEffort"] },
    faults: ['spec.scopes: Invalid value: ["BestEffort","NotBestEffort"]: conflicting scopes'],
  },
  {
    name: "has values where the operator needs them",
    spec: selecting(
      { scopeName: "PriorityClass", operator: "In" },
      { scopeName: "PriorityClass", operator: "Exists", values: ["a"] },
      { scopeName: "PriorityClass", operator: "Is" },
      { scopeName: "Other", operator: "Exists" },
    ),
    faults: [
      `${at}.values: Required value: must be at least one value when \`operator\` is 'In' or 'NotIn' for scope selector`,
      `${at}.values: Invalid value: ["a"]: must be no value when \`operator\` is 'Exist' or 'DoesNotExist' for scope selector`,
      `${at}.operator: Invalid value: "Is": not a valid selector operator`,
      `${at}.scopeName: Invalid value: "Other": unsupported scope`,
    ],
  },
  {
    name: "selects scopes that exist and fit",
    spec: {
      hard: { secrets: "1" },
      ...selecting(
        { scopeName: "Terminating", operator: "DoesNotExist" },
        { scopeName: "NotTerminating", operator: "Exists" },
      ),
    },
    faults: [
      `${at}.operator: Invalid value: "DoesNotExist": ${mustExist}`,
      `${at}: Invalid value: {"MatchExpressions":[{"ScopeName":"Terminating","Operator":"DoesNotExist","Values":null},{"ScopeName":"NotTerminating","Operator":"Exists","Values":null}]}: ${unfit}`,
      `${at}: Invalid value: null: conflicting scopes`,
    ],
  },
];
for (const { name, spec, faults } of cases) {
  test(`a ResourceQuota ${name}`, () => assert.deepEqual(faultsOf(ResourceQuota, quota(spec)), faults));
}

test("the scopes of a ResourceQuota cannot change, except in order", () => {
  const old = quota({ scopes: ["BestEffort", "Terminating"] });

  assert.deepEqual(updateFaultsOf(ResourceQuota, quota({ scopes: ["BestEffort"] }), old), [
    'spec.scopes: Invalid value: ["BestEffort"]: field is immutable',
  ]);
  assert.deepEqual(
    updateFaultsOf(ResourceQuota, quota({ hard: { pods: "1" }, scopes: ["Terminating", "BestEffort"] }), old),
    [],
  );
});

test("the status of a ResourceQuota is checked", () => {
  const status = { hard: { time: "1" }, used: { pods: "-1" } };

  assert.deepEqual(statusFaultsOf(ResourceQuota, quota({}, status), quota({})), [
    'status.hard[time]: Invalid value: "time": must be a standard resource type or fully qualified',
    'status.hard[time]: Invalid value: "time": must be a standard resource for quota',
    'status.used[pods]: Invalid value: "-1": must be greater than or equal to 0',
  ]);
});

test("a new ResourceQuota warns of requests above limits", () => {
  const sent = quota({
    hard: { cpu: "2", "limits.cpu": "1", "requests.memory": "2Gi", memory: "1", "limits.memory": "1Gi" },
  });
  const object = read(ResourceQuota, sent);

  assert.deepEqual(warningsOfNew(ResourceQuota, sent), [
    "ResourceQuota cpu (2) should be less than limits.cpu (1)",
    "ResourceQuota requests.memory (2Gi) should be less than limits.memory (1Gi)",
  ]);
  assert.deepEqual(warningsOf(ResourceQuota, object, object), []);
});
