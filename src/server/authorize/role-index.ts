import { type UserInfo } from "#api/exchange.ts";
import { ClusterRole } from "#api/rbac/cluster-role.ts";
import { ClusterRoleBinding } from "#api/rbac/cluster-role-binding.ts";
import { type PolicyRule } from "#api/rbac/policy-rule.ts";
import { Role } from "#api/rbac/role.ts";
import { RoleBinding } from "#api/rbac/role-binding.ts";
import { type Binding, type Subject } from "#api/rbac/subject.ts";
import { type Informer, type Informers } from "#runtime/informer.ts";
import { serviceAccountName } from "../authenticate/service-account-claims.ts";

/** A rule and through whom it came to the user. */
export interface SourcedRule {
  readonly rule: PolicyRule;
  /** `ClusterRoleBinding "x" of ClusterRole "y" to Group "z"` */
  source(): string;
}

/** Finds the bindings of a user without looking at those of everybody else. */
export interface RoleIndex {
  rulesFor(user: UserInfo, namespace: string): { rules: SourcedRule[]; faults: string[] };
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
      const found: { rules: SourcedRule[]; faults: string[] } = { rules: [], faults: [] };
      for (const binding of bindingsOf(clusterBindings, user, "")) collect(found, rulesOfRole, { binding, user });
      if (namespace) {
        for (const binding of bindingsOf(bindings, user, namespace)) collect(found, rulesOfRole, { binding, user });
      }
      return found;
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

/** A service account counts as the user that its tokens stand for. */
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
    if (user !== undefined) keys.add(`${namespace} user ${user}`);
    if (subject.kind === "Group") keys.add(`${namespace} group ${subject.name}`);
  }
  return [...keys];
}

/** In order of their names, so that the same request is always explained by the same binding. */
function bindingsOf<B extends Binding>(bindings: Informer<B>, user: UserInfo, namespace: string): B[] {
  const found = new Set(bindings.by(bySubject, `${namespace} user ${user.name}`));
  for (const group of user.groups) {
    for (const binding of bindings.by(bySubject, `${namespace} group ${group}`)) found.add(binding);
  }
  return [...found].sort((a, b) => ((a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1));
}

function collect(
  found: { rules: SourcedRule[]; faults: string[] },
  rulesOfRole: RoleIndex["rulesOfRole"],
  { binding, user }: { binding: Binding; user: UserInfo },
): void {
  const { roleRef, metadata } = binding;
  const rules = rulesOfRole(roleRef, metadata.namespace ?? "");
  if (!rules) {
    found.faults.push(
      roleRef.kind === "Role" || roleRef.kind === "ClusterRole"
        ? `${roleRef.kind.toLowerCase()}.rbac.authorization.k8s.io ${JSON.stringify(roleRef.name)} not found`
        : `unsupported role reference kind: ${JSON.stringify(roleRef.kind)}`,
    );
    return;
  }
  const source = () => describe(binding, user);
  for (const rule of rules) found.rules.push({ rule, source });
}

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
