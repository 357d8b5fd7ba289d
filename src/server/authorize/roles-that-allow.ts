import { ClusterRole } from "#api/rbac/cluster-role.ts";
import { Role } from "#api/rbac/role.ts";
import { type Informers } from "#runtime/informer.ts";
import { type RequestInfo } from "#server/request/pipeline.ts";
import { blankRequestInfo } from "#server/request/request-info.ts";
import { missingRule } from "./forbidden.ts";
import { ruleAllows } from "./rules.ts";

/** Which rule a refused request lacks, and which roles have it: for those who may read the roles. */
export type ExplainRefusal = (info: RequestInfo) => string;

/** Who may list the cluster's roles learns nothing new from such an explanation. */
export const readingRoles: RequestInfo = {
  ...blankRequestInfo,
  isResource: true,
  verb: "list",
  group: "rbac.authorization.k8s.io",
  version: "v1",
  resource: "clusterroles",
};

/** Roles are looked at until so many values of rules have been compared. */
const maxValues = 200_000;
const maxShown = 3;

export function createExplainRefusal(informers: Informers): ExplainRefusal {
  const clusterRoles = informers.of(ClusterRole);
  const roles = informers.of(Role);
  return (info) => {
    const here = info.namespace ? roles.list(info.namespace) : [];
    const named = [
      ...here.map((role) => ({ kind: "Role", role })),
      ...clusterRoles.list().map((role) => ({ kind: "ClusterRole", role })),
    ];
    const found = smallest(named, info).map(({ kind, role }) => `${kind} ${JSON.stringify(role.metadata.name)}`);
    const needed = `no rule allows it: it needs ${missingRule(info)}`;
    if (found.length === 0) return `${needed}, which no role has`;
    return `${needed}, which ${found.join(", ")} ${found.length === 1 ? "has" : "have"}`;
  };
}

interface Named {
  readonly kind: string;
  readonly role: Role | ClusterRole;
}

/** Roles of components are no suggestion for people, and neither is one that allows everything. */
function rankOf({ role }: Named): number {
  if (role.metadata.name.startsWith("system:")) return 2;
  return role.rules?.some(({ verbs, resources }) => verbs.includes("*") && resources?.includes("*")) ? 1 : 0;
}

/** The roles that allow the request, those that allow the least beside it first. */
function smallest(named: readonly Named[], info: RequestInfo): Named[] {
  let values = 0;
  const found: { readonly size: number; readonly named: Named }[] = [];
  for (const one of named) {
    const size = sizeOf(one.role);
    values += size;
    if (values > maxValues) break;
    if (one.role.rules?.some((rule) => ruleAllows(rule, info))) found.push({ size, named: one });
  }
  found.sort((a, b) => rankOf(a.named) - rankOf(b.named) || a.size - b.size);
  return found.slice(0, maxShown).map((one) => one.named);
}

const sizeOf = ({ rules = [] }: Role | ClusterRole): number =>
  (rules ?? []).reduce((sum, rule) => sum + Object.values(rule).flat().length, 0);
