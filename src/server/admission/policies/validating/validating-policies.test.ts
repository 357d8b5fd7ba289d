import assert from "node:assert/strict";
import { test } from "node:test";
import { ValidatingAdmissionPolicyBinding } from "#api/admissionregistration/validating-admission-policy-binding.ts";
import { ConfigMap } from "#api/core/config-map.ts";
import { type Authorizer } from "#server/authorize/authorizer.ts";
import { requestFor } from "../../admission.suite.ts";
import { pods, refusalOf, setUpPolicies } from "./policies.suite.ts";

const never = [{ expression: "false" }];

test("a policy denies what does not hold, with its reason", async () => {
  const { put, bind, ask } = setUpPolicies();
  put({ validations: [{ expression: "object.metadata.name != 'web'", message: "no web", reason: "Forbidden" }] });
  bind();

  const { error } = await ask();

  assert.equal(
    error?.message,
    `pods "web" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no web`,
  );
  assert.equal(error.code, 403);
  assert.deepEqual(error.details, {
    name: "web",
    kind: "pods",
    causes: [{ message: "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no web" }],
  });
});

test("a policy without a reason answers 422, and shows its expression if it has no message", async () => {
  const { put, bind, ask } = setUpPolicies();
  put({ validations: [{ expression: " false " }] });
  bind();

  const { error } = await ask();

  assert.equal(error?.code, 422);
  assert.equal(error.reason, "Invalid");
  assert.match(error.message, /denied request: failed expression: false$/);
});

test("nothing applies without a policy and a binding, and policies do not check themselves", async () => {
  const { put, bind, ask, informers } = setUpPolicies();
  assert.equal((await ask()).applies, false);
  put({ validations: never });
  assert.equal((await ask()).applies, false);
  bind();
  assert.equal((await ask()).applies, true);
  const own = requestFor(ValidatingAdmissionPolicyBinding, { metadata: { name: "x" } });
  assert.equal((await ask(own)).applies, false);

  informers.delete(ValidatingAdmissionPolicyBinding, { name: "b" });
  assert.equal((await ask()).applies, false);
});

const expressions: readonly [expression: string, holds: boolean][] = [
  ["object.metadata.labels.app == 'web' && oldObject == null", true],
  ["request.operation == 'CREATE' && request.kind.kind == 'Pod' && request.resource.resource == 'pods'", true],
  ["request.namespace == 'shop' && request.name == 'web' && !has(request.subResource) && !request.dryRun", true],
  ["request.userInfo.username == 'jane'", true],
  ["namespaceObject.metadata.labels.stage == 'live'", true],
  ["authorizer.group('').resource('pods').namespace('shop').check('delete').allowed()", false],
];
test("a policy sees the options of the request", async () => {
  const validations = [{ expression: "request.options.kind == 'CreateOptions'" }];
  const options = () => ({ kind: "CreateOptions" });

  assert.equal(await refusalOf({ validations }, { options }), undefined);
  assert.match(String(await refusalOf({ validations })), /no such key: options/);
});

test("a policy sees no name of an object that has none yet", async () => {
  const validations = [{ expression: "!has(request.name)" }];

  assert.equal(await refusalOf({ validations }, { name: "" }), undefined);
  assert.match(String(await refusalOf({ validations })), /failed expression/);
});

for (const [expression, holds] of expressions) {
  test(`a policy can say ${expression}`, async () =>
    assert.equal((await refusalOf({ validations: [{ expression }] })) === undefined, holds));
}

test("messages are made by expressions, and fall back on the text", async () => {
  const said = (messageExpression: string) =>
    refusalOf({ validations: [{ expression: "false", message: " text ", messageExpression }] });

  assert.equal(await said("'name is ' + object.metadata.name"), "name is web");
  assert.equal(await said("'  '"), "text");
  assert.equal(await said("'two\\nlines'"), "text");
  assert.equal(await said("object.metadata.absent"), "text");
});

test("variables are evaluated when they are used, and can use those before them", async () => {
  const variables = [
    { name: "broken", expression: "object.spec.absent == 1" },
    { name: "app", expression: "object.metadata.labels.app" },
    { name: "isWeb", expression: "variables.app == 'web'" },
  ];

  assert.equal(await refusalOf({ variables, validations: [{ expression: "variables.isWeb" }] }), undefined);
  assert.equal(
    await refusalOf({ variables, validations: [{ expression: "variables.broken" }] }),
    `expression 'variables.broken' resulted in error: composited variable "broken" fails to evaluate: no such key: absent`,
  );
  assert.match(
    String(await refusalOf({ variables, validations: [{ expression: "variables.later" }] })),
    /^compilation error: compilation failed: ERROR: <input>:1:10: undefined field 'later'/,
  );
});

test("match conditions decide whether a policy is evaluated", async () => {
  const conditions = (...all: string[]) => ({
    validations: never,
    matchConditions: all.map((expression, index) => ({ name: `c${index}`, expression })),
  });

  assert.equal(await refusalOf(conditions("object.metadata.name == 'db'")), undefined);
  assert.equal(await refusalOf(conditions("object.metadata.name == 'web'")), "failed expression: false");
  assert.equal(await refusalOf(conditions("object.absent == 1", "false")), undefined);
  assert.equal(
    await refusalOf(conditions("object.absent == 1", "true")),
    "expression 'object.absent == 1' resulted in error: no such key: absent",
  );
  assert.equal(await refusalOf({ ...conditions("object.absent == 1"), failurePolicy: "Ignore" }), undefined);
});

test("with failurePolicy Ignore, what cannot be evaluated is admitted", async () => {
  const validations = [{ expression: "object.absent == 1" }];

  assert.match(String(await refusalOf({ validations })), /no such key: absent/);
  assert.equal(await refusalOf({ validations, failurePolicy: "Ignore" }), undefined);
  assert.equal(await refusalOf({ validations: never, failurePolicy: "Ignore" }), "failed expression: false");
});

