import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Deployment } from "#api/apps/deployment.ts";
import { Pod } from "#api/core/pod.ts";
import { Secret } from "#api/core/secret.ts";
import { type Resource } from "#api/resource.ts";
import { ask } from "#testing/peers/ask.ts";
import { startCluster, type TestCluster } from "#testing/start-cluster.ts";
import { explain } from "./explain.ts";
import { gather } from "./gather.ts";

let cluster: TestCluster;
before(async () => {
  cluster = await startCluster();
});
after(() => cluster[Symbol.asyncDispose]());

const send = (line: string, body: object, type = "application/json") =>
  ask(cluster.api.server, line, { body, headers: { "content-type": type } });
const why = async (resource: Resource, name: string) =>
  explain(await gather(cluster.client, { resource, namespace: "default", name }, cluster.clock.now()));

const group = "/apis/admissionregistration.k8s.io/v1";
const deployments = "/apis/apps/v1/namespaces/default/deployments";
const rules = [
  { apiGroups: ["apps"], apiVersions: ["v1"], operations: ["CREATE", "UPDATE"], resources: ["deployments"] },
];
const deployment = (name: string, replicas: number) => ({
  metadata: { name },
  spec: {
    replicas,
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: "web", image: "web" }] } },
  },
});

test("why tells which policy refused or changed an object, with its expression and values", async () => {
  const metadata = { name: "replicas" };
  const matchConstraints = { resourceRules: rules };
  const variables = [
    { name: "limit", expression: "3" },
    { name: "unused", expression: "1" },
  ];
  const validations = [{ expression: "object.spec.replicas <= variables.limit || variables.limit < 0" }];
  await send(`POST ${group}/validatingadmissionpolicies`, {
    metadata,
    spec: { matchConstraints, variables, validations },
  });
  const spec = { policyName: "replicas", validationActions: ["Deny"] };
  await send(`POST ${group}/validatingadmissionpolicybindings`, { metadata: { name: "all" }, spec });
  const expression = `Object{metadata: Object.metadata{labels: {"team": "a"}}}`;
  const mutations = [{ patchType: "ApplyConfiguration", applyConfiguration: { expression } }];
  const mutating = { matchConstraints, reinvocationPolicy: "Never", mutations };
  await send(`POST ${group}/mutatingadmissionpolicies`, { metadata: { name: "team" }, spec: mutating });
  await send(`POST ${group}/mutatingadmissionpolicybindings`, {
    metadata: { name: "team" },
    spec: { policyName: "team" },
  });

  await send(`POST ${deployments}`, deployment("refused", 5));
  await send(`POST ${deployments}`, deployment("changed", 1));
  await cluster.clock.advance(1000);
  await send(`PATCH ${deployments}/changed`, { spec: { replicas: 7 } }, "application/merge-patch+json");

  const refused = await why(Deployment, "refused");
  assert.equal(refused.state, "Refused");
  assert.deepEqual(refused.evidence.slice(1), [
    "refused by ValidatingAdmissionPolicy replicas (all)",
    "expression: object.spec.replicas <= variables.limit || variables.limit < 0",
    "  object.spec.replicas = 5",
    "  variables.limit = 3",
  ]);
  assert.match(refused.advice.join(), /kubectl get validatingadmissionpolicy replicas/);
  const changed = await why(Deployment, "changed");
  const at = changed.evidence.findIndex((line) => line.startsWith("the last change was refused: "));
  assert.notEqual(at, -1);
  assert.deepEqual(changed.evidence.slice(at + 2), [
    "refused by ValidatingAdmissionPolicy replicas (all)",
    "expression: object.spec.replicas <= variables.limit || variables.limit < 0",
    "  object.spec.replicas = 7",
    "  variables.limit = 3",
    "policy team changed it on its way in:",
    '  metadata.labels: added {team: "a"}',
    `  expression: ${expression}`,
  ]);
});

