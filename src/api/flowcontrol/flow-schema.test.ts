import assert from "node:assert/strict";
import { test } from "node:test";
import { faultsOf, read, statusFaultsOf } from "../faults.suite.ts";
import { prepareUpdate } from "../rules.ts";
import { FlowSchema } from "./flow-schema.ts";

const metadata = { name: "batch" };
const level = { priorityLevelConfiguration: { name: "low" } };
const subjects = [{ kind: "Group", group: { name: "batch" } }];
const resourceRule = { verbs: ["get"], apiGroups: [""], resources: ["pods"], namespaces: ["default"] };
const pathRule = { verbs: ["*"], nonResourceURLs: ["/healthz", "/metrics/*", "/"] };
const withRules = (...rules: object[]) => ({ metadata, spec: { ...level, rules } });
const everything = {
  resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"], clusterScope: true, namespaces: ["*"] }],
  nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
};

const label =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const cases: readonly { name: string; object: object; faults: readonly string[] }[] = [
  {
    name: "may match resources and paths of all kinds of subjects",
    object: withRules({
      subjects: [
        ...subjects,
        { kind: "User", user: { name: "*" } },
        { kind: "ServiceAccount", serviceAccount: { namespace: "a", name: "*" } },
      ],
      resourceRules: [resourceRule, { verbs: ["*"], apiGroups: ["*"], resources: ["*"], clusterScope: true }],
      nonResourceRules: [pathRule],
    }),
    faults: [],
  },
  {
    name: "has a priority level",
    object: { metadata, spec: {} },
    faults: ["spec.priorityLevelConfiguration.name: Required value: must reference a priority level"],
  },
  {
    name: "has a positive precedence",
    object: { metadata, spec: { ...level, matchingPrecedence: -1 } },
    faults: ["spec.matchingPrecedence: Invalid value: -1: must be a positive value"],
  },
  {
    name: "has a precedence of at most 10000",
    object: { metadata, spec: { ...level, matchingPrecedence: 10001 } },
    faults: ["spec.matchingPrecedence: Invalid value: 10001: must not be greater than 10000"],
  },
  {
    name: "leaves the first place to exempt, and knows the methods",
    object: { metadata, spec: { ...level, matchingPrecedence: 1, distinguisherMethod: { type: "ByGroup" } } },
    faults: [
      "spec.matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may have matchingPrecedence 1",
      'spec.distinguisherMethod.type: Unsupported value: {"Type":"ByGroup"}: supported values: "ByNamespace", "ByUser"',
    ],
  },
  {
    name: "has rules with subjects and something to match",
    object: withRules({}),
    faults: [
      "spec.rules[0].subjects: Required value: subjects must contain at least one value",
      "spec.rules[0]: Required value: at least one of resourceRules and nonResourceRules has to be non-empty",
    ],
  },
  {
    name: "has subjects with the field of their kind and no other",
    object: withRules({
      subjects: [
        { kind: "Robot" },
        { kind: "User", group: { name: "a" }, serviceAccount: { name: "a", namespace: "b" } },
        { kind: "Group", group: {}, user: { name: "a" } },
        { kind: "ServiceAccount" },
        { kind: "ServiceAccount", serviceAccount: {} },
        { kind: "ServiceAccount", serviceAccount: { name: "default", namespace: "a.b" } },
      ],
      nonResourceRules: [pathRule],
    }),
    faults: [
      'spec.rules[0].subjects[0].kind: Unsupported value: "Robot": supported values: "Group", "ServiceAccount", "User"',
      "spec.rules[0].subjects[1].user: Required value: user is required when subject kind is 'User'",
      "spec.rules[0].subjects[1].serviceAccount: Forbidden: serviceAccount is forbidden when subject kind is not 'ServiceAccount'",
      "spec.rules[0].subjects[1].group: Forbidden: group is forbidden when subject kind is not 'Group'",
      "spec.rules[0].subjects[2].group.name: Required value",
      "spec.rules[0].subjects[2].user: Forbidden: user is forbidden when subject kind is not 'User'",
      "spec.rules[0].subjects[3].serviceAccount: Required value: serviceAccount is required when subject kind is 'ServiceAccount'",
      "spec.rules[0].subjects[4].serviceAccount.name: Required value",
      "spec.rules[0].subjects[4].serviceAccount.namespace: Required value: must specify namespace for service account",
      'spec.rules[0].subjects[5].serviceAccount.namespace: Invalid value: "a.b": must not contain dots',
    ],
  },
  {
    name: "has resource rules in which nothing is empty",
    object: withRules({ subjects, resourceRules: [{}] }),
    faults: [
      "spec.rules[0].resourceRules[0].verbs: Required value: verbs must contain at least one value",
      "spec.rules[0].resourceRules[0].apiGroups: Required value: resource rules must supply at least one api group",
      "spec.rules[0].resourceRules[0].resources: Required value: resource rules must supply at least one resource",
      "spec.rules[0].resourceRules[0].namespaces: Required value: resource rules that are not cluster scoped must supply at least one namespace",
    ],
  },
  {
    name: "has resource rules with each * alone",
    object: withRules({
      subjects,
      resourceRules: [
        { verbs: ["*", "get"], apiGroups: ["*", "a"], resources: ["*", "b"], namespaces: ["*", "c"] },
        { ...resourceRule, verbs: ["get", "peek"], namespaces: ["A"] },
      ],
    }),
    faults: [
      'spec.rules[0].resourceRules[0].verbs: Invalid value: ["*","get"]: if \'*\' is present, must not specify other verbs',
      'spec.rules[0].resourceRules[0].apiGroups: Invalid value: ["*","a"]: if \'*\' is present, must not specify other api groups',
      'spec.rules[0].resourceRules[0].resources: Invalid value: ["*","b"]: if \'*\' is present, must not specify other resources',
      'spec.rules[0].resourceRules[0].namespaces: Invalid value: ["*","c"]: if \'*\' is present, must not specify other namespaces',
      'spec.rules[0].resourceRules[1].verbs: Unsupported value: ["get","peek"]: supported values: "create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"',
      `spec.rules[0].resourceRules[1].namespaces[0]: Invalid value: "A": each member of this list must be '*' or a DNS-1123 label; ${label}`,
    ],
  },
  {
    name: "has paths that a request can have",
    object: withRules({
      subjects,
      nonResourceRules: [
        {},
        { verbs: ["get"], nonResourceURLs: ["*", "/a"] },
        { verbs: ["get"], nonResourceURLs: ["", "a", "/a b", "//a", "/a*", "/*/a", "/*/*"] },
      ],
    }),
    faults: [
      "spec.rules[0].nonResourceRules[0].verbs: Required value: verbs must contain at least one value",
      "spec.rules[0].nonResourceRules[0].nonResourceURLs: Required value: nonResourceURLs must contain at least one value",
      'spec.rules[0].nonResourceRules[1].nonResourceURLs: Invalid value: ["*","/a"]: if \'*\' is present, must not specify other non-resource URLs',
      'spec.rules[0].nonResourceRules[2].nonResourceURLs[0]: Invalid value: "": must not be empty',
      'spec.rules[0].nonResourceRules[2].nonResourceURLs[1]: Invalid value: "a": must start with slash',
      'spec.rules[0].nonResourceRules[2].nonResourceURLs[2]: Invalid value: "/a b": must not contain white-space',
      'spec.rules[0].nonResourceRules[2].nonResourceURLs[3]: Invalid value: "//a": must not contain double slash',
      'spec.rules[0].nonResourceRules[2].nonResourceURLs[4]: Invalid value: "/a*": wildcard can only do suffix matching',
      'spec.rules[0].nonResourceRules[2].nonResourceURLs[5]: Invalid value: "/*/a": wildcard can only do suffix matching',
      'spec.rules[0].nonResourceRules[2].nonResourceURLs[6]: Invalid value: "/*/*": wildcard can only do suffix matching',
    ],
  },
  {
    name: "may be the mandatory exempt",
    object: {
      metadata: { name: "exempt" },
      spec: {
        priorityLevelConfiguration: { name: "exempt" },
        matchingPrecedence: 1,
        rules: [{ subjects: [{ kind: "Group", group: { name: "system:masters" } }], ...everything }],
      },
    },
    faults: [],
  },
  {
    name: "cannot be another catch-all",
    object: { metadata: { name: "catch-all" }, spec: { ...level, matchingPrecedence: 10000 } },
    faults: [
      'spec: Invalid value: {"priorityLevelConfiguration":{"name":"low"},"matchingPrecedence":10000}: spec of \'catch-all\' must equal the fixed value',
    ],
  },
];
for (const { name, object, faults } of cases) {
  test(`a FlowSchema ${name}`, () => assert.deepEqual(faultsOf(FlowSchema, object), faults));
}

