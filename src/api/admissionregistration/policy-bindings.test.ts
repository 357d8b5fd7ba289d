import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { faultsOf, read, updateFaultsOf } from "../faults.suite.ts";
import { MutatingAdmissionPolicyBinding } from "./mutating-admission-policy-binding.ts";
import { ValidatingAdmissionPolicyBinding } from "./validating-admission-policy-binding.ts";

const metadata = { name: "binding" };
const rule = { operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"] };
const validating = (changes: object): object => ({
  metadata,
  spec: { policyName: "policy", validationActions: ["Deny"], ...changes },
});
const mutating = (changes: object): object => ({ metadata, spec: { policyName: "policy", ...changes } });

interface Case {
  readonly name: string;
  readonly spec: object;
  readonly faults: readonly string[];
}
const common: readonly Case[] = [
  { name: "can be of the simplest form", spec: {}, faults: [] },
  { name: "need the name of a policy", spec: { policyName: "" }, faults: ["spec.policyName: Required value"] },
  {
    name: "can have parameters",
    spec: { paramRef: { name: "p", namespace: "n", parameterNotFoundAction: "Deny" } },
    faults: [],
  },
  {
    name: "need a way to find parameters",
    spec: { paramRef: {} },
    faults: [
      "spec.paramRef: Required value: one of name or selector must be specified",
      "spec.paramRef.parameterNotFoundAction: Required value",
    ],
  },
  {
    name: "find parameters in only one way",
    spec: { paramRef: { name: "a/b", selector: {}, parameterNotFoundAction: "Allow" } },
    faults: [
      "spec.paramRef.name: Invalid value: \"a/b\": may not contain '/'",
      "spec.paramRef.name: Forbidden: name and selector are mutually exclusive",
      "spec.paramRef.selector: Forbidden: name and selector are mutually exclusive",
    ],
  },
  {
    name: "know what can happen without parameters",
    spec: { paramRef: { selector: { matchLabels: { a: "b" } }, parameterNotFoundAction: "Warn" } },
    faults: ['spec.paramRef.parameterNotFoundAction: Unsupported value: "Warn": supported values: "Deny", "Allow"'],
  },
  {
    name: "check the selector of parameters",
    spec: {
      paramRef: { selector: { matchExpressions: [{ key: "a", operator: "Is" }] }, parameterNotFoundAction: "Deny" },
    },
    faults: ['spec.paramRef.selector.matchExpressions[0].operator: Invalid value: "Is": not a valid selector operator'],
  },
  {
    name: "check what they match",
    spec: { matchResources: { resourceRules: [{ ...rule, apiGroups: [] }] } },
    faults: ["spec.matchResources.resourceRules[0].apiGroups: Required value"],
  },
  { name: "may match without rules", spec: { matchResources: { objectSelector: {} } }, faults: [] },
];
const bothReactions =
  "must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)";
const ofValidating: readonly Case[] = [
  {
    name: "need an action",
    spec: { validationActions: [] },
    faults: ["spec.validationActions: Required value: at least one validation action is required"],
  },
  {
    name: "know the actions",
    spec: { validationActions: ["Log", ""] },
    faults: [
      'spec.validationActions[0]: Unsupported value: "Log": supported values: "Audit", "Deny", "Warn"',
      'spec.validationActions[1]: Unsupported value: "": supported values: "Audit", "Deny", "Warn"',
    ],
  },
  {
    name: "have each action once, and only one that the caller sees",
    spec: { validationActions: ["Deny", "Audit", "Audit", "Warn"] },
    faults: [
      'spec.validationActions[2]: Duplicate value: "Audit"',
      `spec.validationActions: Invalid value: ["Deny","Audit","Audit","Warn"]: ${bothReactions}`,
    ],
  },
];

suite("ValidatingAdmissionPolicyBindings", () => {
  for (const { name, spec, faults } of [...common, ...ofValidating]) {
    test(name, () => assert.deepEqual(faultsOf(ValidatingAdmissionPolicyBinding, validating(spec)), faults));
  }
});
suite("MutatingAdmissionPolicyBindings", () => {
  for (const { name, spec, faults } of common) {
    test(name, () => assert.deepEqual(faultsOf(MutatingAdmissionPolicyBinding, mutating(spec)), faults));
  }
  test("cannot change what is deleted", () => {
    const matchResources = { resourceRules: [{ ...rule, operations: ["DELETE"] }] };

    assert.deepEqual(faultsOf(MutatingAdmissionPolicyBinding, mutating({ matchResources })), [
      'spec.matchResources.resourceRules.operations: Unsupported value: "DELETE": supported values: "*", "CONNECT", "CREATE", "UPDATE"',
    ]);
    assert.deepEqual(faultsOf(ValidatingAdmissionPolicyBinding, validating({ matchResources })), []);
  });
});

test("a change of a binding is checked", () => {
  assert.deepEqual(
    updateFaultsOf(MutatingAdmissionPolicyBinding, mutating({ policyName: "A" }), mutating({})).length,
    1,
  );
  assert.deepEqual(
    updateFaultsOf(ValidatingAdmissionPolicyBinding, validating({ policyName: "b" }), validating({})),
    [],
  );
});

test("bindings get the defaults of what they match", () => {
  const { spec } = read(ValidatingAdmissionPolicyBinding, validating({ matchResources: {} }));

  assert.deepEqual(spec.matchResources, { namespaceSelector: {}, objectSelector: {}, matchPolicy: "Equivalent" });
});

const selector = {
  matchLabels: { b: "2", a: "1" },
  matchExpressions: [{ key: "c", operator: "In", values: ["x", "y"] }],
};
const shown =
  "&LabelSelector{MatchLabels:map[string]string{a: 1,b: 2,},MatchExpressions:[]LabelSelectorRequirement{LabelSelectorRequirement{Key:c,Operator:In,Values:[x y],},},}";
const params: readonly [paramRef: object | undefined, cell: string][] = [
  [undefined, "<unset>"],
  [{ name: "p", namespace: "n" }, "n/p"],
  [{ name: "p" }, "*/p"],
  [{ selector }, shown],
];
for (const [paramRef, cell] of params) {
  test(`bindings show the parameters ${JSON.stringify(paramRef)}`, () => {
    const one = read(ValidatingAdmissionPolicyBinding, validating({ paramRef }));
    const other = read(MutatingAdmissionPolicyBinding, mutating({ paramRef }));

    const rows = [
      ["PolicyName", "policy"],
      ["ParamRef", cell],
      ["Age", "<unknown>"],
    ];
    assert.deepEqual(
      ValidatingAdmissionPolicyBinding.columns.map(({ name, value }) => [name, value(one, 0)]),
      rows,
    );
    assert.deepEqual(
      MutatingAdmissionPolicyBinding.columns.map(({ name, value }) => [name, value(other, 0)]),
      rows,
    );
  });
}
