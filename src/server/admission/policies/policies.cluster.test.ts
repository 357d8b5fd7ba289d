import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ask, type Said } from "#testing/peers/ask.ts";
import { startCluster, type TestCluster } from "#testing/start-cluster.ts";

const group = "/apis/admissionregistration.k8s.io/v1";
const policies = `${group}/validatingadmissionpolicies`;
const bindings = `${group}/validatingadmissionpolicybindings`;
const deployments = "/apis/apps/v1/namespaces/default/deployments";

let cluster: TestCluster;
before(async () => {
  cluster = await startCluster();
});
after(() => cluster[Symbol.asyncDispose]());

const send = (line: string, body?: object, type = "application/json"): Promise<Said> =>
  ask(cluster.api.server, line, { ...(body ? { body } : {}), headers: { "content-type": type } });

const resourceRules = [
  {
    apiGroups: ["apps", "autoscaling"],
    apiVersions: ["v1"],
    operations: ["CREATE", "UPDATE", "DELETE"],
    resources: ["deployments", "deployments/scale", "horizontalpodautoscalers"],
  },
];
const policy = (name: string, spec: object) => ({
  metadata: { name },
  spec: { matchConstraints: { resourceRules }, ...spec },
});
const deployment = (replicas: number) => ({
  metadata: { name: "web" },
  spec: {
    replicas,
    selector: { matchLabels: { app: "web" } },
    template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "web", image: "web" }] } },
  },
});

test("expressions that do not compile are refused, each with its path", async () => {
  const bad = policy("bad", {
    matchConditions: [{ name: "a", expression: "variables.one == 1" }],
    variables: [{ name: "one", expression: "1 +" }],
    validations: [{ expression: "object.spec", messageExpression: "authorizer.path('/').check('get').reason()" }],
    auditAnnotations: [{ key: "k", valueExpression: "[1]" }],
  });

  const { status, json } = await send(`POST ${policies}`, bad);

  assert.equal(status, 422);
  const causes = (json.details as unknown as { causes: { field: string; message: string }[] }).causes;
  assert.deepEqual(
    causes.map(({ field, message }) => [field, message.split("\\n")[0]?.split("\n")[0]]),
    [
      [
        "spec.matchConditions[0].expression",
        `Invalid value: "variables.one == 1": compilation failed: ERROR: <input>:1:1: undeclared reference to 'variables' (in container '')`,
      ],
      [
        "spec.variables[0].expression",
        `Invalid value: "1 +": compilation failed: ERROR: <input>:1:4: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}`,
      ],
      ["spec.validations[0].expression", `Invalid value: "object.spec": must evaluate to bool but got dyn`],
      [
        "spec.validations[0].messageExpression",
        `Invalid value: "authorizer.path('/').check('get').reason()": compilation failed: ERROR: <input>:1:1: undeclared reference to 'authorizer' (in container '')`,
      ],
      [
        "spec.auditAnnotations[0].valueExpression",
        `Invalid value: "[1]": must evaluate to one of [string null_type] but got list(int)`,
      ],
    ],
  );
});

test("a policy with parameters of a custom kind refuses creates, updates, scaling and deletions", async () => {
  const schema = {
    type: "object",
    properties: { spec: { type: "object", properties: { max: { type: "integer" } } } },
  };
  const versions = [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } }];
  const names = { plural: "limits", kind: "Limit" };
  const definition = {
    metadata: { name: "limits.example.com" },
    spec: { group: "example.com", scope: "Cluster", names, versions },
  };
  await send("POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition);
  const limits = "/apis/example.com/v1/limits";
  await cluster.until(
    async () => (await send(`POST ${limits}`, { metadata: { name: "few" }, spec: { max: 3 } })).status === 201,
  );
  const paramKind = { apiVersion: "example.com/v1", kind: "Limit" };
  const expression = "request.operation == 'DELETE' ? false : object.spec.replicas <= params.spec.max";
  const validations = [{ expression, message: "too many", reason: "Forbidden" }];
  assert.equal((await send(`POST ${policies}`, policy("replicas", { paramKind, validations }))).status, 201);
  const paramRef = { name: "few", parameterNotFoundAction: "Deny" };
  const spec = { policyName: "replicas", validationActions: ["Deny"], paramRef };
  await send(`POST ${bindings}`, { metadata: { name: "all" }, spec });

  const refused = await send(`POST ${deployments}`, deployment(4));
  assert.equal(refused.status, 403);
  assert.equal(
    refused.json.message,
    `deployments.apps "web" is forbidden: ValidatingAdmissionPolicy 'replicas' with binding 'all' denied request: too many`,
  );
  assert.equal((await send(`POST ${deployments}`, deployment(3))).status, 201);
  const patch = (path: string) =>
    send(`PATCH ${deployments}/web${path}`, { spec: { replicas: 9 } }, "application/merge-patch+json");
  assert.equal((await patch("")).status, 403);
  assert.equal((await patch("/scale")).status, 403);
  assert.equal((await send(`DELETE ${deployments}/web`)).status, 403);

  await send(`PUT ${limits}/few`, {
    metadata: { name: "few", resourceVersion: await versionOf(`${limits}/few`) },
    spec: { max: 9 },
  });
  assert.equal((await patch("/scale")).status, 200);
  await send(`DELETE ${bindings}/all`);
  assert.equal((await send(`DELETE ${deployments}/web`)).status, 200);
});

