import { type UserInfo } from "#api/exchange.ts";
import { ClusterRole } from "#api/rbac/cluster-role.ts";
import { ClusterRoleBinding } from "#api/rbac/cluster-role-binding.ts";
import { type PolicyRule } from "#api/rbac/policy-rule.ts";
import { Role } from "#api/rbac/role.ts";
import { RoleBinding } from "#api/rbac/role-binding.ts";
import { type Binding, type Subject } from "#api/rbac/subject.ts";
import { Heap } from "#lib/data/heap.ts";
import { maxKeyChars } from "#lib/text/long-text.ts";
import { type Informer, type Informers } from "#runtime/informer.ts";
import { serviceAccountName } from "#server/authenticate/service-account-claims.ts";

/** A rule and the binding by which the user has it. */
export interface SourcedRule {
  readonly rule: PolicyRule;
  /** `ClusterRoleBinding "x" of ClusterRole "y" to Group "z"` */
  source(): string;
}

/** The rules of a user in one place, and the faults of their bindings. */
export interface AppliedRules {
  readonly rules: readonly SourcedRule[];
  readonly faults: readonly string[];
}

/** Finds the bindings of a user without scanning those of everybody else. */
export interface RoleIndex {
  /** From the bindings of one namespace, or from the cluster-wide ones with "". */
  rulesFor(user: UserInfo, namespace: string): AppliedRules;
  rulesOfRole(ref: { kind: string; name: string }, namespace: string): readonly PolicyRule[] | undefined;
  /** Called after every change of a role or binding. */
  onChange(handler: () => void): void;
}

export function createRoleIndex(informers: Informers): RoleIndex {
  const roles = informers.of(Role);
  const clusterRoles = informers.of(ClusterRole);
  const bindings = informers.of(RoleBinding);
  const clusterBindings = informers.of(ClusterRoleBinding);
  bindings.addIndex(bySubject, subjectKeys);
  clusterBindings.addIndex(bySubject, subjectKeys);

  const rulesOfRole: RoleIndex["rulesOfRole"] = ({ kind, name }, namespace) =>
    (kind === "Role" ? roles.get({ namespace, name }) : clusterRoles.get({ name }))?.rules ?? undefined;

  return {
    rulesOfRole,
    rulesFor(user, namespace) {
      const found = namespace ? bindingsOf(bindings, user, namespace) : bindingsOf(clusterBindings, user, "");
      const collected = new CollectedRules(rulesOfRole);
      for (const binding of found.first) collected.add(binding, user);
      if (found.isCut) collected.faults.push(`more than ${maxBindings} bindings apply`);
      return collected;
    },
    onChange(handler) {
      roles.subscribe(handler);
      clusterRoles.subscribe(handler);
      bindings.subscribe(handler);
      clusterBindings.subscribe(handler);
    },
  };
}

const bySubject = "rbacSubject";

/** A service account counts as the user of its tokens. */
function userNameOf({ kind, name, namespace }: Subject, bindingNamespace: string): string | undefined {
  if (kind === "User") return name;
  const home = namespace || bindingNamespace;
  return kind === "ServiceAccount" && home ? serviceAccountName(home, name) : undefined;
}

function subjectKeys({ metadata, subjects = [] }: Binding): string[] {
  const { namespace = "" } = metadata;
  const keys = new Set<string>();
  for (const subject of subjects) {
    const user = userNameOf(subject, namespace);
    if (user !== undefined) keys.add(subjectKey(namespace, "user", user));
    if (subject.kind === "Group") keys.add(subjectKey(namespace, "group", subject.name));
  }
  return [...keys].filter((key) => key.length <= maxKeyChars);
}

/** No two subjects share a key: the namespace of a request and the name of a user can be any text. */
const subjectKey = (namespace: string, kind: "user" | "group", name: string): string =>
  `${namespace.length} ${namespace}${kind}${name}`;

/** Nobody needs more bindings or rules in one place; more would make each of their requests slow for everybody. */
const maxBindings = 2000;
const maxRuleValues = 50_000;