test("Warn and Audit let the request pass", async () => {
  const { put, bind, ask } = setUpPolicies();
  put({
    validations: [{ expression: "true" }, { expression: "false", message: "no" }],
    auditAnnotations: [
      { key: "who", valueExpression: "request.userInfo.username" },
      { key: "none", valueExpression: "null" },
    ],
  });
  bind({ validationActions: ["Warn", "Audit"] });

  const { error, warnings, annotations } = await ask();

  assert.equal(error, undefined);
  assert.deepEqual(warnings, ["Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': no"]);
  assert.deepEqual(annotations, {
    "p/who": "jane",
    "validation.policy.admission.k8s.io/validation_failure":
      '[{"message":"no","policy":"p","binding":"b","expressionIndex":1,"validationActions":["Warn","Audit"]}]',
  });
});

test("parameters are found by name or selector, and each is checked", async () => {
  const { put, bind, ask, informers } = setUpPolicies();
  const config = (name: string, owner: string) =>
    informers.put(ConfigMap, { metadata: { name, namespace: "shop", labels: { set: "a" } }, data: { owner } });
  put({
    paramKind: { apiVersion: "v1", kind: "ConfigMap" },
    validations: [
      { expression: "params.data.owner == request.userInfo.username", messageExpression: "string(params.data.owner)" },
    ],
  });
  const said = async (paramRef: object) => {
    bind({ paramRef: { parameterNotFoundAction: "Deny", ...paramRef } });
    return (await ask()).refusal?.split("denied request: ")[1];
  };
  const missing = "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction";

  assert.equal(await said({ name: "one" }), missing);
  assert.equal(await said({ name: "one", parameterNotFoundAction: "Allow" }), undefined);
  config("one", "jane");
  assert.equal(await said({ name: "one" }), undefined);
  assert.equal(await said({ name: "one", namespace: "other" }), missing);
  assert.equal(await said({ selector: { matchLabels: { set: "a" } } }), undefined);
  config("two", "joe");
  assert.equal(await said({ selector: { matchLabels: { set: "a" } } }), "joe");
});

test("a kind of parameters that does not exist is a fault of the policy", async () => {
  const paramKind = { apiVersion: "example.com/v1", kind: "Limit" };
  const { put, bind, ask } = setUpPolicies();
  put({ paramKind, validations: never });
  bind({ paramRef: { name: "x", parameterNotFoundAction: "Allow" } });

  assert.match(
    String((await ask()).refusal),
    /ValidatingAdmissionPolicy 'p' denied request: failed to configure policy: failed to find resource referenced by paramKind: 'example.com\/v1, Kind=Limit'$/,
  );
});

test("a binding narrows down what its policy is about", async () => {
  const { put, bind, ask } = setUpPolicies();
  put({ validations: never });
  bind({ matchResources: { namespaceSelector: { matchLabels: { stage: "test" } } } });
  assert.equal((await ask()).refusal, undefined);

  bind({ matchResources: { ...pods, namespaceSelector: { matchLabels: { stage: "live" } } } as object });
  assert.match(String((await ask()).refusal), /denied request/);
});

test("a changed policy is compiled again, one bad policy does not disable another", async () => {
  const { put, bind, ask } = setUpPolicies();
  put({ validations: [{ expression: "][" }], failurePolicy: "Ignore" }, "a");
  bind({ policyName: "a" }, "a");
  put({ validations: never });
  bind();
  assert.match(String((await ask()).refusal), /'p' with binding 'b' denied/);

  put({ validations: [{ expression: "true" }] });
  assert.equal((await ask()).refusal, undefined);
});

test("an expression can ask an authorizer that takes its time, each question once", async () => {
  const asked: string[] = [];
  const slow: Authorizer = {
    name: "slow",
    async authorize({ name }, { verb, resource, group }) {
      asked.push(`${name} ${verb} ${resource}.${group}`);
      return { verdict: verb === "get" ? "allow" : "no opinion", reason: "because" };
    },
  };
  const { put, bind, ask } = setUpPolicies([slow]);
  const deployments = "authorizer.group('apps').resource('deployments')";
  put({
    variables: [{ name: "may", expression: `${deployments}.check('get').allowed()` }],
    validations: [
      { expression: `variables.may && ${deployments}.check('get').reason() == 'because'` },
      { expression: "authorizer.requestResource.check('get').allowed()" },
      { expression: "!authorizer.serviceAccount('shop', 'bot').path('/healthz').check('head').allowed()" },
    ],
  });
  bind();

  assert.equal((await ask()).refusal, undefined);
  assert.deepEqual(asked, ["jane get deployments.apps", "jane get pods.", "system:serviceaccount:shop:bot head ."]);
});

test("failed checks are counted under upstream's names, by what followed", async () => {
  const { metrics, put, bind, ask } = setUpPolicies();
  put({ validations: [...never, { expression: "object.nope == 1" }] });
  bind({ validationActions: ["Deny", "Audit"] });
  put({ validations: [{ expression: "object.nope == 1" }], failurePolicy: "Ignore" }, "lax");
  bind({ policyName: "lax" }, "c");

  await ask();

  const text = metrics.render();
  const prefix = "apiserver_validating_admission_policy_check_total";
  for (const labels of [
    'policy="p",policy_binding="b",error_type="no_error",enforcement_action="deny"',
    'policy="p",policy_binding="b",error_type="invalid_error",enforcement_action="audit"',
    'policy="lax",policy_binding="c",error_type="invalid_error",enforcement_action="allow"',
  ]) {
    assert(text.includes(`${prefix}{${labels}} 1`), labels);
  }
});
