import { type PolicyRule } from "#api/rbac/policy-rule.ts";
import { type RequestInfo } from "../pipeline.ts";

/** Whether the rule speaks of what the request does, leaving names of objects aside. */
export function ruleMatches(rule: PolicyRule, info: RequestInfo): boolean {
  if (!hasOrAll(rule.verbs, info.verb)) return false;
  if (!info.isResource) return rule.nonResourceURLs?.some((url) => urlCovers(url, info.path)) ?? false;
  if (!rule.resources || !hasOrAll(rule.apiGroups ?? [], info.group)) return false;
  const { resource, subresource } = info;
  const combined = subresource ? `${resource}/${subresource}` : resource;
  return rule.resources.some(
    (name) => name === "*" || name === combined || (subresource !== "" && name === `*/${subresource}`),
  );
}

export const ruleAllows = (rule: PolicyRule, info: RequestInfo): boolean =>
  ruleMatches(rule, info) && nameMatches(rule, info.name);

/** A rule without names is about all objects. */
export const nameMatches = ({ resourceNames }: PolicyRule, name: string): boolean =>
  !resourceNames || resourceNames.length === 0 || resourceNames.includes(name);

/** What `wanted` allows and `held` does not, in the smallest pieces. Empty: everything is covered. */
export function uncoveredRules(held: readonly PolicyRule[], wanted: readonly PolicyRule[]): PolicyRule[] {
  const missing: PolicyRule[] = [];
  for (const rule of wanted) {
    for (const piece of pieces(rule)) if (!held.some((own) => covers(own, piece))) missing.push(piece);
  }
  return missing;
}

/** Pieces that differ by their verbs only, put together again. */
export function compactRules(rules: readonly PolicyRule[]): PolicyRule[] {
  const byTarget = new Map<string, PolicyRule>();
  const others: PolicyRule[] = [];
  for (const rule of rules) {
    if (rule.nonResourceURLs) {
      others.push(rule);
      continue;
    }
    const target = JSON.stringify([rule.apiGroups, rule.resources, rule.resourceNames]);
    const known = byTarget.get(target);
    if (known) known.verbs = [...known.verbs, ...rule.verbs];
    else byTarget.set(target, { ...rule });
  }
  return [...others, ...byTarget.values()];
}

/** `{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}` */
export function describeRule(rule: PolicyRule): string {
  const parts = [
    ["APIGroups", rule.apiGroups],
    ["Resources", rule.resources],
    ["NonResourceURLs", rule.nonResourceURLs],
    ["ResourceNames", rule.resourceNames],
    ["Verbs", rule.verbs],
  ] as const;
  const filled = parts.filter(([, list]) => list && list.length > 0);
  return `{${filled.map(([name, list]) => `${name}:${quotedList(list ?? [])}`).join(", ")}}`;
}

export const quotedList = (list: readonly string[]): string =>
  `[${list.map((item) => JSON.stringify(item)).join(" ")}]`;

const hasOrAll = (list: readonly string[], value: string): boolean => list.includes(value) || list.includes("*");

const urlCovers = (pattern: string, path: string): boolean =>
  pattern === path || (pattern.endsWith("*") && path.startsWith(pattern.replace(/\*+$/, "")));

/** Each with one verb, one group, one resource and at most one name; or one verb and one path. */
function* pieces(rule: PolicyRule): Iterable<PolicyRule> {
  const { verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = rule;
  for (const group of apiGroups) {
    for (const resource of resources) {
      for (const verb of verbs) {
        const piece = { apiGroups: [group], resources: [resource], verbs: [verb] };
        if (resourceNames.length === 0) yield piece;
        for (const name of resourceNames) yield { ...piece, resourceNames: [name] };
      }
    }
  }
  for (const url of nonResourceURLs) for (const verb of verbs) yield { nonResourceURLs: [url], verbs: [verb] };
}

function covers(own: PolicyRule, piece: PolicyRule): boolean {
  const [verb = ""] = piece.verbs;
  if (!hasOrAll(own.verbs, verb)) return false;
  if (piece.nonResourceURLs) {
    const [url = ""] = piece.nonResourceURLs;
    return own.nonResourceURLs?.some((pattern) => urlCovers(pattern, url)) ?? false;
  }
  const [group = ""] = piece.apiGroups ?? [];
  const [resource = ""] = piece.resources ?? [];
  const slash = resource.indexOf("/");
  const resources = own.resources ?? [];
  const hasResource =
    hasOrAll(resources, resource) || (slash >= 0 && resources.includes(`*/${resource.slice(slash + 1)}`));
  if (!hasOrAll(own.apiGroups ?? [], group) || !hasResource) return false;
  if (!own.resourceNames || own.resourceNames.length === 0) return true;
  const [name] = piece.resourceNames ?? [];
  return name !== undefined && own.resourceNames.includes(name);
}