test("why shows nothing of what is in a Secret that a policy refused or changed", async () => {
  const rule = { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["secrets"] };
  const matchConstraints = { resourceRules: [rule] };
  const validations = [{ expression: "object.type != 'refused'" }];
  const expression = `Object{stringData: {"more": object.type + "hidden"}}`;
  const mutations = [{ patchType: "ApplyConfiguration", applyConfiguration: { expression } }];
  const metadata = { name: "secrets" };
  const spec = { policyName: "secrets" };
  await send(`POST ${group}/validatingadmissionpolicies`, { metadata, spec: { matchConstraints, validations } });
  await send(`POST ${group}/validatingadmissionpolicybindings`, {
    metadata,
    spec: { ...spec, validationActions: ["Deny"] },
  });
  const mutating = { matchConstraints, reinvocationPolicy: "Never", mutations };
  await send(`POST ${group}/mutatingadmissionpolicies`, { metadata, spec: mutating });
  await send(`POST ${group}/mutatingadmissionpolicybindings`, { metadata, spec });

  const secrets = "/api/v1/namespaces/default/secrets";
  await send(`POST ${secrets}`, { metadata: { name: "refused" }, type: "refused", stringData: { a: "hidden" } });
  await send(`POST ${secrets}`, { metadata: { name: "changed" }, type: "changed", stringData: { a: "hidden" } });

  const refused = await why(Secret, "refused");
  assert.deepEqual(refused.evidence.slice(1), [
    "refused by ValidatingAdmissionPolicy secrets (secrets)",
    "expression: object.type != 'refused'",
  ]);
  const changed = await why(Secret, "changed");
  assert.deepEqual(changed.evidence.slice(-3), [
    "policy secrets changed it on its way in:",
    "  the object, whose values are not shown",
    `  expression: ${expression}`,
  ]);
});

test("why tells which built-in plugin or which rule of a custom resource refused an object", async () => {
  await send(
    "PATCH /api/v1/namespaces/default",
    { metadata: { labels: { "pod-security.kubernetes.io/enforce": "restricted" } } },
    "application/merge-patch+json",
  );
  const pod = { metadata: { name: "root" }, spec: { containers: [{ name: "c", image: "i" }], hostNetwork: true } };
  const schema = {
    type: "object",
    properties: {
      spec: {
        type: "object",
        properties: { min: { type: "integer" }, max: { type: "integer" } },
        "x-kubernetes-validations": [{ rule: "self.min <= self.max", message: "min is above max" }],
      },
    },
  };
  const versions = [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } }];
  const names = { plural: "ranges", kind: "Range" };
  const crd = {
    metadata: { name: "ranges.example.com" },
    spec: { group: "example.com", scope: "Namespaced", names, versions },
  };
  await send("POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd);
  const ranges = "/apis/example.com/v1/namespaces/default/ranges";
  await cluster.until(async () => (await send(`POST ${ranges}`, { metadata: { name: "good" } })).status === 201);

  const isForbidden = await send("POST /api/v1/namespaces/default/pods", pod);
  const isInvalid = await send(`POST ${ranges}`, { metadata: { name: "bad" }, spec: { min: 5, max: 2 } });

  assert.deepEqual([isForbidden.status, isInvalid.status], [403, 422]);
  assert(!JSON.stringify(isInvalid.json).includes("self.min"), "callers are told what upstream tells them");
  assert.equal((await why(Pod, "root")).evidence[1], "refused by plugin PodSecurity");
  const range = cluster.api.resources.ofGroupVersion("example.com/v1").find(({ plural }) => plural === "ranges");
  assert(range);
  assert.deepEqual((await why(range, "bad")).evidence.slice(1), [
    "refused by rule of the CustomResourceDefinition ranges.example.com",
    "expression: self.min <= self.max",
    "  self.min = 5",
    "  self.max = 2",
  ]);
});

test("why tells what to repair when a policy could not decide", async () => {
  const inSecrets = [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["secrets"] }];
  const spec = {
    paramKind: { apiVersion: "example.com/v1", kind: "Limit" },
    matchConstraints: { resourceRules: inSecrets },
    matchConditions: [{ name: "lost", expression: "object.type == 'lost'" }],
    validations: [{ expression: "params.spec.max > 1" }],
  };
  await send(`POST ${group}/validatingadmissionpolicies`, { metadata: { name: "lost" }, spec });
  const lost = {
    policyName: "lost",
    validationActions: ["Deny"],
    paramRef: { name: "a", parameterNotFoundAction: "Deny" },
  };
  await send(`POST ${group}/validatingadmissionpolicybindings`, { metadata: { name: "lost" }, spec: lost });
  const secrets = "/api/v1/namespaces/default/secrets";
  await send(`POST ${secrets}`, { metadata: { name: "lost" }, type: "lost" });
  await send(`DELETE ${group}/validatingadmissionpolicybindings/lost`, {});

  assert.match((await why(Secret, "lost")).advice.join(), /^Correct the policy, its binding or their parameters: /);
});
