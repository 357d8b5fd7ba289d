import { ValidatingAdmissionPolicy } from "#api/admissionregistration/validating-admission-policy.ts";
import { ValidatingAdmissionPolicyBinding } from "#api/admissionregistration/validating-admission-policy-binding.ts";
import { allResources } from "#api/all.ts";
import { scaleOf } from "#api/autoscaling/scale-of.ts";
import { Namespace } from "#api/core/namespace.ts";
import { Pod } from "#api/core/pod.ts";
import { type InputOf } from "#api/resource.ts";
import { type StatusError } from "#api/status.ts";
import { Metrics } from "#lib/process/metrics.ts";
import { decode } from "#schema/json/decode.ts";
import { type Authorizer } from "#server/authorize/authorizer.ts";
import { ResourceRegistry } from "#server/registry.ts";
import { setScale } from "#server/subresources/scale.ts";
import { createFakeInformers } from "#testing/fake-informers.ts";
import { podWith, requestFor } from "../../admission.suite.ts";
import { type AdmissionRequest } from "../../plugin.ts";
import { validatingPolicies } from "./validating-policies.ts";

export type PolicySpec = NonNullable<InputOf<ValidatingAdmissionPolicy>["spec"]>;
type BindingSpec = NonNullable<InputOf<ValidatingAdmissionPolicyBinding>["spec"]>;

export const rule = { operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"] } as const;
export const pods = { resourceRules: [{ ...rule }] } as unknown as PolicySpec["matchConstraints"];

/** The plugin with caches that a test fills. */
export function setUpPolicies(authorizers: readonly Authorizer[] = []) {
  const informers = createFakeInformers();
  const resources = new ResourceRegistry(allResources);
  const metrics = new Metrics();
  const plugin = validatingPolicies({ informers, authorizers, resources, views: { scaleOf, setScale }, metrics });
  informers.put(Namespace, { metadata: { name: "shop", labels: { stage: "live" } }, status: { phase: "Active" } });
  let generation = 0;
  const put = (spec: Partial<PolicySpec>, name = "p") => {
    const metadata = { name, generation: ++generation };
    const whole = { metadata, spec: { matchConstraints: pods, ...spec } };
    informers.put(ValidatingAdmissionPolicy, decode(ValidatingAdmissionPolicy.schema, whole, { defaults: true }).value);
  };
  const bind = (spec: Partial<BindingSpec> = {}, name = "b") => {
    const whole = { metadata: { name }, spec: { policyName: "p", validationActions: ["Deny"], ...spec } };
    const { value } = decode(ValidatingAdmissionPolicyBinding.schema, whole, { defaults: true });
    informers.put(ValidatingAdmissionPolicyBinding, value);
  };
  /** What the plugin said: the refusal, the warnings and the annotations. */
  const ask = async (part: Partial<AdmissionRequest> = {}) => {
    const warnings: string[] = [];
    const annotations: Record<string, string> = {};
    const request = requestFor(Pod, podWith({}, { labels: { app: "web" } }), {
      warn: (text) => void warnings.push(text),
      annotate(key, value) {
        annotations[key] = value;
      },
      ...part,
    });
    const answer = plugin.appliesTo(request) ? plugin.validate?.(request) : undefined;
    const applies = answer !== undefined;
    const error = await Promise.resolve(answer).then(
      () => undefined,
      (thrown: StatusError) => thrown,
    );
    return { applies, error, refusal: error?.message, warnings, annotations };
  };
  return { informers, metrics, put, bind, ask };
}

/** What a policy in effect refuses a pod with; undefined if it lets it pass. */
export async function refusalOf(spec: Partial<PolicySpec>, part: Partial<AdmissionRequest> = {}) {
  const { put, bind, ask } = setUpPolicies();
  put(spec);
  bind();
  const { refusal } = await ask(part);
  return refusal?.replace(
    /^pods "web" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: /,
    "",
  );
}
