import assert from "node:assert/strict";
import { test } from "node:test";
import { MutatingAdmissionPolicy } from "#api/admissionregistration/mutating-admission-policy.ts";
import { ConfigMap } from "#api/core/config-map.ts";
import { Pod } from "#api/core/pod.ts";
import { podWith, requestFor } from "../../admission.suite.ts";
import { type AdmissionPlugin } from "../../plugin.ts";
import { merge, mutated, patch, setUpMutating } from "./mutating.suite.ts";

const label = (key: string, value: string) => merge(`Object{metadata: Object.metadata{labels: {"${key}": ${value}}}}`);
const count = merge(
  `Object{metadata: Object.metadata{annotations: {"count": string(int(object.metadata.annotations.count) + 1)}}}`,
);

test("an apply configuration is merged: maps by key and lists by the keys of their items", async () => {
  const sidecar = `Object{spec: Object.spec{
    hostname: object.metadata.name + "-host",
    containers: [Object.spec.containers{name: "proxy", image: "proxy:" + variables.version}]
  }}`;
  const variables = [{ name: "version", expression: "'1'" }];

  const { object, refusal } = await mutated([merge(sidecar), label("stage", "namespaceObject.metadata.labels.stage")], {
    variables,
  });

  assert.equal(refusal, undefined);
  assert.deepEqual(object.metadata.labels, { app: "web", stage: "live" });
  const spec = object.spec as { hostname: string; containers: { name: string; image: string }[] };
  assert.equal(spec.hostname, "web-host");
  assert.deepEqual(
    spec.containers.map(({ name }) => name).sort(),
    ["c", "proxy"],
    "the container that was there is kept",
  );
  assert.equal(spec.containers.find(({ name }) => name === "proxy")?.image, "proxy:1");
});

test("a JSON patch is applied: typed values, values of the object, escaped keys, and nothing if a test fails", async () => {
  const { object, refusal } = await mutated([
    patch(`[
      JSONPatch{op: "test", path: "/metadata/name", value: "web"},
      JSONPatch{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey("example.com/a~b"), value: "x"},
      JSONPatch{op: "copy", from: "/metadata/labels/app", path: "/metadata/labels/copy"},
      JSONPatch{op: "add", path: "/spec/tolerations", value: [Object.spec.tolerations{key: "k", operator: "Exists"}]}
    ]`),
    patch(`[
      JSONPatch{op: "test", path: "/metadata/name", value: "other"},
      JSONPatch{op: "remove", path: "/metadata/labels"}
    ]`),
    patch(`has(object.metadata.labels.none) ? [JSONPatch{op: "remove", path: "/spec"}] : []`),
  ]);

  assert.equal(refusal, undefined);
  assert.deepEqual(object.metadata.labels, { app: "web", "example.com/a~b": "x", copy: "web" });
  assert.deepEqual((object.spec as { tolerations?: object }).tolerations, [{ key: "k", operator: "Exists" }]);
});

const denied = "policy 'p' with binding 'b' denied request: ";
const faults: readonly [name: string, mutation: ReturnType<typeof merge | typeof patch>, message: string | RegExp][] = [
  [
    "a field that the kind lacks",
    merge(`Object{spec: Object.spec{nope: 1}}`),
    `${denied}error applying patch: failed to convert patch object to typed object: .spec.nope: field not declared in schema`,
  ],
  [
    "an atomic list",
    merge(
      `Object{spec: Object.spec{nodeSelector: {"a": "b"}, containers: [Object.spec.containers{name: "a", args: ["x"]}]}}`,
    ),
    `${denied}error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.nodeSelector, .spec.containers[0].args`,
  ],
  [
    "an object under another name than its field's",
    merge(`Object{spec: Object.spec{affinity: Object.spec.wrong{}}}`),
    `${denied}type mismatch: unexpected type name "Object.spec.wrong", expected "Object.spec.affinity", which matches field name path from root Object type`,
  ],
  [
    "an error of the expression",
    merge(`Object{metadata: Object.metadata{labels: {"a": object.metadata.labels.none}}}`),
    /^policy 'p' with binding 'b' denied request: expression '.*' resulted in error: no such key: none$/,
  ],
  [
    "a patch that does not fit",
    patch(`[JSONPatch{op: "remove", path: "/spec/nope"}]`),
    /^policy 'p' with binding 'b' denied request: JSON Patch: .*nope/,
  ],
  [
    "an expression that does not compile",
    merge("object.metadata.name"),
    `${denied}must evaluate to Object but got dyn`,
  ],
];
for (const [name, mutation, message] of faults) {
  test(`a policy refuses the request by its failure policy: ${name}`, async () => {
    const { error, object } = await mutated([mutation, label("after", "'1'")]);
    if (typeof message === "string") assert.equal(error?.message, message);
    else assert.match(String(error?.message), message);
    assert.deepEqual([error?.code, error?.reason, error?.details?.causes?.length], [403, "Invalid", 1]);
    assert.equal(object.metadata.labels?.after, "1", "the mutations after it still run");

    const ignored = await mutated([mutation, label("after", "'1'")], { failurePolicy: "Ignore" });
    assert.equal(ignored.refusal, undefined);
    assert.equal(ignored.object.metadata.labels?.after, "1");
  });
}

test("a JSON patch that adds a field that the kind lacks fails whatever the failure policy is", async () => {
  const mutation = patch(`[JSONPatch{op: "add", path: "/spec/nope", value: 1}]`);

  const { error } = await mutated([mutation], { failurePolicy: "Ignore" });

  assert.equal(error?.code, 500);
  assert.equal(error.message, 'Internal error occurred: strict decoding error: unknown field "spec.nope"');
});

