import { type UserInfo } from "#api/exchange.ts";
import { type PolicyRule } from "#api/rbac/policy-rule.ts";
import { type Informers } from "#runtime/informer.ts";
import { type RequestInfo } from "../pipeline.ts";
import { type Authorizer, type Decision, noOpinion } from "./authorizer.ts";
import { createRoleIndex, type RoleIndex, type SourcedRule } from "./role-index.ts";
import { nameMatches, ruleMatches } from "./rules.ts";

export interface RbacAuthorizer extends Authorizer, RuleResolver {}

/** Knows all rules that apply to a user, for those who must compare or list them. */
export interface RuleResolver {
  /** In a namespace, or outside of all with "". `faults` are bindings to roles that do not exist. */
  rulesFor(user: UserInfo, namespace: string): { rules: readonly PolicyRule[]; faults: readonly string[] };
  /** undefined: there is no such role. */
  rulesOfRole(ref: { kind: string; name: string }, namespace: string): readonly PolicyRule[] | undefined;
}

/**
 * Role-based access control. Every decision is remembered until an RBAC object changes, so that the usual request costs
 * two look-ups:
 *
 *     identity (object, else name and groups) -> "verb group/resource/subresource namespace" -> decision
 */
export function createRbac({ informers }: { readonly informers: Informers }): RbacAuthorizer {
  const index = createRoleIndex(informers);
  let memory = new Memory(index);
  index.onChange(() => {
    if (!memory.isEmpty) memory = new Memory(index);
  });
  return {
    name: "rbac",
    authorize: (user, info) => memory.of(user).decide(info),
    rulesFor(user, namespace) {
      const { rules, faults } = memory.of(user).rulesIn(namespace);
      return { rules: rules.map(({ rule }) => rule), faults };
    },
    rulesOfRole: (ref, namespace) => index.rulesOfRole(ref, namespace),
  };
}

/** How many identities, and how many decisions for each, before a memory starts over. */
const maxIdentities = 10_000;
const maxDecisions = 20_000;

class Memory {
  readonly #index: RoleIndex;
  /** The same person over one connection is the same object: no key needs to be built. */
  readonly #byObject = new WeakMap<UserInfo, UserMemory>();
  readonly #byIdentity = new Map<string, UserMemory>();
  isEmpty = true;

  constructor(index: RoleIndex) {
    this.#index = index;
  }
  of(user: UserInfo): UserMemory {
    const known = this.#byObject.get(user);
    if (known) return known;
    this.isEmpty = false;
    const identity = JSON.stringify([user.name, user.groups]);
    let memory = this.#byIdentity.get(identity);
    if (!memory) {
      if (this.#byIdentity.size >= maxIdentities) this.#byIdentity.clear();
      memory = new UserMemory(this.#index, user);
      this.#byIdentity.set(identity, memory);
    }
    this.#byObject.set(user, memory);
    return memory;
  }
}

interface ApplyingRules {
  readonly rules: readonly SourcedRule[];
  readonly faults: readonly string[];
}

/** Everything found out about one user since the last change. */
class UserMemory {
  readonly #index: RoleIndex;
  readonly #user: UserInfo;
  readonly #rules = new Map<string, ApplyingRules>();
  readonly #decisions = new Map<string, Decision | NamedDecision>();

  constructor(index: RoleIndex, user: UserInfo) {
    this.#index = index;
    this.#user = user;
  }
  decide(info: RequestInfo): Decision {
    const key = info.isResource
      ? `${info.verb} ${info.group}/${info.resource}/${info.subresource} ${info.namespace}`
      : `${info.verb} ${info.path}`;
    let decision = this.#decisions.get(key);
    if (!decision) {
      decision = this.#work(info);
      if (this.#decisions.size >= maxDecisions) this.#decisions.clear();
      this.#decisions.set(key, decision);
    }
    return "verdict" in decision ? decision : decision.of(info.name);
  }
  rulesIn(namespace: string): ApplyingRules {
    let found = this.#rules.get(namespace);
    if (!found) {
      found = this.#index.rulesFor(this.#user, namespace);
      this.#rules.set(namespace, found);
    }
    return found;
  }

  /** Rules for all objects go before rules for named ones: their answer does for every name. */
  #work(info: RequestInfo): Decision | NamedDecision {
    const { rules, faults } = this.rulesIn(info.isResource ? info.namespace : "");
    const named: SourcedRule[] = [];
    for (const sourced of rules) {
      if (!ruleMatches(sourced.rule, info)) continue;
      if (!sourced.rule.resourceNames?.length) return allowedBy(sourced);
      named.push(sourced);
    }
    const refusal: Decision =
      faults.length === 0 ? noOpinion : { verdict: "no opinion", reason: `RBAC: ${aggregated(faults)}` };
    return named.length === 0 ? refusal : new NamedDecision(named, refusal);
  }
}

/** Depends on which object is meant. */
class NamedDecision {
  readonly #rules: readonly SourcedRule[];
  readonly #otherwise: Decision;

  constructor(rules: readonly SourcedRule[], otherwise: Decision) {
    this.#rules = rules;
    this.#otherwise = otherwise;
  }
  of(name: string): Decision {
    const found = this.#rules.find(({ rule }) => nameMatches(rule, name));
    return found ? allowedBy(found) : this.#otherwise;
  }
}

const allowedBy = ({ source }: SourcedRule): Decision => ({ verdict: "allow", reason: `RBAC: allowed by ${source()}` });

const aggregated = (faults: readonly string[]): string => {
  const different = [...new Set(faults)];
  return different.length === 1 ? (different[0] ?? "") : `[${different.join(", ")}]`;
};
