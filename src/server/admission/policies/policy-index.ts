import { ValidatingAdmissionPolicy } from "#api/admissionregistration/validating-admission-policy.ts";
import { ValidatingAdmissionPolicyBinding } from "#api/admissionregistration/validating-admission-policy-binding.ts";
import { type Change, type Informers } from "#runtime/informer.ts";

/** A policy that is in effect. While its generation stays the same, so does this policy object. */
export interface BoundPolicy {
  readonly policy: ValidatingAdmissionPolicy;
  readonly bindings: readonly ValidatingAdmissionPolicyBinding[];
}

/** Which policies are in effect: those with a binding. */
export class PolicyIndex {
  readonly #policies = new Map<string, ValidatingAdmissionPolicy>();
  readonly #bindings = new Map<string, ValidatingAdmissionPolicyBinding>();
  #bound: readonly BoundPolicy[] | undefined;

  constructor(informers: Informers) {
    informers.of(ValidatingAdmissionPolicy).subscribe((change) => this.#takePolicy(change));
    informers.of(ValidatingAdmissionPolicyBinding).subscribe((change) => this.#takeBinding(change));
  }

  /** Every write asks this. */
  get isEmpty(): boolean {
    return this.#bindings.size === 0 || this.#policies.size === 0;
  }

  /** In the order of their names, and so are the bindings of each. */
  bound(): readonly BoundPolicy[] {
    this.#bound ??= this.#bind();
    return this.#bound;
  }

  #bind(): BoundPolicy[] {
    const byPolicy = new Map<string, ValidatingAdmissionPolicyBinding[]>();
    for (const [, binding] of inOrder(this.#bindings)) {
      const { policyName } = binding.spec;
      const known = byPolicy.get(policyName);
      if (known) known.push(binding);
      else byPolicy.set(policyName, [binding]);
    }
    return inOrder(this.#policies).flatMap(([name, policy]) => {
      const bindings = byPolicy.get(name);
      return bindings ? [{ policy, bindings }] : [];
    });
  }

  #takePolicy({ type, object }: Change<ValidatingAdmissionPolicy>): void {
    const { name, uid, generation } = object.metadata;
    const known = this.#policies.get(name)?.metadata;
    if (type === "delete") this.#policies.delete(name);
    else if (known?.uid === uid && known?.generation === generation) return;
    else this.#policies.set(name, object);
    this.#bound = undefined;
  }

  #takeBinding({ type, object }: Change<ValidatingAdmissionPolicyBinding>): void {
    const { name } = object.metadata;
    if (type === "delete") this.#bindings.delete(name);
    else this.#bindings.set(name, object);
    this.#bound = undefined;
  }
}

const inOrder = <T>(map: ReadonlyMap<string, T>): [string, T][] =>
  [...map].toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