test("a policy changes neither where the object is nor what the server sets", async () => {
  const uid = await mutated([merge(`Object{metadata: Object.metadata{uid: "forged", generation: 7}}`)]);
  assert.equal(uid.refusal, undefined);
  assert.equal(uid.object.metadata.uid, undefined);
  assert.equal(uid.object.metadata.generation, undefined);

  const namespace = await mutated([patch(`[JSONPatch{op: "add", path: "/metadata/namespace", value: "other"}]`)]);
  assert.match(String(namespace.refusal), /namespace of the provided object does not match/);
});

test("conditions, parameters and bindings decide whether a policy changes an object", async () => {
  const { informers, put, bind, ask } = setUpMutating();
  const matchConditions = [{ name: "web", expression: "object.metadata.name == 'web' && params.data.on == 'yes'" }];
  put({
    paramKind: { apiVersion: "v1", kind: "ConfigMap" },
    matchConditions,
    mutations: [label("team", "params.data.team")],
  });
  const paramRef = { selector: { matchLabels: { use: "this" } }, parameterNotFoundAction: "Deny" } as const;
  bind({ paramRef });

  const missing = await ask();
  assert.equal(missing.error?.code, 403);
  assert.equal(missing.error.reason, "Forbidden");
  assert.equal(
    missing.refusal,
    `${denied}failed to configure binding: no params found for policy binding with \`Deny\` parameterNotFoundAction`,
  );

  const put2 = (name: string, data: Record<string, string>) =>
    informers.put(ConfigMap, { metadata: { name, namespace: "shop", labels: { use: "this" } }, data });
  put2("a", { on: "no", team: "a" });
  put2("b", { on: "yes", team: "b" });
  assert.equal((await ask()).object.metadata.labels?.team, "b");

  bind({ paramRef, matchResources: { objectSelector: { matchLabels: { app: "other" } } } } as never);
  assert.equal((await ask()).object.metadata.labels?.team, undefined);
});

test("policies run in the order of their names, and again if they want to and the object changes", async () => {
  const { put, bind, ask } = setUpMutating();
  put({ reinvocationPolicy: "IfNeeded", mutations: [count] }, "p1");
  put({ reinvocationPolicy: "IfNeeded", mutations: [count] }, "p2");
  put({ reinvocationPolicy: "Never", mutations: [count, label("seen", "object.metadata.annotations.count")] }, "p3");
  for (const policyName of ["p1", "p2", "p3"]) bind({ policyName }, policyName);

  const { object } = await ask();

  // 1 to 4 in the first round; the first two once more in the second one.
  assert.equal(object.metadata.annotations?.count, "6");
  assert.equal(object.metadata.labels?.seen, "4");
});

test("a policy that wants to runs again if a later plugin changes the object, and only then", async () => {
  let hasChanged = false;
  const later: AdmissionPlugin = {
    name: "Later",
    appliesTo: () => true,
    async mutate({ object }) {
      if (hasChanged && object) object.metadata.labels = { ...object.metadata.labels, late: "yes" };
    },
    again: { isNeeded: () => hasChanged, start: () => undefined },
  };
  const { put, bind, ask } = setUpMutating(later);
  const note = merge(
    `Object{metadata: Object.metadata{?annotations: has(object.metadata.labels.late) ? optional.of({"late": "seen"}) : optional.none()}}`,
  );
  put({ reinvocationPolicy: "IfNeeded", mutations: [note] });
  bind();

  assert.equal((await ask()).object.metadata.annotations?.late, undefined);
  hasChanged = true;
  assert.equal((await ask()).object.metadata.annotations?.late, "seen");
  put({ reinvocationPolicy: "Never", mutations: [note] });
  assert.equal((await ask()).object.metadata.annotations?.late, undefined);
});

test("nothing is done without a policy and a binding, and policies do not change themselves", async () => {
  const { plugin, put, bind } = setUpMutating();
  const pod = requestFor(Pod, podWith({}, { annotations: { count: "1" } }));
  assert.equal(plugin.mutate?.(pod), undefined);
  put({ mutations: [count] });
  assert.equal(plugin.mutate?.(pod), undefined);
  bind();
  const mutated = plugin.mutate?.(pod);
  assert(mutated instanceof Promise);
  await mutated;
  assert.equal(plugin.appliesTo(pod), true);
  assert.equal(plugin.appliesTo(requestFor(MutatingAdmissionPolicy, { metadata: { name: "x" } })), false);
});

test("mutations and conditions are counted under upstream's names", async () => {
  const { metrics, put, bind, ask } = setUpMutating();
  const [web, other] = ["object.metadata.name == 'web'", "object.metadata.name == 'other'"];
  const nope = merge("Object{spec: Object.spec{nope: 1}}");
  put({ mutations: [count, nope], matchConditions: [{ name: "web", expression: web }] }, "p");
  put({ mutations: [count], matchConditions: [{ name: "other", expression: other }] }, "q");
  bind();
  bind({ policyName: "q" }, "c");

  await ask();

  const text = metrics.render();
  const prefix = "apiserver_mutating_admission_policy_check_total";
  assert.match(text, new RegExp(`${prefix}{policy="p",policy_binding="b",error_type="no_error"} 1`));
  assert.match(text, new RegExp(`${prefix}{policy="p",policy_binding="b",error_type="invalid_error"} 1`));
  const excluded = 'exclusions_total{name="q",kind="policy",type="validate",operation="CREATE"} 1';
  assert(text.includes(`apiserver_admission_match_condition_${excluded}`));
});
