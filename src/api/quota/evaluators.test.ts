import assert from "node:assert/strict";
import { test } from "node:test";
import { allResources } from "#api/all.ts";
import { Deployment } from "#api/apps/deployment.ts";
import { ConfigMap } from "#api/core/config-map.ts";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { aPod } from "#api/core/pod/testing-pod.ts";
import { Pod } from "#api/core/pod.ts";
import { Service } from "#api/core/service.ts";
import { type ApiObject, type InputOf, type Resource } from "#api/resource.ts";
import { build } from "#testing/build.ts";
import { createFakeInformers } from "#testing/fake-informers.ts";
import { evaluatorOf, isLimitable } from "./evaluators.ts";

const now = Date.parse("2026-01-01T00:10:00Z");
const usageOf = <T extends ApiObject>(resource: Resource<T>, object: InputOf<T>): Record<string, string> =>
  evaluatorOf(resource).usage(build(resource, object), { nowMs: now, objects: createFakeInformers() });
const pods = (part: Partial<Pod>, spec = {}, container = {}): Record<string, string> =>
  evaluatorOf(Pod).usage({ ...aPod(spec, container), ...part }, { nowMs: now, objects: createFakeInformers() });

test("a pod takes its requests and limits", () => {
  const resources = {
    requests: {
      cpu: "100m",
      memory: "64Mi",
      "ephemeral-storage": "1Gi",
      "hugepages-2Mi": "4Mi",
      "example.com/gpu": "2",
    },
    limits: { cpu: "1", memory: "128Mi", "hugepages-2Mi": "4Mi", "example.com/gpu": "2" },
  };
  assert.deepEqual(pods({}, {}, { resources }), {
    "count/pods": "1",
    pods: "1",
    cpu: "100m",
    "requests.cpu": "100m",
    "limits.cpu": "1",
    memory: "64Mi",
    "requests.memory": "64Mi",
    "limits.memory": "128Mi",
    "ephemeral-storage": "1Gi",
    "requests.ephemeral-storage": "1Gi",
    "hugepages-2Mi": "4Mi",
    "requests.hugepages-2Mi": "4Mi",
    "requests.example.com/gpu": "2",
  });
});

test("a pod that is resized takes the larger of both, unless its node cannot do it", () => {
  const spec = { resources: { requests: { cpu: "2" }, limits: { cpu: "2" } } };
  const held = { requests: { cpu: "1" }, limits: { cpu: "3" } };
  const resized = (reason: string) => {
    const pod = aPod({}, spec);
    const status = {
      name: "web",
      ready: true,
      restartCount: 0,
      image: "nginx:1",
      imageID: "",
      state: {},
      lastState: {},
    };
    const containerStatuses = [{ ...status, resources: held }];
    const conditions = [{ type: "PodResizePending", status: "True" as const, reason }];
    const usage = pods({ ...pod, status: { ...pod.status, containerStatuses, conditions } });
    return [usage["requests.cpu"], usage["limits.cpu"]];
  };
  assert.deepEqual(resized("Deferred"), ["2", "3"]);
  assert.deepEqual(resized("Infeasible"), ["1", "3"]);
});

test("a pod that has ended, or should be gone, is only counted", () => {
  const only = { "count/pods": "1" };
  assert.deepEqual(pods({ status: { phase: "Succeeded" } }), only);
  assert.deepEqual(pods({ status: { phase: "Failed" } }), only);
  const ending = (graceSeconds: number) => {
    const { metadata } = aPod();
    const deletionTimestamp = "2026-01-01T00:09:00Z";
    return pods({ metadata: { ...metadata, deletionTimestamp, deletionGracePeriodSeconds: graceSeconds } }).pods;
  };
  assert.equal(ending(30), undefined);
  assert.equal(ending(60), "1");
});

test("services take node ports by their type and intent", () => {
  const ports = [{ port: 80 }, { port: 81, nodePort: 30081 }];
  const service = (spec: object) => {
    const usage = usageOf(Service, { metadata: { name: "s" }, spec: { ports, ...spec } });
    return [usage.services, usage["services.nodeports"], usage["services.loadbalancers"]];
  };
  assert.deepEqual(service({}), ["1", "0", "0"]);
  assert.deepEqual(service({ type: "NodePort" }), ["1", "2", "0"]);
  assert.deepEqual(service({ type: "LoadBalancer" }), ["1", "2", "1"]);
  assert.deepEqual(service({ type: "LoadBalancer", allocateLoadBalancerNodePorts: false }), ["1", "1", "1"]);
});

test("a claim takes whole bytes, also from the limits of its class, and what a growing volume is given", () => {
  const claim = (spec: object, status = {}) =>
    usageOf(PersistentVolumeClaim, { metadata: { name: "c" }, spec: { ...spec }, status });
  const requests = (storage: string) => ({ resources: { requests: { storage } } });
  assert.deepEqual(claim({ ...requests("1Gi"), storageClassName: "gold" }), {
    "count/persistentvolumeclaims": "1",
    persistentvolumeclaims: "1",
    "requests.storage": "1Gi",
    "gold.storageclass.storage.k8s.io/persistentvolumeclaims": "1",
    "gold.storageclass.storage.k8s.io/requests.storage": "1Gi",
  });
  assert.equal(claim(requests("1500m"))["requests.storage"], "2");
  const given = (storage: string) => claim(requests("2Gi"), { allocatedResources: { storage } })["requests.storage"];
  assert.deepEqual([given("1Gi"), given("3Gi")], ["2Gi", "3Gi"]);
});

test("other kinds are counted, some of them also under their own name", () => {
  assert.deepEqual(usageOf(ConfigMap, { metadata: { name: "m" } }), { "count/configmaps": "1", configmaps: "1" });
  assert.equal(evaluatorOf(Deployment).measures("count/deployments.apps"), true);
  assert.equal(evaluatorOf(Deployment).measures("deployments"), false);
});

test("quotas can limit all kinds that are stored in namespaces, except events", () => {
  const not = allResources.filter(({ scope }) => scope === "Namespaced").filter((resource) => !isLimitable(resource));
  assert.deepEqual(not.map(({ kind }) => kind).sort(), ["Binding", "Event", "Event", "LocalSubjectAccessReview"]);
});
