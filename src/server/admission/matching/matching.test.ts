import assert from "node:assert/strict";
import { test } from "node:test";
import { allResources } from "#api/all.ts";
import { Deployment } from "#api/apps/deployment.ts";
import { HorizontalPodAutoscaler } from "#api/autoscaling/horizontal-pod-autoscaler.ts";
import { autoscalersV1 } from "#api/autoscaling/horizontal-pod-autoscaler-v1.ts";
import { Namespace } from "#api/core/namespace.ts";
import { Pod } from "#api/core/pod.ts";
import { notFound } from "#api/status.ts";
import { ResourceRegistry } from "#server/registry.ts";
import { createFakeInformers } from "#testing/fake-informers.ts";
import { podWith, requestFor } from "../admission.suite.ts";
import { type AdmissionRequest } from "../plugin.ts";
import { type Criteria, type MatchSources, matchRequest } from "./criteria.ts";
import { type MatchRule } from "./rules.ts";

const registry = new ResourceRegistry(allResources);
const informers = createFakeInformers();
informers.put(Namespace, { metadata: { name: "shop", labels: { stage: "live" } } });
const sources: MatchSources = {
  namespaces: { namespaces: informers.of(Namespace) },
  equivalents: (resource) => registry.equivalents(resource),
};

const pods: MatchRule = { operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"] };
const all: MatchRule = { operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*"] };
const pod = requestFor(Pod, podWith({}, { labels: { app: "web" } }));
const namespace = requestFor(Namespace, { metadata: { name: "new", labels: { stage: "test" } } });
const match = (part: Partial<Criteria>, request: AdmissionRequest = pod) =>
  matchRequest({ rules: [all], matchPolicy: "Equivalent", ...part }, request, sources);

const cases: readonly [name: string, rule: MatchRule, request: AdmissionRequest, expected: boolean][] = [
  ["its own resource", pods, pod, true],
  ["no other operation", pods, { ...pod, operation: "DELETE" }, false],
  ["no other group", { ...pods, apiGroups: ["apps"] }, pod, false],
  ["no other version", { ...pods, apiVersions: ["v2"] }, pod, false],
  ["no subresource that is not asked for", all, { ...pod, subresource: "status" }, false],
  ["all subresources of a resource", { ...all, resources: ["pods/*"] }, { ...pod, subresource: "exec" }, true],
  ["a resource as a part of pods/*", { ...all, resources: ["pods/*"] }, pod, true],
  ["one subresource of all", { ...all, resources: ["*/scale"] }, { ...pod, subresource: "scale" }, true],
  ["all with */*", { ...all, resources: ["*/*"] }, { ...pod, subresource: "log" }, true],
  ["namespaced objects by scope", { ...all, scope: "Namespaced" }, pod, true],
  ["no namespaced object as a cluster one", { ...all, scope: "Cluster" }, pod, false],
  ["a namespace as outside of namespaces", { ...all, scope: "Cluster" }, { ...namespace, namespace: "new" }, true],
  ["no namespace as namespaced", { ...all, scope: "Namespaced" }, { ...namespace, namespace: "new" }, false],
  ["a name that is listed", { ...all, resourceNames: ["db", "web"] }, pod, true],
  ["no name that is not listed", { ...all, resourceNames: ["db"] }, pod, false],
  ["nothing with an empty rule", {}, pod, false],
];
for (const [name, rule, request, expected] of cases) {
  test(`a rule matches ${name}`, () => assert.equal(match({ rules: [rule] }, request) !== undefined, expected));
}

test("a rule matches another version of a kind unless it has to be exact", () => {
  const request = requestFor(autoscalersV1, undefined);
  const rules = [{ ...all, apiVersions: ["v2"] }];

  assert.equal(match({ rules }, request), HorizontalPodAutoscaler);
  assert.equal(match({ rules, matchPolicy: "Exact" }, request), undefined);
  assert.equal(match({ excluded: rules }, request), undefined);
  assert.equal(match({}, request), autoscalersV1);
  assert.equal(match({ rules }, requestFor(Deployment, undefined)), undefined);
});

test("excluded rules win, and no rules at all match everything", () => {
  assert.equal(match({ excluded: [pods] }), undefined);
  assert.equal(match({ rules: [] }), Pod);
});

test("an object selector looks at the old and the new object", () => {
  const objectSelector = { matchLabels: { app: "web" } };
  const old = { ...requestFor(Pod, podWith()), oldObject: pod.object };

  assert.equal(match({ objectSelector }), Pod);
  assert.equal(match({ objectSelector }, old), Pod);
  assert.equal(match({ objectSelector }, requestFor(Pod, podWith())), undefined);
  assert.equal(match({ objectSelector }, requestFor(Pod, undefined)), undefined);
});

test("a namespace selector looks at the namespace of the object, or at a namespace that is written", () => {
  const select = (stage: string) => ({ namespaceSelector: { matchLabels: { stage } } });

  assert.equal(match(select("live")), Pod);
  assert.equal(match(select("test")), undefined);
  assert.equal(match(select("test"), namespace), Namespace);
  assert.equal(
    match(select("live"), { ...namespace, operation: "DELETE", name: "shop", object: undefined }),
    Namespace,
  );
  assert.equal(match(select("test"), { ...pod, namespace: "" }), Pod);
  assert.throws(() => match(select("live"), { ...pod, namespace: "gone" }), { code: 404 });
});

test("a namespace that is not in the cache is asked for, only if everything else matches", async () => {
  const asked: string[] = [];
  const get = async (_: unknown, { name }: { name: string }) => {
    asked.push(name);
    throw notFound(Namespace, name);
  };
  const client = { get } as unknown as NonNullable<MatchSources["namespaces"]["client"]>;
  const lookUp = { ...sources, namespaces: { ...sources.namespaces, client } };
  const namespaceSelector = { matchLabels: { stage: "live" } };
  const criteria = { matchPolicy: "Exact", namespaceSelector } as const;
  const request = { ...pod, namespace: "gone" };

  assert.equal(matchRequest({ ...criteria, rules: [{}] }, request, lookUp), undefined);
  await assert.rejects(async () => matchRequest({ ...criteria, rules: [all] }, request, lookUp), { code: 404 });
  assert.deepEqual(asked, ["gone"]);
});
