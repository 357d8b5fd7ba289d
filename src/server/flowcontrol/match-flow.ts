import { type UserInfo } from "#api/exchange.ts";
import { type FlowSchema } from "#api/flowcontrol/flow-schema.ts";
import { type PolicyRulesWithSubjects } from "#api/flowcontrol/policy-rules.ts";
import { serviceAccountName } from "#server/authenticate/service-account-claims.ts";
import { type RequestInfo } from "#server/request/pipeline.ts";

/** Finds the FlowSchema of a request: the first that matches, in the order of precedence. */
export interface FlowMatcher {
  match(user: UserInfo, info: RequestInfo): FlowSchema | undefined;
}

/** A FlowSchema, as far as it is about one user. */
interface UserFlow {
  readonly schema: FlowSchema;
  readonly rules: readonly CompiledRule[];
}

export function createFlowMatcher(schemas: readonly FlowSchema[]): FlowMatcher {
  const compiled = schemas.map((schema) => ({ schema, rules: rulesOf(schema) }));
  // The object of a user is the same in all requests of an identity, and most rules are about other users.
  const byUser = new WeakMap<UserInfo, readonly UserFlow[]>();
  const flowsOf = (user: UserInfo): readonly UserFlow[] => {
    const known = byUser.get(user);
    if (known) return known;
    const flows = compiled
      .map(({ schema, rules }) => ({ schema, rules: rules.filter(({ isAbout }) => isAbout(user)) }))
      .filter(({ rules }) => rules.length > 0);
    byUser.set(user, flows);
    return flows;
  };
  return {
    match(user, info) {
      for (const { schema, rules } of flowsOf(user)) if (rules.some((rule) => rule.matches(info))) return schema;
      return undefined;
    },
  };
}

/** A change of one schema makes a new matcher. Schemas can be many and long, so only those that changed are read again. */
const compiledRules = new WeakMap<FlowSchema, readonly CompiledRule[]>();

function rulesOf(schema: FlowSchema): readonly CompiledRule[] {
  let rules = compiledRules.get(schema);
  if (!rules) {
    rules = (schema.spec.rules ?? []).map(compile);
    compiledRules.set(schema, rules);
  }
  return rules;
}

/** By precedence, then by name. */
export const inOrder = (schemas: Iterable<FlowSchema>): FlowSchema[] =>
  [...schemas].sort(
    (a, b) => a.spec.matchingPrecedence - b.spec.matchingPrecedence || (nameOf(a) < nameOf(b) ? -1 : 1),
  );
const nameOf = ({ metadata }: FlowSchema): string => metadata.name ?? "";

interface CompiledRule {
  isAbout(user: UserInfo): boolean;
  matches(info: RequestInfo): boolean;
}

function compile({ subjects, resourceRules = [], nonResourceRules = [] }: PolicyRulesWithSubjects): CompiledRule {
  const about = subjects.map(compileSubject);
  const resources = resourceRules.map(compileResources);
  const paths = nonResourceRules.map(compilePaths);
  return {
    isAbout: (user) => about.some((isAbout) => isAbout(user)),
    matches: (info) => (info.isResource ? resources : paths).some((matches) => matches(info)),
  };
}

type Subject = PolicyRulesWithSubjects["subjects"][number];
type Matches = (info: RequestInfo) => boolean;

function compileSubject({ kind, user, group, serviceAccount }: Subject): (user: UserInfo) => boolean {
  if (kind === "User" && user) return ({ name }) => user.name === "*" || user.name === name;
  if (kind === "Group" && group) return ({ groups }) => group.name === "*" || groups.includes(group.name);
  if (kind !== "ServiceAccount" || !serviceAccount) return () => false;
  const { namespace, name } = serviceAccount;
  if (name !== "*") {
    const whole = serviceAccountName(namespace, name);
    return (asking) => asking.name === whole;
  }
  const start = serviceAccountName(namespace, "");
  return (asking) => asking.name.startsWith(start);
}

function compileResources(rule: NonNullable<PolicyRulesWithSubjects["resourceRules"]>[number]): Matches {
  const verbs = listed(rule.verbs);
  const groups = listed(rule.apiGroups);
  const resources = listed(rule.resources);
  const namespaces = listed(rule.namespaces ?? []);
  const { clusterScope = false } = rule;
  return ({ verb, group, resource, subresource, namespace }) =>
    verbs(verb) &&
    resources(subresource ? `${resource}/${subresource}` : resource) &&
    groups(group) &&
    (namespace === "" ? clusterScope : namespaces(namespace));
}

function compilePaths({
  verbs,
  nonResourceURLs,
}: NonNullable<PolicyRulesWithSubjects["nonResourceRules"]>[number]): Matches {
  const hasVerb = listed(verbs);
  const hasPath = listed(nonResourceURLs);
  // As upstream: what is below a path also matches it, with or without a star at its end.
  const folders = nonResourceURLs.map((path) => path.replace(/\*$/, "").replace(/\/?$/, "/"));
  return ({ verb, path }) => hasVerb(verb) && (hasPath(path) || folders.some((folder) => path.startsWith(folder)));
}

/** A star stands alone. */
function listed(values: readonly string[]): (value: string) => boolean {
  if (values.length === 1 && values[0] === "*") return () => true;
  const all = new Set(values);
  return (value) => all.has(value);
}
