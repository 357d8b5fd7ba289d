import { StatusError } from "#api/status.ts";
import { Slice } from "#lib/async/turns.ts";
import { because } from "#server/refusal.ts";
import { RequestAccess } from "../../expressions/access.ts";
import { asSent } from "../../matching/sent-request.ts";
import { type AdmissionRequest } from "../../plugin.ts";
import { refusal } from "../../refuse.ts";
import { PolicyMatcher } from "../match-policy.ts";
import { type PolicyDeps } from "../policy-deps.ts";
import { countCheck } from "../policy-metrics.ts";
import { compiledPolicy } from "./compile-policy.ts";
import { evaluatePolicy } from "./evaluate-policy.ts";
import { type BoundValidatingPolicy } from "./validating-policies.ts";
import { Verdict } from "./verdict.ts";

/** Checks a request by all policies, and throws if one of them denies it. */
export async function checkPolicies(
  deps: PolicyDeps,
  policies: readonly BoundValidatingPolicy[],
  request: AdmissionRequest,
): Promise<void> {
  const sent = asSent(request, deps.views.scaleOf);
  const matcher = new PolicyMatcher(deps, sent);
  const access = new RequestAccess(deps.authorizers, request.user);
  const slice = new Slice();
  const verdict = new Verdict((check) => countCheck(deps.metrics, "validating", check));
  for (const bound of policies) {
    const { policy } = bound;
    const { name } = policy.metadata;
    const { failurePolicy } = policy.spec;
    for await (const match of matcher.matches(bound)) {
      if (match.fault !== undefined) {
        const about = { policy: name, binding: match.binding?.metadata.name };
        verdict.misconfigured({ ...about, isIgnored: failurePolicy === "Ignore" }, match.fault);
        continue;
      }
      const facts = { request: match.request, sent, namespace: matcher.namespace, params: match.params, access };
      const compiled = await compiledPolicy(policy);
      const counted = { name, metrics: deps.metrics };
      const result = await evaluatePolicy({ policy: compiled, failurePolicy, facts, slice, counted });
      verdict.take({ policy: name, binding: match.binding }, result);
    }
    verdict.endPolicy(name);
    request.signal.throwIfAborted();
  }
  verdict.publish(request);
  const { denied } = verdict;
  if (denied) throw denial(request, denied);
}

const reasons = ["Forbidden", "Invalid", "RequestEntityTooLarge", "Unauthorized"] as const;

/** The usual refusal, with the reason that the policy chose. */
function denial(request: AdmissionRequest, { message, reason, cause }: NonNullable<Verdict["denied"]>): StatusError {
  const { message: text, details } = refusal(request, message);
  const known = reasons.find((one) => one === reason) ?? "Invalid";
  return because(new StatusError(known, text, { ...details, causes: [{ message }] }), cause);
}
