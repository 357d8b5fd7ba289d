import { type UserInfo } from "#api/exchange.ts";
import { type PolicyRule } from "#api/rbac/policy-rule.ts";
import { type Informers } from "#runtime/informer.ts";
import { type RequestInfo } from "#server/request/pipeline.ts";
import { type Authorizer, type Decision, noOpinion } from "./authorizer.ts";
import { type AppliedRules, createRoleIndex, type RoleIndex, type SourcedRule } from "./role-index.ts";
import { nameMatches, ruleMatches } from "./rules.ts";

export interface RbacAuthorizer extends Omit<Authorizer, "rulesFor">, RuleResolver {
  /** The number of cached characters of requests and identities. */
  readonly rememberedChars: number;
}

/** Resolves all rules that apply to a user, for code that compares or lists them. */
export interface RuleResolver {
  /** In a namespace, or outside of all with "". `faults` are bindings to roles that do not exist. */
  rulesFor(user: UserInfo, namespace: string): { rules: readonly PolicyRule[]; faults: readonly string[] };
  /** undefined if the role does not exist. */
  rulesOfRole(ref: { kind: string; name: string }, namespace: string): readonly PolicyRule[] | undefined;
}

/**
 * Role-based access control. Allowed requests are cached until an RBAC object changes, so the usual request costs two
 * look-ups:
 *
 *     identity (object, else name and groups) -> rules for the whole cluster        -> verb, group, resource -> allowed
 *                                             -> rules of a namespace with bindings -> verb, group, resource -> allowed
 *
 * Only results of a rule are cached, and never under a namespace without bindings, so requests for things that do not
 * exist leave nothing behind.
 */
export function createRbac({ informers }: { readonly informers: Informers }): RbacAuthorizer {
  const index = createRoleIndex(informers);
  const memory = new Memory(index);
  index.onChange(() => memory.startOver());
  return {
    name: "rbac",
    get rememberedChars() {
      return memory.keptChars;
    },
    authorize: (user, info) => memory.of(user).decide(info),
    rulesFor(user, namespace) {
      const sets = memory.of(user).setsFor(namespace);
      return {
        rules: sets.flatMap(({ applied }) => applied.rules.map(({ rule }) => rule)),
        faults: sets.flatMap(({ applied }) => applied.faults),
      };
    },
    rulesOfRole: (ref, namespace) => index.rulesOfRole(ref, namespace),
  };
}

/** Longer texts are neither cached nor looked up; names of users, groups, resources and verbs are far shorter. */
const maxTextChars = 1024;
/** The cache is cleared when it holds this much. */
const maxKeptChars = 4 * 1024 * 1024;
/** The cost of an entry besides its text. */
const entryChars = 100;

class Memory {
  readonly #index: RoleIndex;
  /** One connection's user is always the same object, so no key needs to be built. */
  #byObject = new WeakMap<UserInfo, UserMemory>();
  #byIdentity = new Map<string, UserMemory>();
  #keptChars = 0;
  #isEmpty = true;