test("a FlowSchema without a precedence comes last but for catch-all", () => {
  for (const spec of [level, { ...level, matchingPrecedence: 0 }]) {
    assert.equal(read(FlowSchema, { metadata, spec }).spec.matchingPrecedence, 1000);
  }
});

test("a FlowSchema shows whether its priority level exists", () => {
  const cells = (object: object) => FlowSchema.columns.map(({ value }) => value(read(FlowSchema, object), 0));
  const status = { conditions: [{ type: "Dangling", status: "True" }] };

  assert.deepEqual(
    FlowSchema.columns.map(({ name }) => name),
    ["PriorityLevel", "MatchingPrecedence", "DistinguisherMethod", "Age", "MissingPL"],
  );
  assert.deepEqual(cells({ metadata, spec: level }), ["low", 1000, "<none>", "<unknown>", "?"]);
  assert.deepEqual(cells({ metadata, spec: { ...level, distinguisherMethod: { type: "ByUser" } }, status }), [
    "low",
    1000,
    "ByUser",
    "<unknown>",
    "True",
  ]);
});

test("a write of the status keeps the metadata and checks the types of conditions", () => {
  const old = read(FlowSchema, { metadata: { ...metadata, labels: { a: "b" } }, spec: level });
  const object = read(FlowSchema, { metadata: { ...metadata, managedFields: [{ manager: "m" }] }, spec: {} });
  prepareUpdate(FlowSchema, { object, old, subresource: "status" });
  const conditions = [{ type: "Dangling" }, { type: "Dangling" }, { status: "True" }];

  assert.deepEqual(object.metadata.labels, { a: "b" });
  assert.deepEqual(object.metadata.managedFields, [{ manager: "m" }]);
  assert.deepEqual(object.spec, old.spec);
  assert.deepEqual(
    statusFaultsOf(
      FlowSchema,
      { metadata, status: { conditions } },
      { metadata: { ...metadata, resourceVersion: "1" }, spec: level },
    ),
    ['status.conditions[1].type: Duplicate value: "Dangling"', "status.conditions[2].type: Required value"],
  );
});
