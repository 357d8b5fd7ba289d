import { type PolicyRule } from "#api/rbac/policy-rule.ts";
import { quotedList } from "#lib/text/quoted-list.ts";
import { trimEndOf } from "#lib/text/trim-end.ts";
import { type RequestInfo } from "#server/request/pipeline.ts";

/** Whether the rule covers the request, ignoring names of objects. */
export function ruleMatches(rule: PolicyRule, info: RequestInfo): boolean {
  if (!hasOrAll(rule.verbs, info.verb)) return false;
  if (!info.isResource) return rule.nonResourceURLs?.some((url) => urlCovers(url, info.path)) ?? false;
  if (!rule.resources || !hasOrAll(rule.apiGroups ?? [], info.group)) return false;
  const { resource, subresource } = info;
  if (!subresource) return hasOrAll(rule.resources, resource);
  return hasOrAll(rule.resources, `${resource}/${subresource}`) || rule.resources.includes(`*/${subresource}`);
}

export const ruleAllows = (rule: PolicyRule, info: RequestInfo): boolean =>
  ruleMatches(rule, info) && nameMatches(rule, info.name);

/** A rule without names applies to all objects. */
export const nameMatches = ({ resourceNames }: PolicyRule, name: string): boolean =>
  !resourceNames || resourceNames.length === 0 || resourceNames.includes(name);

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

const hasOrAll = (list: readonly string[], value: string): boolean => list.includes(value) || list.includes("*");

/** A star at the end of a pattern matches any rest. */
export const urlCovers = (pattern: string, path: string): boolean =>
  pattern === path || (pattern.endsWith("*") && path.startsWith(trimEndOf(pattern, "*")));