/**
 * Sorted by name, so that the same request is always explained by the same binding. If there are too many, the first in
 * that order count, however they came about.
 */
function bindingsOf<B extends Binding>(
  bindings: Informer<B>,
  user: UserInfo,
  namespace: string,
): { first: B[]; isCut: boolean } {
  const keys = [subjectKey(namespace, "user", user.name)];
  for (const group of user.groups) keys.push(subjectKey(namespace, "group", group));
  const found = new Set<B>();
  for (const key of keys) {
    if (key.length <= maxKeyChars) for (const binding of bindings.by(bySubject, key)) found.add(binding);
  }
  return { first: firstByName(found, maxBindings), isCut: found.size > maxBindings };
}

/** Does not sort the rest, which may be very many. */
function firstByName<B extends Binding>(bindings: Iterable<B>, limit: number): B[] {
  const lastFirst = new Heap<B>((a, b) => nameOf(a) > nameOf(b));
  for (const binding of bindings) {
    const last = lastFirst.size < limit ? undefined : lastFirst.peek();
    if (last && nameOf(binding) >= nameOf(last)) continue;
    if (last) lastFirst.pop();
    lastFirst.push(binding);
  }
  const first: B[] = [];
  for (let next = lastFirst.pop(); next; next = lastFirst.pop()) first.push(next);
  return first.reverse();
}

const nameOf = ({ metadata }: Binding): string => metadata.name ?? "";

/** Collects the rules of one binding after the other, up to a limit; a role that is bound twice counts once. */
class CollectedRules implements AppliedRules {
  readonly rules: SourcedRule[] = [];
  readonly faults: string[] = [];
  readonly #rulesOfRole: RoleIndex["rulesOfRole"];
  readonly #roles = new Set<readonly PolicyRule[]>();
  #values = 0;

  constructor(rulesOfRole: RoleIndex["rulesOfRole"]) {
    this.#rulesOfRole = rulesOfRole;
  }
  add(binding: Binding, user: UserInfo): void {
    const { roleRef, metadata } = binding;
    const rules = this.#rulesOfRole(roleRef, metadata.namespace ?? "");
    if (!rules) return void this.faults.push(missingRole(roleRef));
    if (this.#roles.has(rules) || this.#values > maxRuleValues) return;
    this.#roles.add(rules);
    const source = () => describe(binding, user);
    for (const rule of rules) {
      this.#values += valuesIn(rule);
      if (this.#values > maxRuleValues) return void this.faults.push(`more than ${maxRuleValues} rules apply`);
      this.rules.push({ rule, source });
    }
  }
}

const valuesIn = ({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }: PolicyRule): number => {
  const others = [apiGroups, resources, resourceNames, nonResourceURLs];
  return others.reduce((sum, list) => sum + (list?.length ?? 0), 1 + verbs.length);
};

const missingRole = ({ kind, name }: Binding["roleRef"]): string =>
  kind === "Role" || kind === "ClusterRole"
    ? `${kind.toLowerCase()}.rbac.authorization.k8s.io ${JSON.stringify(name)} not found`
    : `unsupported role reference kind: ${JSON.stringify(kind)}`;

function describe({ kind, metadata, roleRef, subjects = [] }: Binding, user: UserInfo): string {
  const { name = "", namespace = "" } = metadata;
  const subject = subjects.find((one) =>
    one.kind === "Group" ? user.groups.includes(one.name) : userNameOf(one, namespace) === user.name,
  );
  const title = kind ?? (namespace ? "RoleBinding" : "ClusterRoleBinding");
  const binding = JSON.stringify(namespace ? `${name}/${namespace}` : name);
  return `${title} ${binding} of ${roleRef.kind} ${JSON.stringify(roleRef.name)} to ${describeSubject(subject, namespace)}`;
}

function describeSubject(subject: Subject | undefined, bindingNamespace: string): string {
  if (!subject) return "nobody";
  const { kind, name, namespace } = subject;
  return `${kind} ${JSON.stringify(kind === "ServiceAccount" ? `${name}/${namespace || bindingNamespace}` : name)}`;
}
