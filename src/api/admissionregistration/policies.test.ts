import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { faultsOf, read, statusFaultsOf, updateFaultsOf, warningsOfNew } from "../faults.suite.ts";
import { type Resource } from "../resource.ts";
import { prepareUpdate } from "../rules.ts";
import { MutatingAdmissionPolicy } from "./mutating-admission-policy.ts";
import { ValidatingAdmissionPolicy } from "./validating-admission-policy.ts";

const metadata = { name: "policy.example.com" };
const rule = { operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"] };
const matchConstraints = { resourceRules: [rule] };
const validating = (changes: object): object => ({
  metadata,
  spec: { matchConstraints, validations: [{ expression: "true" }], ...changes },
});
const mutation = { patchType: "JSONPatch", jsonPatch: { expression: "[]" } };
const mutating = (changes: object): object => ({
  metadata,
  spec: { matchConstraints, mutations: [mutation], reinvocationPolicy: "Never", ...changes },
});

interface Case {
  readonly name: string;
  readonly spec: object;
  readonly faults: readonly string[];
}
const label = (what: string): string =>
  `${what} (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')`;
const dns1035 = label(
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
);

/** The rules of both types of policies. */
const common: readonly Case[] = [
  { name: "can be of the simplest form", spec: {}, faults: [] },
  {
    name: "need constraints",
    spec: { matchConstraints: undefined },
    faults: ["spec.matchConstraints: Required value"],
  },
  {
    name: "need a rule in the constraints",
    spec: { matchConstraints: { excludeResourceRules: [rule] } },
    faults: ["spec.matchConstraints.resourceRules: Required value"],
  },
  {
    name: "check the names and operations of rules",
    spec: { matchConstraints: { resourceRules: [{ ...rule, resourceNames: ["a", "a", "b/c"], operations: [] }] } },
    faults: [
      'spec.matchConstraints.resourceRules[0].resourceNames[1]: Duplicate value: "a"',
      "spec.matchConstraints.resourceRules[0].resourceNames[2]: Invalid value: \"b/c\": may not contain '/'",
      "spec.matchConstraints.resourceRules[0].operations: Required value",
    ],
  },
  {
    name: "check exclusions and selectors",
    spec: {
      matchConstraints: {
        resourceRules: [rule],
        excludeResourceRules: [{ ...rule, resources: [] }],
        objectSelector: { matchExpressions: [{ key: "a", operator: "In" }] },
        matchPolicy: "Similar",
      },
    },
    faults: [
      'spec.matchConstraints.matchPolicy: Unsupported value: "Similar": supported values: "Equivalent", "Exact"',
      "spec.matchConstraints.objectSelector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
      "spec.matchConstraints.excludeResourceRules[0].resources: Required value",
    ],
  },
  {
    name: "can have parameters of a core kind",
    spec: { paramKind: { apiVersion: "v1", kind: "ConfigMap" } },
    faults: [],
  },
  {
    name: "need a whole kind of parameters",
    spec: { paramKind: {} },
    faults: ["spec.paramKind.apiVersion: Required value", "spec.paramKind.kind: Required value"],
  },
  {
    name: "check the group, the version and the kind of parameters",
    spec: { paramKind: { apiVersion: "example.com/1", kind: "1Kind" } },
    faults: [
      `spec.paramKind.apiVersion: Invalid value: "1": ${dns1035}`,
      `spec.paramKind.kind: Invalid value: "1Kind": may have mixed case, but should otherwise match: ${dns1035}`,
    ],
  },
  {
    name: "refuse a version with too many parts",
    spec: { paramKind: { apiVersion: "a/b/c", kind: "Kind" } },
    faults: ['spec.paramKind.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c'],
  },
  {
    name: "need a version",
    spec: { paramKind: { apiVersion: "example.com/", kind: "Kind" } },
    faults: ['spec.paramKind.apiVersion: Invalid value: "example.com/": version must be specified'],
  },
  {
    name: "know what can happen after a failure",
    spec: { failurePolicy: "Retry" },
    faults: ['spec.failurePolicy: Unsupported value: "Retry": supported values: "Fail", "Ignore"'],
  },
  {
    name: "need sound names and expressions",
    spec: {
      matchConditions: [{ name: "a b", expression: "\t" }],
      variables: [{ name: " " }, { name: "in", expression: "1" }, { name: "ok_1", expression: "1" }],
    },
    faults: [
      "spec.matchConditions[0].expression: Required value",
      "spec.matchConditions[0].name: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
      "spec.variables[0].name: Required value: name is not specified",
      "spec.variables[0].expression: Required value: expression is not specified",
      'spec.variables[1].name: Invalid value: "in": must be a valid CEL identifier',
    ],
  },
];

const nothingToDo = "Required value: validations or auditAnnotations must contain at least one item";
const ofValidating: readonly Case[] = [
  {
    name: "need something to check or to record",
    spec: { validations: [] },
    faults: [`spec.validations: ${nothingToDo}`, `spec.auditAnnotations: ${nothingToDo}`],
  },
  {
    name: "can only record",
    spec: { validations: [], auditAnnotations: [{ key: "a", valueExpression: "'b'" }] },
    faults: [],
  },
  {
    name: "check validations",
    spec: {
      validations: [
        { message: " ", messageExpression: " ", reason: "NotFound" },
        { expression: "true", message: "two\nlines", reason: "Invalid" },
        { expression: "true", message: "one line\n", reason: "" },
      ],
    },
    faults: [
      "spec.validations[0].expression: Required value: expression is not specified",
      'spec.validations[0].messageExpression: Invalid value: " ": must be non-empty if specified',
      'spec.validations[0].message: Invalid value: " ": must be non-empty if specified',
      'spec.validations[0].reason: Unsupported value: "NotFound": supported values: "Forbidden", "Invalid", "RequestEntityTooLarge"',
      'spec.validations[1].message: Invalid value: "two\\nlines": must not contain line breaks',
      'spec.validations[2].reason: Unsupported value: "": supported values: "Forbidden", "Invalid", "RequestEntityTooLarge"',
    ],
  },
  {
    name: "check audit annotations",
    spec: {
      auditAnnotations: [
        { key: "a", valueExpression: "x".repeat(5121) },
        { key: "a", valueExpression: "" },
        { key: "", valueExpression: ` ${"x".repeat(5120)} ` },
      ],
    },
    faults: [
      "spec.auditAnnotations[0].valueExpression: Required value: must not exceed 5120 bytes in length",
      "spec.auditAnnotations[1].valueExpression: Required value: valueExpression is not specified",
      'spec.auditAnnotations[1].key: Duplicate value: "a"',
      'spec.auditAnnotations[2].key: Invalid value: "policy.example.com/": name part must be non-empty',
      "spec.auditAnnotations[2].key: Invalid value: \"policy.example.com/\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
    ],
  },
];
const ofMutating: readonly Case[] = [
  {
    name: "need mutations and a policy for a second evaluation",
    spec: { mutations: [], reinvocationPolicy: "" },
    faults: [
      "spec.mutations: Required value: mutations must contain at least one item",
      "spec.reinvocationPolicy: Required value",
    ],
  },
  {
    name: "know the policies for a second evaluation",
    spec: { reinvocationPolicy: "Always" },
    faults: ['spec.reinvocationPolicy: Unsupported value: "Always": supported values: "IfNeeded", "Never"'],
  },
  {
    name: "need the part that the type of a mutation names, and only that",
    spec: {
      mutations: [
        {},
        { patchType: "Merge" },
        { patchType: "JSONPatch", applyConfiguration: { expression: "x" } },
        { patchType: "ApplyConfiguration", applyConfiguration: {}, jsonPatch: {} },
        { patchType: "ApplyConfiguration", applyConfiguration: { expression: "x" } },
      ],
    },
    faults: [
      "spec.mutations[0].patchType: Required value",
      'spec.mutations[1].patchType: Unsupported value: "Merge": supported values: "ApplyConfiguration", "JSONPatch"',
      "spec.mutations[2].jsonPatch: Required value: must be specified when patchType is JSONPatch",
      'spec.mutations[2].applyConfiguration: Invalid value: "{applyConfiguration}": must not be specified when patchType is JSONPatch',
      "spec.mutations[3].applyConfiguration.expression: Required value",
      'spec.mutations[3].jsonPatch: Invalid value: "{jsonPatch}": must not be specified when patchType is ApplyConfiguration',
    ],
  },
  {
    name: "cannot change what is deleted",
    spec: { matchConstraints: { resourceRules: [{ ...rule, operations: ["CREATE", "DELETE"] }] } },
    faults: [
      'spec.matchConstraints.resourceRules.operations: Unsupported value: "DELETE": supported values: "*", "CONNECT", "CREATE", "UPDATE"',
    ],
  },
];

suite("ValidatingAdmissionPolicies", () => {
  for (const { name, spec, faults } of [...common, ...ofValidating]) {
    test(name, () => assert.deepEqual(faultsOf(ValidatingAdmissionPolicy, validating(spec)), faults));
  }
});
suite("MutatingAdmissionPolicies", () => {
  for (const { name, spec, faults } of [...common, ...ofMutating]) {
    test(name, () => assert.deepEqual(faultsOf(MutatingAdmissionPolicy, mutating(spec)), faults));
  }
});

test("the number of audit annotations is limited", () => {
  const auditAnnotations = Array.from({ length: 21 }, (_, at) => ({ key: `k${at}`, valueExpression: "'a'" }));

  const [fault = "", ...others] = faultsOf(ValidatingAdmissionPolicy, validating({ auditAnnotations }));

  assert.match(fault, /^spec.auditAnnotations: Invalid value: .*: must not have more than 20 auditAnnotations$/);
  assert.deepEqual(others, []);
});

test("policies get their defaults", () => {
  const matched = {
    namespaceSelector: {},
    objectSelector: {},
    matchPolicy: "Equivalent",
    resourceRules: [{ ...rule, scope: "*" }],
  };
  const { spec } = read(ValidatingAdmissionPolicy, validating({}));
  const other = read(MutatingAdmissionPolicy, mutating({})).spec;

  assert.deepEqual([spec.failurePolicy, other.failurePolicy], ["Fail", "Fail"]);
  assert.deepEqual(spec.matchConstraints, matched);
  assert.deepEqual(other.matchConstraints, matched);
  assert.equal(read(ValidatingAdmissionPolicy, { metadata }).spec.matchConstraints, undefined);
});

test("policies show what they consist of", () => {
  const paramKind = { apiVersion: "example.com/v1", kind: "Limit" };
  const first = read(ValidatingAdmissionPolicy, validating({ paramKind }));
  const second = read(MutatingAdmissionPolicy, mutating({}));

  assert.deepEqual(
    ValidatingAdmissionPolicy.columns.map(({ name, value }) => [name, value(first, 0)]),
    [
      ["Validations", 1],
      ["ParamKind", "example.com/v1/Limit"],
      ["Age", "<unknown>"],
    ],
  );
  assert.deepEqual(
    MutatingAdmissionPolicy.columns.map(({ name, value }) => [name, value(second, 0)]),
    [
      ["Mutations", 1],
      ["ParamKind", "<unset>"],
      ["Age", "<unknown>"],
    ],
  );
});

test("a change of a policy is checked, and keeps the status", () => {
  const old = { ...validating({}), status: { observedGeneration: 1 } };
  const object = read(ValidatingAdmissionPolicy, { ...validating({}), status: { observedGeneration: 7 } });

  prepareUpdate(ValidatingAdmissionPolicy, { object, old: read(ValidatingAdmissionPolicy, old), subresource: "" });

  assert.equal(object.status.observedGeneration, 1);
  assert.deepEqual(updateFaultsOf(ValidatingAdmissionPolicy, validating({ validations: [{}] }), old), [
    "spec.validations[0].expression: Required value: expression is not specified",
  ]);
});

test("a new policy has no status", () => {
  const policy = read(ValidatingAdmissionPolicy, { ...validating({}), status: { observedGeneration: 7 } });

  ValidatingAdmissionPolicy.prepareForCreate?.(policy);

  assert.deepEqual(policy.status, {});
});

const withStatus = (status: object): object => ({ ...validating({}), status });
const condition = { type: "Ready", status: "True", reason: "Checked", lastTransitionTime: "2026-01-01T00:00:00Z" };

test("the status of a policy is checked", () => {
  const expressionWarnings = [
    { fieldRef: "spec.validations[0].expression", warning: "undefined field" },
    { fieldRef: " ", warning: "" },
    { fieldRef: "spec.validations[0", warning: "undefined field" },
  ];
  const status = { typeChecking: { expressionWarnings }, conditions: [condition, condition, { type: "Other" }] };

  assert.deepEqual(statusFaultsOf(ValidatingAdmissionPolicy, withStatus(status), validating({})), [
    "status.typeChecking.expressionWarnings[1].warning: Required value",
    "status.typeChecking.expressionWarnings[1].fieldRef: Required value",
    'status.typeChecking.expressionWarnings[2].fieldRef: Invalid value: "spec.validations[0": invalid JSONPath: unterminated array',
    'status.conditions[1].type: Duplicate value: "Ready"',
    'status.conditions[2].status: Unsupported value: "": supported values: "False", "True", "Unknown"',
    "status.conditions[2].lastTransitionTime: Required value",
    "status.conditions[2].reason: Required value",
  ]);
  assert.deepEqual(
    statusFaultsOf(ValidatingAdmissionPolicy, withStatus({ conditions: [condition] }), validating({})),
    [],
  );
});

test("only so much of the paths in a status is parsed", () => {
  const long = { fieldRef: "spec['a']".repeat(7000), warning: "a" };
  const status = { typeChecking: { expressionWarnings: [{ fieldRef: "a['b']", warning: "a" }, long] } };

  assert.deepEqual(statusFaultsOf(ValidatingAdmissionPolicy, withStatus(status), validating({})), [
    "status.typeChecking.expressionWarnings[1].fieldRef: Too long: may not be more than 32768 bytes",
  ]);
});

test("a write of the status changes neither the spec nor the metadata of a policy", () => {
  const old = read(ValidatingAdmissionPolicy, { ...validating({}), metadata: { ...metadata, labels: { a: "old" } } });
  const object = read(ValidatingAdmissionPolicy, {
    metadata: { ...metadata, labels: { a: "new" }, annotations: { a: "new" }, finalizers: ["example.com/a"] },
    status: { observedGeneration: 2 },
  });

  prepareUpdate(ValidatingAdmissionPolicy, { object, old, subresource: "status" });

  assert.deepEqual(object, { ...old, status: { observedGeneration: 2 } });
});

test("names of policies that upstream keeps for itself are warned of", () => {
  const kinds: readonly Resource[] = [ValidatingAdmissionPolicy, MutatingAdmissionPolicy];
  for (const resource of kinds) {
    const [warning] = warningsOfNew(resource, { metadata: { name: "a.static.k8s.io" } });
    assert.match(String(warning), /^metadata\.name: names ending with "\.static\.k8s\.io" are reserved/);
  }
});
