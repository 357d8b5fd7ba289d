import { type MatchResources } from "#api/admissionregistration/match-resources.ts";
import { type ValidatingAdmissionPolicyBinding } from "#api/admissionregistration/validating-admission-policy-binding.ts";
import { Namespace } from "#api/core/namespace.ts";
import { type ApiObject, type Resource } from "#api/resource.ts";
import { isNotFound, StatusError } from "#api/status.ts";
import { Slice } from "#lib/async/turns.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { RequestAccess } from "../expressions/access.ts";
import { type Criteria, type MatchSources, matchRequest } from "../matching/criteria.ts";
import { asSent, inVersionOf, type SentRequest } from "../matching/sent-request.ts";
import { type AdmissionRequest } from "../plugin.ts";
import { refusal } from "../refuse.ts";
import { compiledPolicy } from "./compile-policy.ts";
import { evaluatePolicy, type PolicyResult } from "./evaluate-policy.ts";
import { ConfigurationError, paramResource, paramsOf } from "./params.ts";
import { type BoundPolicy } from "./policy-index.ts";
import { type PolicyDeps } from "./validating-policies.ts";
import { Verdict } from "./verdict.ts";

/** Checks a request by all policies, and throws if one of them denies it. */
export async function checkPolicies(
  deps: PolicyDeps,
  policies: readonly BoundPolicy[],
  request: AdmissionRequest,
): Promise<void> {
  const check = new Check(deps, request);
  for (const bound of policies) {
    await check.policy(bound);
    request.signal.throwIfAborted();
  }
  check.verdict.publish(request);
  const { denied } = check.verdict;
  if (denied) throw denial(request, denied);
}

const reasons = ["Forbidden", "Invalid", "RequestEntityTooLarge", "Unauthorized"] as const;

/** The usual refusal, with the reason that the policy chose. */
function denial(request: AdmissionRequest, { message, reason }: NonNullable<Verdict["denied"]>): StatusError {
  const { message: text, details } = refusal(request, message);
  const known = reasons.find((one) => one === reason) ?? "Invalid";
  return new StatusError(known, text, { ...details, causes: [{ message }] });
}

/** One request on its way through all policies. */
class Check {
  readonly verdict = new Verdict();
  readonly #deps: PolicyDeps;
  readonly #sent: SentRequest;
  readonly #sources: MatchSources;
  readonly #access: RequestAccess;
  readonly #slice = new Slice();

  constructor(deps: PolicyDeps, request: AdmissionRequest) {
    this.#deps = deps;
    this.#sent = asSent(request, deps.scaleOf);
    this.#access = new RequestAccess(deps.authorizers, request.user);
    this.#sources = {
      namespaces: { namespaces: deps.informers.of(Namespace) },
      equivalents: (resource) => deps.resources.equivalents(resource),
    };
  }

  async policy(bound: BoundPolicy): Promise<void> {
    const { policy, bindings } = bound;
    const about = { policy: policy.metadata.name };
    try {
      const resource = await this.#match(policy.spec.matchConstraints);
      if (!resource) return;
      const params = paramResource(this.#deps.resources, policy.spec.paramKind);
      const request = await this.#convert(resource);
      for (const binding of bindings) await this.#binding({ bound, binding, request, params });
    } catch (error) {
      this.verdict.misconfigured({ ...about, isIgnored: isIgnored(bound) }, configurationFault(error));
    }
    this.verdict.endPolicy(about.policy);
  }

  async #binding(at: BindingCheck): Promise<void> {
    const { bound, binding, params: resource } = at;
    const policy = bound.policy.metadata.name;
    try {
      if (!(await this.#match(binding.spec.matchResources))) return;
      const { paramRef } = binding.spec;
      for (const params of await paramsOf(this.#deps, { resource, paramRef }, this.#sent)) {
        this.verdict.take({ policy, binding }, await this.#evaluate(at, params));
        this.#sent.signal.throwIfAborted();
      }
    } catch (error) {
      const about = { policy, binding: binding.metadata.name, isIgnored: isIgnored(bound) };
      this.verdict.misconfigured(about, configurationFault(error));
    }
  }

  async #evaluate({ bound, request }: BindingCheck, params: ApiObject | undefined): Promise<PolicyResult> {
    const { policy } = bound;
    const { resource, namespace: name } = this.#sent;
    const namespace = resource.isNamespace ? undefined : this.#sources.namespaces.namespaces.get({ name });
    const facts = { request, sent: this.#sent, namespace, params, access: this.#access };
    const failurePolicy = isIgnored(bound) ? "Ignore" : "Fail";
    return await evaluatePolicy({ policy: await compiledPolicy(policy), failurePolicy, facts, slice: this.#slice });
  }

  #match(constraints: MatchResources | undefined) {
    return constraints ? matchRequest(criteriaOf(constraints), this.#sent, this.#sources) : this.#sent.resource;
  }

  async #convert(resource: Resource): Promise<SentRequest> {
    try {
      return await inVersionOf(this.#deps.resources, this.#sent, resource);
    } catch (error) {
      throw new ConfigurationError(`failed to convert object version: ${messageOf(error)}`, { cause: error });
    }
  }
}

interface BindingCheck {
  readonly bound: BoundPolicy;
  readonly binding: ValidatingAdmissionPolicyBinding;
  /** In the version that the policy is about. */
  readonly request: SentRequest;
  readonly params: Resource | undefined;
}

const isIgnored = ({ policy }: BoundPolicy): boolean => policy.spec.failurePolicy === "Ignore";

/** What the failure policy decides about. Everything else that is thrown is a fault of ours. */
function configurationFault(error: unknown): string {
  if (error instanceof ConfigurationError || isNotFound(error)) return error.message;
  throw error;
}

const criteriaOf = (constraints: MatchResources): Criteria => ({
  rules: constraints.resourceRules ?? [],
  excluded: constraints.excludeResourceRules ?? [],
  matchPolicy: constraints.matchPolicy,
  namespaceSelector: constraints.namespaceSelector,
  objectSelector: constraints.objectSelector,
});
