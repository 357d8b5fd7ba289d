import { type ValidatingAdmissionPolicyBinding } from "#api/admissionregistration/validating-admission-policy-binding.ts";
import { type RefusalCause } from "#server/refusal.ts";
import { type AdmissionRequest } from "../../plugin.ts";
import { type PolicyCheck } from "../policy-metrics.ts";
import { type Failure, type PolicyResult } from "./evaluate-policy.ts";

interface Denied {
  readonly message: string;
  readonly reason: string | undefined;
  readonly cause: RefusalCause;
}
interface About {
  readonly policy: string;
  readonly binding?: string | undefined;
}

const failureKey = "validation.policy.admission.k8s.io/validation_failure";
/** More would fill the audit log. */
const maxAudited = 50;
const maxAnnotationBytes = 10 * 1024;

const counted = { Deny: "deny", Warn: "warn", Audit: "audit" } as const;

/** What follows for a request from what all policies say about it. */
export class Verdict {
  readonly #count: (check: PolicyCheck) => void;
  /** The first reason to refuse the request. */
  denied: Denied | undefined;
  readonly #warnings: string[] = [];
  readonly #audited: object[] = [];
  readonly #annotations = new Map<string, string>();
  /** Of the current policy, by key: bindings may give different values. */
  #values = new Map<string, Set<string>>();

  constructor(count: (check: PolicyCheck) => void = () => {}) {
    this.#count = count;
  }

  take(about: { readonly policy: string; readonly binding: ValidatingAdmissionPolicyBinding }, result: PolicyResult) {
    const { policy, binding } = about;
    for (const failure of result.failures) this.#act(policy, binding, failure);
    const { name } = binding.metadata;
    for (const { error, seconds } of result.ignored) {
      this.#count({ policy, binding: name, error, seconds, action: "allow" });
    }
    for (const { key, value } of result.annotations) {
      const values = this.#values.get(key) ?? new Set<string>();
      this.#values.set(key, values.add(cut(value)));
    }
    for (const message of result.faults) {
      this.#deny({ policy, binding: name }, { message });
      this.#count({ policy, binding: name, error: message, seconds: 0, action: "deny" });
    }
  }

  /** The policy or one of its bindings cannot be used. */
  misconfigured({ isIgnored, ...about }: About & { readonly isIgnored: boolean }, why: string): void {
    if (isIgnored) return;
    this.#deny(about, { message: `failed to configure ${about.binding === undefined ? "policy" : "binding"}: ${why}` });
  }

  endPolicy(policy: string): void {
    for (const [key, values] of this.#values) this.#annotations.set(`${policy}/${key}`, [...values].join(", "));
    this.#values = new Map();
  }

  publish(request: AdmissionRequest): void {
    for (const warning of this.#warnings) request.warn(warning);
    for (const [key, value] of this.#annotations) request.annotate(key, value);
    if (this.#audited.length > 0) request.annotate(failureKey, JSON.stringify(this.#audited));
  }

  #act(policy: string, binding: ValidatingAdmissionPolicyBinding, failure: Failure): void {
    const { name } = binding.metadata;
    const { validationActions, policyName } = binding.spec;
    const { message, index, error, seconds = 0 } = failure;
    for (const action of validationActions) {
      this.#count({ policy, binding: name, error, seconds, action: counted[action] });
      if (action === "Deny") this.#deny({ policy, binding: name }, failure);
      else if (action === "Warn") {
        this.#warnings.push(
          `Validation failed for ValidatingAdmissionPolicy '${policy}' with binding '${name}': ${message}`,
        );
      } else if (this.#audited.length < maxAudited) {
        this.#audited.push({ message, policy: policyName, binding: name, expressionIndex: index, validationActions });
      }
    }
  }

  #deny({ policy, binding }: About, failure: Omit<Failure, "index">): void {
    if (this.denied) return;
    const { message, reason, expression, values } = failure;
    const by = binding === undefined ? "" : ` with binding '${binding}'`;
    const cause = { by: `ValidatingAdmissionPolicy ${policy}`, binding, expression, values };
    this.denied = { message: `ValidatingAdmissionPolicy '${policy}'${by} denied request: ${message}`, reason, cause };
  }
}

/** At most as many bytes as an annotation may have. */
function cut(text: string): string {
  const bytes = Buffer.from(text);
  return bytes.length <= maxAnnotationBytes ? text : bytes.subarray(0, maxAnnotationBytes).toString();
}
