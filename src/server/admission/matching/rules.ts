import { type Resource } from "#api/resource.ts";
import { type AdmissionRequest } from "../plugin.ts";

/** A rule of a webhook, a policy or a binding. */
export interface MatchRule {
  readonly operations?: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly apiVersions?: readonly string[];
  readonly resources?: readonly string[];
  readonly scope?: string;
  /** Only policies and bindings have it. Empty means all names. */
  readonly resourceNames?: readonly string[];
}

export type MatchPolicy = "Equivalent" | "Exact";

/** What of a request rules look at. */
export type RuleSubject = Pick<AdmissionRequest, "operation" | "subresource" | "namespace" | "name">;
type RuleResource = Pick<Resource, "group" | "version" | "plural" | "isNamespace">;

/**
 * The resource by which a request matches one of the rules: its own, or else another version of the same kind. undefined
 * if no rule matches.
 */
export function matchRules(
  rules: readonly MatchRule[],
  request: RuleSubject & Pick<AdmissionRequest, "resource">,
  others: () => readonly Resource[],
): Resource | undefined {
  const { resource } = request;
  if (rules.some((rule) => matchesRule(rule, request, resource))) return resource;
  const equivalent = others();
  if (equivalent.length === 0) return undefined;
  for (const rule of rules) {
    const found = equivalent.find((other) => other !== resource && matchesRule(rule, request, other));
    if (found) return found;
  }
  return undefined;
}

export function matchesRule(rule: MatchRule, request: RuleSubject, resource: RuleResource): boolean {
  const { resourceNames = [] } = rule;
  return (
    includesOrAll(rule.operations, request.operation) &&
    includesOrAll(rule.apiGroups, resource.group) &&
    includesOrAll(rule.apiVersions, resource.version) &&
    matchesResource(rule.resources ?? [], resource.plural, request.subresource) &&
    matchesScope(rule.scope, request, resource) &&
    (resourceNames.length === 0 || resourceNames.includes(request.name))
  );
}

const includesOrAll = (values: readonly string[] = [], value: string): boolean =>
  values.includes("*") || values.includes(value);

/** `pods` and `*` are about resources alone: subresources have to be asked for, as in `pods/*`. */
function matchesResource(wanted: readonly string[], plural: string, subresource: string): boolean {
  return wanted.some((text) => {
    const slash = text.indexOf("/");
    const resource = slash < 0 ? text : text.slice(0, slash);
    const part = slash < 0 ? "" : text.slice(slash + 1);
    return (resource === "*" || resource === plural) && (part === "*" || part === subresource);
  });
}

/** A namespace is outside of all namespaces, although requests for it carry its name as theirs. */
function matchesScope(scope: string | undefined, { namespace }: RuleSubject, { isNamespace }: RuleResource): boolean {
  if (scope !== "Namespaced" && scope !== "Cluster") return true;
  const isNamespaced = namespace !== "" && !isNamespace;
  return isNamespaced === (scope === "Namespaced");
}
