import assert from "node:assert/strict";
import { test } from "node:test";
import { allResources } from "#api/all.ts";
import { HorizontalPodAutoscaler } from "#api/autoscaling/horizontal-pod-autoscaler.ts";
import { ConfigMap } from "#api/core/config-map.ts";
import { Namespace } from "#api/core/namespace.ts";
import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { type ApiObject, type InputOf, type Resource } from "#api/resource.ts";
import { ResourceRegistry } from "#server/registry.ts";
import { createFakeInformers } from "#testing/fake-informers.ts";
import { requestFor } from "../admission.suite.ts";
import { asSent } from "../matching/sent-request.ts";
import { type AdmissionRequest } from "../plugin.ts";
import { type Webhook } from "./hook.ts";
import { planCall } from "./plan-call.ts";

const informers = createFakeInformers();
informers.put(Namespace, { metadata: { name: "shop", labels: { tier: "one" } } });
const world = { resources: new ResourceRegistry(allResources), namespaces: informers.of(Namespace) };
const planFor = (webhook: Webhook, request: AdmissionRequest) =>
  planCall(
    world,
    webhook,
    asSent(request, (_, object) => object),
  );

type Rule = NonNullable<Webhook["rules"]>[number];
const all: Rule = { operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*/*"], scope: "*" };
const hook = (rule: Partial<Rule>, part: Partial<Webhook> = {}): Webhook => ({
  name: "a.b.c",
  clientConfig: { url: "https://a" },
  rules: [{ ...all, ...rule }],
  failurePolicy: "Fail",
  matchPolicy: "Equivalent",
  namespaceSelector: {},
  objectSelector: {},
  sideEffects: "None",
  timeoutSeconds: 10,
  admissionReviewVersions: ["v1"],
  ...part,
});

/** The version in which the webhook gets the request; undefined if it does not. */
async function versionFor(webhook: Webhook, request: AdmissionRequest): Promise<string | undefined> {
  return (await planFor(webhook, request))?.resource.version;
}
const about = <T extends ApiObject>(resource: Resource<T>, part: Partial<AdmissionRequest> = {}, object = {}) =>
  requestFor(resource, { metadata: { name: "x" }, ...object } as InputOf<T>, part);

const pod = about(Pod);
const podLog = about(Pod, { subresource: "log" });
const node = about(Node);
const namespace = about(Namespace, { name: "shop" });
const labelled = about(ConfigMap, {}, { metadata: { name: "x", labels: { app: "web" } } });
const removed = about(ConfigMap, { operation: "DELETE", object: undefined, oldObject: labelled.object });

const cases: {
  name: string;
  rule?: Partial<Rule>;
  part?: Partial<Webhook>;
  sent: AdmissionRequest[];
  kept: AdmissionRequest[];
}[] = [
  { name: "by resource", rule: { resources: ["pods"] }, sent: [pod], kept: [podLog, node] },
  { name: "by every resource", rule: { resources: ["*"] }, sent: [pod, node], kept: [podLog] },
  { name: "by subresource", rule: { resources: ["pods/log"] }, sent: [podLog], kept: [pod] },
  { name: "by any subresource", rule: { resources: ["pods/*"] }, sent: [pod, podLog], kept: [node] },
  { name: "by the same subresource of all", rule: { resources: ["*/log"] }, sent: [podLog], kept: [pod, node] },
  { name: "by group", rule: { apiGroups: ["apps"] }, sent: [], kept: [pod] },
  { name: "by operation", rule: { operations: ["DELETE"] }, sent: [removed], kept: [pod] },
  { name: "in namespaces", rule: { scope: "Namespaced" }, sent: [pod], kept: [node, namespace] },
  { name: "outside of namespaces", rule: { scope: "Cluster" }, sent: [node, namespace], kept: [pod] },
  {
    name: "by labels of the object, new or old",
    part: { objectSelector: { matchLabels: { app: "web" } } },
    sent: [labelled, removed],
    kept: [pod],
  },
  {
    name: "by labels of the namespace",
    part: { namespaceSelector: { matchLabels: { tier: "one" } } },
    sent: [pod, node, about(Namespace, {}, { metadata: { name: "new", labels: { tier: "one" } } })],
    // What is written counts, not what is stored.
    kept: [namespace],
  },
];
for (const { name, rule = {}, part = {}, sent, kept } of cases) {
  test(`planCall() sends requests ${name}`, async () => {
    for (const request of sent) assert.equal(await versionFor(hook(rule, part), request), "v1");
    for (const request of kept) assert.equal(await versionFor(hook(rule, part), request), undefined);
  });
}

test("planCall() sends nothing to a webhook without rules", async () => {
  assert.equal(await versionFor(hook({}, { rules: [] }), pod), undefined);
});

test("planCall() converts a request to the version of the rule, unless it must be exact", async () => {
  const autoscaler = about(
    HorizontalPodAutoscaler,
    {},
    {
      spec: { scaleTargetRef: { kind: "Deployment", name: "web" }, maxReplicas: 3 },
      status: {},
      ...{ kind: "HorizontalPodAutoscaler", apiVersion: "autoscaling/v2" },
    },
  );
  const v1 = { apiGroups: ["autoscaling"], apiVersions: ["v1"], resources: ["horizontalpodautoscalers"] };
  const view = await planFor(hook(v1), autoscaler);

  assert.equal(view?.resource.version, "v1");
  assert.equal(view.object?.apiVersion, "autoscaling/v1");
  assert.equal(await versionFor(hook(v1, { matchPolicy: "Exact" }), autoscaler), undefined);
});

test("planCall() refuses a request in a namespace that does not exist, only if the webhook would be called", async () => {
  const lost = about(Pod, { namespace: "lost" });
  const selective = { namespaceSelector: { matchLabels: { tier: "one" } } };

  await assert.rejects(versionFor(hook({}, selective), lost), { message: 'namespaces "lost" not found' });
  assert.equal(await versionFor(hook({ resources: ["nodes"] }, selective), lost), undefined);
});
