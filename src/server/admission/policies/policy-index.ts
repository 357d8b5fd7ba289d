import { type MatchResources } from "#api/admissionregistration/match-resources.ts";
import { type ParamKind, type ParamRef } from "#api/admissionregistration/params.ts";
import { type Resource, type Stored } from "#api/resource.ts";
import { type Change, type Informers } from "#runtime/informer.ts";

/** What all types of policies have in common. */
export interface Policy extends Stored {
  spec: { paramKind?: ParamKind; matchConstraints?: MatchResources; failurePolicy: "Fail" | "Ignore" };
}
export interface Binding extends Stored {
  spec: { policyName?: string; paramRef?: ParamRef; matchResources?: MatchResources };
}

/** A policy that is in effect. While its generation stays the same, so does this policy object. */
export interface BoundPolicy<P extends Policy = Policy, B extends Binding = Binding> {
  readonly policy: P;
  readonly bindings: readonly B[];
}

export interface PolicyKinds<P extends Policy, B extends Binding> {
  readonly policies: Resource<P>;
  readonly bindings: Resource<B>;
}

/** Which policies of one type are in effect: those with a binding. */
export class PolicyIndex<P extends Policy, B extends Binding> {
  readonly #policies = new Map<string, P>();
  readonly #bindings = new Map<string, B>();
  #bound: readonly BoundPolicy<P, B>[] | undefined;

  constructor(informers: Informers, { policies, bindings }: PolicyKinds<P, B>) {
    informers.of(policies).subscribe((change) => this.#takePolicy(change));
    informers.of(bindings).subscribe((change) => this.#takeBinding(change));
  }

  /** Every write asks this. */
  get isEmpty(): boolean {
    return this.#bindings.size === 0 || this.#policies.size === 0;
  }

  /** In the order of their names, and so are the bindings of each. */
  bound(): readonly BoundPolicy<P, B>[] {
    this.#bound ??= this.#bind();
    return this.#bound;
  }

  #bind(): BoundPolicy<P, B>[] {
    const byPolicy = new Map<string, B[]>();
    for (const [, binding] of inOrder(this.#bindings)) {
      const { policyName = "" } = binding.spec;
      const known = byPolicy.get(policyName);
      if (known) known.push(binding);
      else byPolicy.set(policyName, [binding]);
    }
    return inOrder(this.#policies).flatMap(([name, policy]) => {
      const bindings = byPolicy.get(name);
      return bindings ? [{ policy, bindings }] : [];
    });
  }

  #takePolicy({ type, object }: Change<P>): void {
    const { name, uid, generation } = object.metadata;
    const known = this.#policies.get(name)?.metadata;
    if (type === "delete") this.#policies.delete(name);
    else if (known?.uid === uid && known?.generation === generation) return;
    else this.#policies.set(name, object);
    this.#bound = undefined;
  }

  #takeBinding({ type, object }: Change<B>): void {
    const { name } = object.metadata;
    if (type === "delete") this.#bindings.delete(name);
    else this.#bindings.set(name, object);
    this.#bound = undefined;
  }
}

const inOrder = <T>(map: ReadonlyMap<string, T>): [string, T][] =>
  [...map].toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