  constructor(index: RoleIndex) {
    this.#index = index;
  }
  get keptChars(): number {
    return this.#keptChars;
  }
  of(user: UserInfo): UserMemory {
    const known = this.#byObject.get(user);
    if (known) return known;
    this.#isEmpty = false;
    const { name, groups } = user;
    const identity = JSON.stringify([name, groups]);
    let memory = identity.length > maxTextChars ? undefined : this.#byIdentity.get(identity);
    if (!memory) {
      // Only what decides: a review may name a user with any amount of other data.
      memory = new UserMemory(this.#index, { name, groups }, this);
      if (this.keep(identity.length)) this.#byIdentity.set(identity, memory);
    }
    this.#byObject.set(user, memory);
    return memory;
  }
  /** Whether an entry of this length may be added; if so, it is counted. */
  keep(chars: number): boolean {
    if (chars > maxTextChars) return false;
    if (this.#keptChars + chars + entryChars > maxKeptChars) this.startOver();
    this.#keptChars += chars + entryChars;
    return true;
  }
  startOver(): void {
    if (this.#isEmpty) return;
    this.#byObject = new WeakMap();
    this.#byIdentity = new Map();
    this.#keptChars = 0;
    this.#isEmpty = true;
  }
}

/** Everything cached about one user since the last change. */
class UserMemory {
  readonly #index: RoleIndex;
  readonly #user: UserInfo;
  readonly #memory: Memory;
  readonly #cluster: RuleSet;
  readonly #namespaces = new Map<string, RuleSet>();

  constructor(index: RoleIndex, user: UserInfo, memory: Memory) {
    this.#index = index;
    this.#user = user;
    this.#memory = memory;
    this.#cluster = new RuleSet(index.rulesFor(user, ""), memory);
  }

  /** Rules for all objects come before rules for named ones, because their result holds for every name. */
  decide(info: RequestInfo): Decision {
    const everywhere = this.#cluster.find(info);
    if (everywhere && "verdict" in everywhere) return everywhere;
    const set = info.isResource && info.namespace ? this.#rulesIn(info.namespace) : undefined;
    const here = set?.find(info);
    if (here && "verdict" in here) return here;
    const named = [...(everywhere ?? []), ...(here ?? [])].find(({ rule }) => nameMatches(rule, info.name));
    return named ? allowedBy(named) : refusal([...this.#cluster.applied.faults, ...(set?.applied.faults ?? [])]);
  }

  /** The cluster-wide rules, and those of the namespace if it has any for this user. */
  setsFor(namespace: string): readonly RuleSet[] {
    const here = namespace ? this.#rulesIn(namespace) : undefined;
    return here ? [this.#cluster, here] : [this.#cluster];
  }

  #rulesIn(namespace: string): RuleSet | undefined {
    if (namespace.length > maxTextChars) return undefined;
    // A separate string: a substring of a request's path would keep the whole path in memory.
    const key = `in ${namespace}`;
    const known = this.#namespaces.get(key);
    if (known) return known;
    const applied = this.#index.rulesFor(this.#user, namespace);
    if (applied.rules.length + applied.faults.length === 0) return undefined;
    const set = new RuleSet(applied, this.#memory);
    if (this.#memory.keep(key.length)) this.#namespaces.set(key, set);
    return set;
  }
}

/** A decision, or the rules that allow some objects by their names. */
type Found = Decision | readonly SourcedRule[];

/** The rules of a user in one place, and the cached decisions. */
class RuleSet {
  readonly applied: AppliedRules;
  readonly #memory: Memory;
  readonly #found = new Map<string, Found>();

  constructor(applied: AppliedRules, memory: Memory) {
    this.applied = applied;
    this.#memory = memory;
  }

  /** undefined if no rule applies. */
  find(info: RequestInfo): Found | undefined {
    const key = keyOf(info);
    const known = key.length > maxTextChars ? undefined : this.#found.get(key);
    if (known) return known;
    const found = this.#search(info);
    if (found && this.#memory.keep(key.length + reasonChars(found))) this.#found.set(key, found);
    return found;
  }
  #search(info: RequestInfo): Found | undefined {
    const named: SourcedRule[] = [];
    for (const sourced of this.applied.rules) {
      if (!ruleMatches(sourced.rule, info)) continue;
      if (!sourced.rule.resourceNames?.length) return allowedBy(sourced);
      named.push(sourced);
    }
    return named.length > 0 ? named : undefined;
  }
}

/** No two requests share a key: the lengths say where each part ends, and paths differ from resources. */
const keyOf = ({ isResource, verb, group, resource, subresource, path }: RequestInfo): string =>
  isResource
    ? `${verb.length},${group.length},${resource.length} ${verb}${group}${resource}${subresource}`
    : `${verb.length} ${verb}${path}`;

const reasonChars = (found: Found): number => ("verdict" in found ? found.reason.length : found.length);

const allowedBy = ({ source }: SourcedRule): Decision => ({ verdict: "allow", reason: `RBAC: allowed by ${source()}` });

function refusal(faults: readonly string[]): Decision {
  if (faults.length === 0) return noOpinion;
  const different = [...new Set(faults)];
  const text = different.length === 1 ? (different[0] ?? "") : `[${different.join(", ")}]`;
  return { verdict: "no opinion", reason: `RBAC: ${text}` };
}
