import { type UserInfo } from "#api/exchange.ts";
import { dns1123Subdomain } from "#api/meta/names.ts";
import { type FieldError, type FieldPath, invalidValue, requiredValue, root } from "#schema/field-error.ts";
import { nullable, optional } from "#schema/fields.ts";
import { type Infer, object } from "#schema/schema.ts";
import { any, boolean, list, oneOf, string } from "#schema/types.ts";
import { type ConfigKind } from "../config/config-file.ts";
import { type RequestInfo } from "../request/pipeline.ts";

const levels = ["None", "Metadata", "Request", "RequestResponse"] as const;
const stages = ["RequestReceived", "ResponseStarted", "ResponseComplete", "Panic"] as const;
export type Level = (typeof levels)[number];
export type AuditStage = (typeof stages)[number];

const name = (kind: string): string => `audit/v1.${kind}`;
const GroupResources = object(name("GroupResources"), "", {
  group: optional(1, string(), "The API group; empty for the core group."),
  resources: optional(2, list(string()), "Such as pods, pods/log, pods/*, */scale or *; all if there are none."),
  resourceNames: optional(3, list(string()), "The names of objects; all if there are none."),
});
const PolicyRule = object(name("PolicyRule"), "", {
  level: optional(1, oneOf(...levels), "How much is recorded."),
  users: optional(2, list(string()), "The users; all if there are none."),
  userGroups: optional(3, list(string()), "The groups of users; all if there are none."),
  verbs: optional(4, list(string()), "The verbs; all if there are none."),
  resources: optional(5, list(GroupResources), "The kinds."),
  namespaces: optional(6, list(string()), "The namespaces; empty for objects without one."),
  nonResourceURLs: optional(7, list(string()), "Paths that are not about a kind, such as /healthz*."),
  omitStages: optional(8, list(string()), "Stages that are not recorded."),
  omitManagedFields: nullable(9, boolean(), "Whether managed fields are left out."),
});
const Policy = object(name("Policy"), "", {
  kind: optional(0, string(), ""),
  apiVersion: optional(0, string(), ""),
  metadata: optional(1, any(), ""),
  rules: optional(2, list(PolicyRule), "The first that matches a request decides."),
  omitStages: optional(3, list(string()), "Stages that are recorded for no request."),
  omitManagedFields: optional(4, boolean(), "Whether managed fields are left out, unless a rule says otherwise."),
});
export type AuditPolicy = Infer<typeof Policy>;
type Rule = Infer<typeof PolicyRule>;

/** Upstream's audit policy, with its rules and messages. */
export const auditPolicy: ConfigKind<AuditPolicy> = {
  kind: "Policy",
  apiVersions: ["audit.k8s.io/v1"],
  schema: Policy,
  faults({ rules = [], omitStages = [] }) {
    const at = root.child("rules");
    if (rules.length === 0) return [requiredValue(at, "a policy needs at least one rule")];
    return [
      ...validateStages(omitStages, root.child("omitStages")),
      ...rules.flatMap((rule, n) => validateRule(rule, at.index(n))),
    ];
  },
};

function validateRule(rule: Rule, at: FieldPath): FieldError[] {
  const { level, nonResourceURLs = [], resources = [], namespaces = [], omitStages = [] } = rule;
  const faults = level ? [] : [requiredValue(at.child("level"))];
  nonResourceURLs.forEach((url, n) => {
    const place = at.child("nonResourceURLs").index(n);
    if (url === "*") return;
    if (!url.startsWith("/")) {
      faults.push(invalidValue(place, url, "non-resource URL rules must begin with a '/' character"));
    }
    if (url.slice(0, -1).includes("*")) {
      faults.push(invalidValue(place, url, "non-resource URL wildcards '*' must be the final character of the rule"));
    }
  });
  for (const { group = "", resources: kinds = [], resourceNames = [] } of resources) {
    const place = at.child("resources");
    const fault = group && group !== "*" ? dns1123Subdomain(group) : undefined;
    if (fault) faults.push(invalidValue(place.child("group"), group, fault));
    if (resourceNames.length > 0 && kinds.length === 0) {
      const why = "using resourceNames requires at least one resource";
      faults.push(invalidValue(place.child("resourceNames"), resourceNames, why));
    }
  }
  if (nonResourceURLs.length > 0 && (resources.length > 0 || namespaces.length > 0)) {
    const why = "rules cannot apply to both regular resources and non-resource URLs";
    faults.push(invalidValue(at.child("nonResourceURLs"), nonResourceURLs, why));
  }
  return [...faults, ...validateStages(omitStages, at.child("omitStages"))];
}