async function versionOf(path: string): Promise<string> {
  return ((await send(`GET ${path}`)).json.metadata as unknown as { resourceVersion: string }).resourceVersion;
}

test("a policy sees an object in the version that its rules name", async () => {
  const validations = [{ expression: "object.spec.targetCPUUtilizationPercentage == 50", message: "not 50" }];
  await send(`POST ${policies}`, policy("cpu", { validations }));
  await send(`POST ${bindings}`, {
    metadata: { name: "cpu" },
    spec: { policyName: "cpu", validationActions: ["Deny"] },
  });
  const autoscaler = (averageUtilization: number) => ({
    metadata: { name: "web" },
    spec: {
      maxReplicas: 3,
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" },
      metrics: [{ type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization } } }],
    },
  });
  const path = "POST /apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers";

  const refused = await send(path, autoscaler(60));
  assert.equal(refused.status, 422);
  assert.match(String(refused.json.message), /denied request: not 50$/);
  assert.equal((await send(path, autoscaler(50))).status, 201);
  await send(`DELETE ${bindings}/cpu`);
});

test("the status of a policy tells what is wrong with the types of its expressions", async () => {
  const variables = [{ name: "replicas", expression: "object.spec.replicas" }];
  const validations = [
    { expression: "object.spec.replica > 1" },
    { expression: "variables.replicas > '1'", messageExpression: "string(object.metadata.name)" },
    { expression: "object.spec.template.spec.containers.all(c, c.name != '')" },
  ];
  const rules = [{ apiGroups: ["apps"], apiVersions: ["v1"], operations: ["*"], resources: ["deployments"] }];
  const matchConstraints = { resourceRules: rules };
  const body = { metadata: { name: "types" }, spec: { matchConstraints, variables, validations } };
  const limits = [{ ...rules[0], apiGroups: ["example.com"], resources: ["limits"] }];
  const ofLimits = {
    matchConstraints: { resourceRules: limits },
    validations: [{ expression: "object.spec.min < object.spec.max" }],
  };
  const custom = { metadata: { name: "custom" }, spec: ofLimits };
  assert.equal((await send(`POST ${policies}`, body)).status, 201);
  assert.equal((await send(`POST ${policies}`, custom)).status, 201);
  type Status = { observedGeneration?: number; typeChecking?: { expressionWarnings?: object[] } };
  const statusOf = async (name: string) => {
    let status: Status | undefined;
    await cluster.until(async () => {
      status = (await send(`GET ${policies}/${name}`)).json.status as unknown as Status;
      return status?.typeChecking !== undefined;
    });
    return status;
  };

  const [ofCustom] = (await statusOf("custom"))?.typeChecking?.expressionWarnings ?? [];
  assert.match(JSON.stringify(ofCustom), /example.com\/v1, Kind=Limit: ERROR: <input>:1:12: undefined field 'min'/);
  const status = await statusOf("types");
  assert.equal(status?.observedGeneration, 1);
  assert.deepEqual(status?.typeChecking?.expressionWarnings, [
    {
      fieldRef: "spec.validations[0].expression",
      warning:
        "apps/v1, Kind=Deployment: ERROR: <input>:1:12: undefined field 'replica'\n | object.spec.replica > 1\n | ...........^\n",
    },
    {
      fieldRef: "spec.validations[1].expression",
      warning:
        "apps/v1, Kind=Deployment: ERROR: <input>:1:20: found no matching overload for '_>_' applied to '(int, string)'\n | variables.replicas > '1'\n | ...................^\n",
    },
  ]);
});

