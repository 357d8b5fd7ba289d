import { type UserInfo } from "#api/exchange.ts";
import { ClusterRole } from "#api/rbac/cluster-role.ts";
import { ClusterRoleBinding } from "#api/rbac/cluster-role-binding.ts";
import { type PolicyRule } from "#api/rbac/policy-rule.ts";
import { Role } from "#api/rbac/role.ts";
import { RoleBinding } from "#api/rbac/role-binding.ts";
import { type RoleRef, rbacGroup } from "#api/rbac/subject.ts";
import { type ApiObject } from "#api/resource.ts";
import { forbidden, notFound } from "#api/status.ts";
import { equal } from "#lib/data/equal.ts";
import { quotedList } from "#lib/text/quoted-list.ts";
import { type Authorizer } from "#server/authorize/authorizer.ts";
import { decide } from "#server/authorize/chain.ts";
import { privilegedGroup } from "#server/authorize/privileged.ts";
import { type RuleResolver } from "#server/authorize/rbac.ts";
import { describeMissing, uncoveredRules } from "#server/authorize/rule-coverage.ts";
import { type RequestInfo } from "#server/request/pipeline.ts";
import { blankRequestInfo } from "#server/request/request-info.ts";
import { objectOf, oldObjectOf } from "./object-of.ts";
import { type AdmissionPlugin, type AdmissionRequest } from "./plugin.ts";

export interface EscalationDeps {
  readonly rbac: RuleResolver;
  readonly authorizers: readonly Authorizer[];
}

const guarded = new Set(["roles", "clusterroles", "rolebindings", "clusterrolebindings"]);

/** Nobody can grant rights that they do not have, unless they may `escalate` or `bind` roles. */
export const rbacEscalation = (deps: EscalationDeps): AdmissionPlugin => ({
  name: "RBACEscalation",
  runs: "always",
  appliesTo: ({ operation, resource }) =>
    resource.group === rbacGroup && guarded.has(resource.plural) && (operation === "CREATE" || operation === "UPDATE"),
  validate: (request) => checkEscalation(deps, request),
});

export async function checkEscalation(deps: EscalationDeps, request: AdmissionRequest): Promise<void> {
  const { user, object, oldObject } = request;
  if (!object || user.groups.includes(privilegedGroup)) return;
  if (oldObject && changesBookkeepingOnly(object, oldObject)) return;
  const binding = objectOf(RoleBinding, request) ?? objectOf(ClusterRoleBinding, request);
  if (binding) return await checkBinding(deps, request, binding.roleRef);
  const role = objectOf(Role, request) ?? objectOf(ClusterRole, request);
  if (role) await checkRole(deps, request, role);
}

const fullAuthority: readonly PolicyRule[] = [
  { verbs: ["*"], apiGroups: ["*"], resources: ["*"] },
  { verbs: ["*"], nonResourceURLs: ["*"] },
];

async function checkRole(deps: EscalationDeps, request: AdmissionRequest, role: Role | ClusterRole): Promise<void> {
  const { resource, namespace, name, user } = request;
  if (await may(deps, user, { verb: "escalate", resource: resource.plural, namespace, name })) return;
  const fault = missingRights(deps, request, role.rules ?? []);
  if (fault) throw forbidden(resource, role.metadata.name, fault);
  const gathers = (one: ClusterRole | undefined) => (one?.aggregationRule?.clusterRoleSelectors?.length ?? 0) > 0;
  if (!gathers(objectOf(ClusterRole, request)) && !gathers(oldObjectOf(ClusterRole, request))) return;
  if (!missingRights(deps, request, fullAuthority)) return;
  const detail = "must have cluster-admin privileges to use the aggregationRule";
  throw forbidden(resource, role.metadata.name, detail);
}

async function checkBinding(deps: EscalationDeps, request: AdmissionRequest, ref: RoleRef): Promise<void> {
  const { resource, namespace, user } = request;
  const plural = ref.kind === "Role" ? "roles" : "clusterroles";
  if (await may(deps, user, { verb: "bind", resource: plural, namespace, name: ref.name })) return;
  const rules = deps.rbac.rulesOfRole(ref, namespace);
  if (!rules) throw notFound({ group: rbacGroup, plural: ref.kind.toLowerCase(), kind: ref.kind }, ref.name);
  const fault = missingRights(deps, request, rules);
  if (fault) throw forbidden(resource, request.object?.metadata.name ?? "", fault);
}

/** Describes the rights that the user lacks; undefined if there are none. */
function missingRights(
  { rbac }: EscalationDeps,
  { user, namespace }: AdmissionRequest,
  wanted: readonly PolicyRule[],
): string | undefined {
  const { rules, faults } = rbac.rulesFor(user, namespace);
  const { missing, gaveUp } = uncoveredRules(rules, wanted);
  if (missing.length === 0 && !gaveUp) return undefined;
  const who = `user ${JSON.stringify(user.name)} (groups=${quotedList(user.groups)})`;
  if (missing.length === 0)
    return `${who} is attempting to grant more RBAC permissions than can be compared: use fewer or simpler rules`;
  const text = `${who} is attempting to grant RBAC permissions not currently held:\n${describeMissing(missing).join("\n")}`;
  return faults.length > 0 ? `${text}; resolution errors: [${faults.join(", ")}]` : text;
}

async function may(
  { authorizers }: EscalationDeps,
  user: UserInfo,
  what: Pick<RequestInfo, "verb" | "resource" | "namespace" | "name">,
): Promise<boolean> {
  const info = { ...blankRequestInfo, isResource: true, group: rbacGroup, version: "*", ...what };
  return (await decide(authorizers, user, info)).verdict === "allow";
}

/** Garbage collection must be able to release any object. */
function changesBookkeepingOnly(object: ApiObject, old: ApiObject): boolean {
  const { ownerReferences, finalizers, managedFields, ...rest } = old.metadata;
  const { ownerReferences: _owners, finalizers: _finalizers, managedFields: _fields, ...mine } = object.metadata;
  return equal({ ...object, metadata: mine }, { ...old, metadata: rest });
}