const validateStages = (omitted: readonly string[], at: FieldPath): FieldError[] =>
  omitted.flatMap((stage, n) =>
    (stages as readonly string[]).includes(stage)
      ? []
      : [invalidValue(at.index(n), stage, `allowed stages are ${stages.join(",")}`)],
  );

/** What is recorded about a request. */
export interface AuditScope {
  readonly level: Level;
  readonly omitStages: ReadonlySet<string>;
  readonly omitManagedFields: boolean;
}
export type ScopeOf = (user: UserInfo, info: RequestInfo) => AuditScope;

/** The scope of the first rule that matches a request. Without one, nothing is recorded. */
export function scopesOf({ rules = [], omitStages = [], omitManagedFields = false }: AuditPolicy): ScopeOf {
  const compiled = rules.map((rule) => ({
    matches: matcherOf(rule),
    scope: {
      level: rule.level ?? "None",
      omitStages: new Set([...omitStages, ...(rule.omitStages ?? [])]),
      omitManagedFields: rule.omitManagedFields ?? omitManagedFields,
    },
  }));
  const nothing: AuditScope = { level: "None", omitStages: new Set(), omitManagedFields };
  return (user, info) => compiled.find(({ matches }) => matches(user, info))?.scope ?? nothing;
}

type Matcher = (user: UserInfo, info: RequestInfo) => boolean;

function matcherOf(rule: Rule): Matcher {
  const users = setOf(rule.users);
  const groups = setOf(rule.userGroups);
  const verbs = setOf(rule.verbs);
  const subject = subjectMatcher(rule);
  return (user, info) => {
    if (users && !users.has(user.name)) return false;
    if (groups && !user.groups.some((group) => groups.has(group))) return false;
    if (verbs && !verbs.has(info.verb)) return false;
    return subject(info);
  };
}

function subjectMatcher({ resources = [], namespaces, nonResourceURLs = [] }: Rule): (info: RequestInfo) => boolean {
  if (resources.length > 0 || namespaces?.length) {
    const within = setOf(namespaces);
    return (info) => {
      if (!info.isResource || (within && !within.has(info.namespace))) return false;
      return resources.length === 0 || resources.some((each) => covers(each, info));
    };
  }
  if (nonResourceURLs.length === 0) return () => true;
  return ({ isResource, path }) => !isResource && nonResourceURLs.some((pattern) => isBelow(pattern, path));
}

function covers(
  { group = "", resources = [], resourceNames }: Infer<typeof GroupResources>,
  info: RequestInfo,
): boolean {
  if (group !== info.group && group !== "*") return false;
  if (resources.length === 0) return true;
  if (resourceNames?.length && !resourceNames.includes(info.name)) return false;
  const { resource, subresource } = info;
  const asked = subresource ? `${resource}/${subresource}` : resource;
  return resources.some(
    (each) =>
      each === asked || each === "*" || (subresource !== "" && each === `*/${subresource}`) || each === `${resource}/*`,
  );
}

const isBelow = (pattern: string, path: string): boolean =>
  pattern.endsWith("*") ? path.startsWith(pattern.slice(0, -1)) : pattern === path;

/** undefined if there are none: then all match. */
const setOf = (values: readonly string[] | undefined): ReadonlySet<string> | undefined =>
  values?.length ? new Set(values) : undefined;
