import assert from "node:assert/strict";
import { allResources } from "#api/all.ts";
import { Namespace } from "#api/core/namespace.ts";
import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { ResourceQuota } from "#api/core/resource-quota.ts";
import { ServiceAccount } from "#api/core/service-account.ts";
import { type ApiObject, type InputOf, type Resource } from "#api/resource.ts";
import { seededRandom } from "#lib/data/random.ts";
import { ResourceRegistry } from "#server/registry.ts";
import { createFakeInformers } from "#testing/fake-informers.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { type AdmissionDeps, builtInAdmission } from "./all.ts";
import { createAdmission } from "./chain.ts";
import { choosePlugins } from "./config/choose-plugins.ts";
import { type AdmissionRequest } from "./plugin.ts";

const jane = { name: "jane", groups: [] };
export const nodeA = { name: "system:node:a", groups: ["system:nodes"] };

/** The built-in plugins that run by default, in order, with caches that a test fills. */
export function setUp(part: Partial<Pick<AdmissionDeps, "client" | "authorizers" | "storeQuota">> = {}) {
  const informers = createFakeInformers();
  const clock = createVirtualClock();
  const rbac = { rulesFor: () => ({ rules: [], faults: [] }), rulesOfRole: () => [] };
  const storeQuota = async (quota: ResourceQuota): Promise<boolean> => {
    const { resourceVersion: _next, ...metadata } = quota.metadata;
    informers.put(ResourceQuota, { ...quota, metadata });
    return true;
  };
  const resources = new ResourceRegistry(allResources);
  const scaleOf = (_: Resource, object: ApiObject) => object;
  const deps = {
    informers,
    resources,
    views: { scaleOf, setScale: () => undefined },
    clock,
    random: seededRandom(1),
    rbac,
    authorizers: [],
    storeQuota,
    ...part,
  };
  const admission = createAdmission(choosePlugins(builtInAdmission(deps)));
  informers.put(Namespace, { metadata: { name: "shop" }, status: { phase: "Active" } });
  informers.put(Namespace, { metadata: { name: "kube-node-lease" }, status: { phase: "Active" } });
  informers.put(ServiceAccount, { metadata: { name: "default", namespace: "shop" } });
  informers.put(Node, { metadata: { name: "a", uid: "node-1" }, spec: {} });
  const admit = async (request: AdmissionRequest) => {
    if (request.operation !== "DELETE") await admission.mutate(request);
    await admission.validate(request);
    return request.object;
  };
  return { informers, clock, admit };
}

export const requestFor = <T extends ApiObject>(
  resource: Resource<T>,
  object: InputOf<T> | undefined,
  part: Partial<AdmissionRequest> = {},
): AdmissionRequest => ({
  operation: "CREATE",
  verb: "create",
  resource,
  subresource: "",
  namespace: resource.scope === "Namespaced" ? "shop" : "",
  name: object?.metadata?.name ?? "",
  object: object as ApiObject | undefined,
  oldObject: undefined,
  user: jane,
  dryRun: false,
  options: () => undefined,
  signal: new AbortController().signal,
  warn() {},
  ifNotWritten() {},
  annotate() {},
  ...part,
});
export const podWith = (spec: InputOf<Pod>["spec"] = {}, metadata: InputOf<Pod>["metadata"] = {}): InputOf<Pod> => ({
  metadata: { name: "web", namespace: "shop", ...metadata },
  spec: { containers: [{ name: "c" }], ...spec },
});
export const admitPod = async (pod: InputOf<Pod>, part: Partial<AdmissionRequest> = {}, { admit } = setUp()) => {
  await admit(requestFor(Pod, pod, part));
  assert(pod.spec);
  return pod.spec;
};