const mutating = `${group}/mutatingadmissionpolicies`;
const mutatingBindings = `${group}/mutatingadmissionpolicybindings`;
const mutatingPolicy = (name: string, resources: string[], ...expressions: string[]) => ({
  metadata: { name },
  spec: {
    matchConstraints: {
      resourceRules: [{ apiGroups: ["*"], apiVersions: ["v1"], operations: ["CREATE", "UPDATE"], resources }],
    },
    reinvocationPolicy: "Never",
    mutations: expressions.map((expression) =>
      expression.startsWith("[")
        ? { patchType: "JSONPatch", jsonPatch: { expression } }
        : { patchType: "ApplyConfiguration", applyConfiguration: { expression } },
    ),
  },
});
const bindMutating = (policyName: string) =>
  send(`POST ${mutatingBindings}`, { metadata: { name: policyName }, spec: { policyName } });

test("mutations that do not compile are refused, each with its path", async () => {
  const bad = mutatingPolicy("bad", ["pods"], "Object{spec: }", "[object]", "object.spec", "Objects{}");

  const { status, json } = await send(`POST ${mutating}`, bad);

  assert.equal(status, 422);
  const causes = (json.details as unknown as { causes: { field: string; message: string }[] }).causes;
  assert.deepEqual(
    causes.map(({ field, message }) => [field, message.split("\\n")[0]?.split("\n")[0]?.slice(0, 100)]),
    [
      [
        "spec.mutations[0].applyConfiguration.expression",
        `Invalid value: "Object{spec: }": compilation failed: ERROR: <input>:1:14: Syntax error: mismatched i`,
      ],
      [
        "spec.mutations[1].jsonPatch.expression",
        `Invalid value: "[object]": must evaluate to list(JSONPatch) but got list(dyn)`,
      ],
      [
        "spec.mutations[2].applyConfiguration.expression",
        `Invalid value: "object.spec": must evaluate to Object but got dyn`,
      ],
      [
        "spec.mutations[3].applyConfiguration.expression",
        `Invalid value: "Objects{}": compilation failed: ERROR: <input>:1:8: undeclared reference to 'Objects`,
      ],
    ],
  );
});

test("a mutating policy changes built-in and custom objects and scales", async () => {
  const merged = `Object{metadata: Object.metadata{labels: {"team": namespaceObject.metadata.name}}, spec: Object.spec{replicas: object.spec.replicas + 1}}`;
  const written = await send(`POST ${mutating}`, mutatingPolicy("more", ["deployments"], merged));
  assert.equal(written.status, 201, String(written.json.message));
  await bindMutating("more");
  await send(
    `POST ${mutating}`,
    mutatingPolicy("scaled", ["deployments/scale"], `[JSONPatch{op: "replace", path: "/spec/replicas", value: 7}]`),
  );
  await bindMutating("scaled");
  const custom = `Object{spec: Object.spec{max: 5}}`;
  await send(`POST ${mutating}`, mutatingPolicy("limits", ["limits"], custom));
  await bindMutating("limits");
  const body = { ...deployment(2), metadata: { name: "mutated" } };

  const created = await send(`POST ${deployments}`, body);
  const scaled = await send(
    `PATCH ${deployments}/mutated/scale`,
    { spec: { replicas: 1 } },
    "application/merge-patch+json",
  );
  const limit = await send("POST /apis/example.com/v1/limits", { metadata: { name: "five" }, spec: {} });

  assert.equal(created.status, 201, String(created.json.message));
  const { metadata, spec } = created.json as unknown as { metadata: { labels?: object }; spec: { replicas: number } };
  assert.deepEqual(metadata.labels, { team: "default" });
  assert.equal(spec.replicas, 3);
  assert.equal((scaled.json.spec as unknown as { replicas: number }).replicas, 7);
  assert.deepEqual(limit.json.spec, { max: 5 });
});
