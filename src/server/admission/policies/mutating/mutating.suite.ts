import { MutatingAdmissionPolicy } from "#api/admissionregistration/mutating-admission-policy.ts";
import { MutatingAdmissionPolicyBinding } from "#api/admissionregistration/mutating-admission-policy-binding.ts";
import { allResources } from "#api/all.ts";
import { scaleOf } from "#api/autoscaling/scale-of.ts";
import { Namespace } from "#api/core/namespace.ts";
import { Pod } from "#api/core/pod.ts";
import { type ApiObject, type InputOf } from "#api/resource.ts";
import { type StatusError } from "#api/status.ts";
import { Metrics } from "#lib/process/metrics.ts";
import { decode } from "#schema/json/decode.ts";
import { ResourceRegistry } from "#server/registry.ts";
import { setScale } from "#server/subresources/scale.ts";
import { createFakeInformers } from "#testing/fake-informers.ts";
import { podWith, requestFor } from "../../admission.suite.ts";
import { createAdmission } from "../../chain.ts";
import { type AdmissionPlugin, type AdmissionRequest } from "../../plugin.ts";
import { mutatingPolicies } from "./mutating-policies.ts";

export type PolicySpec = NonNullable<InputOf<MutatingAdmissionPolicy>["spec"]>;
type BindingSpec = NonNullable<InputOf<MutatingAdmissionPolicyBinding>["spec"]>;

const rule = { operations: ["CREATE", "UPDATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"] } as const;
const pods = { resourceRules: [{ ...rule }] } as unknown as PolicySpec["matchConstraints"];

export const merge = (expression: string) =>
  ({ patchType: "ApplyConfiguration", applyConfiguration: { expression } }) as const;
export const patch = (expression: string) => ({ patchType: "JSONPatch", jsonPatch: { expression } }) as const;

/** The plugin with caches that a test fills, in a chain with the plugins that follow. */
export function setUpMutating(...others: readonly AdmissionPlugin[]) {
  const informers = createFakeInformers();
  const resources = new ResourceRegistry(allResources);
  const metrics = new Metrics();
  const deps = { informers, authorizers: [], resources, views: { scaleOf, setScale }, metrics };
  const plugin = mutatingPolicies(deps);
  const admission = createAdmission([plugin, ...others]);
  informers.put(Namespace, { metadata: { name: "shop", labels: { stage: "live" } }, status: { phase: "Active" } });
  let generation = 0;
  const put = (spec: Partial<PolicySpec>, name = "p") => {
    const metadata = { name, generation: ++generation };
    const whole = { metadata, spec: { matchConstraints: pods, reinvocationPolicy: "Never", ...spec } };
    informers.put(MutatingAdmissionPolicy, decode(MutatingAdmissionPolicy.schema, whole, { defaults: true }).value);
  };
  const bind = (spec: Partial<BindingSpec> = {}, name = "b") => {
    const whole = { metadata: { name }, spec: { policyName: "p", ...spec } };
    const { value } = decode(MutatingAdmissionPolicyBinding.schema, whole, { defaults: true });
    informers.put(MutatingAdmissionPolicyBinding, value);
  };
  /** What became of the object, and the refusal. */
  const ask = async (part: Partial<AdmissionRequest> = {}) => {
    const pod = podWith({}, { labels: { app: "web" }, annotations: { count: "1" } });
    const object = { apiVersion: "v1", kind: "Pod", ...pod };
    const request = requestFor(Pod, object, part);
    const error = await Promise.resolve(admission.mutate(request)).then(
      () => undefined,
      (thrown: StatusError) => thrown,
    );
    return { object: request.object as ApiObject & { spec?: object }, error, refusal: error?.message };
  };
  return { informers, metrics, plugin, put, bind, ask };
}

/** What a policy in effect makes of a pod. */
export async function mutated(mutations: NonNullable<PolicySpec["mutations"]>, spec: Partial<PolicySpec> = {}) {
  const { put, bind, ask } = setUpMutating();
  put({ mutations, ...spec });
  bind();
  return await ask();
}
