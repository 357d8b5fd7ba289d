import { type UserInfo } from "#api/exchange.ts";
import { type PolicyRule } from "#api/rbac/policy-rule.ts";
import { isObject } from "#lib/data/json-object.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { ConfigFileError, readConfigFile } from "#server/config/config-file.ts";
import { type RequestInfo } from "#server/request/pipeline.ts";
import { type Authorizer, type Decision, type ListedRules } from "../authorizer.ts";

/** One line of the file: who may do what. "" matches nothing, and `*` everything. */
export interface AbacPolicy {
  readonly user: string;
  readonly group: string;
  readonly readonly: boolean;
  readonly apiGroup: string;
  readonly resource: string;
  readonly namespace: string;
  readonly nonResourcePath: string;
}

/** Attribute-based access control: the lines of the file of `--authorization-policy-file`. */
export async function loadAbac(path: string): Promise<Authorizer> {
  return abac(parseAbacFile(await readConfigFile(path, "authorization-policy-file"), path));
}

const allowed: Decision = { verdict: "allow", reason: "" };
const unmatched: Decision = { verdict: "no opinion", reason: "No policy matched." };

export function abac(policies: readonly AbacPolicy[]): Authorizer {
  return {
    name: "abac",
    authorize: (user, info) =>
      policies.some((policy) => isFor(policy, user) && allows(policy, info)) ? allowed : unmatched,
    rulesFor: (user, namespace): ListedRules => ({
      rules: policies.filter((policy) => isFor(policy, user)).flatMap((policy) => rulesIn(policy, namespace)),
      faults: [],
    }),
  };
}

const matches = (pattern: string, value: string): boolean => pattern === "*" || pattern === value;

/** A policy for a user and a group needs both, and one for neither is for nobody. */
function isFor({ user: name, group }: AbacPolicy, user: UserInfo): boolean {
  if (!name && !group) return false;
  return (!name || matches(name, user.name)) && (!group || group === "*" || user.groups.includes(group));
}

const readingVerbs = ["get", "list", "watch"];

function allows(policy: AbacPolicy, { isResource, verb, namespace, resource, group, path }: RequestInfo): boolean {
  if (policy.readonly && !readingVerbs.includes(verb)) return false;
  if (!isResource) return isPath(policy.nonResourcePath, path);
  return matches(policy.namespace, namespace) && matches(policy.resource, resource) && matches(policy.apiGroup, group);
}

/** `/healthz/*` is all that begins with `/healthz/`. */
const isPath = (pattern: string, path: string): boolean =>
  pattern === path || (pattern.endsWith("*") && path.startsWith(pattern.slice(0, -1)));

function rulesIn(policy: AbacPolicy, namespace: string): PolicyRule[] {
  const verbs = policy.readonly ? readingVerbs : ["*"];
  const rules: PolicyRule[] = [];
  if (!matches(policy.namespace, namespace)) return rules;
  if (policy.resource) rules.push({ verbs, apiGroups: [policy.apiGroup], resources: [policy.resource] });
  if (policy.nonResourcePath) rules.push({ verbs, nonResourceURLs: [policy.nonResourcePath] });
  return rules;
}

/** Reads the whole file or refuses it, with the line that is wrong. Blank lines and lines that start with # are skipped. */
export function parseAbacFile(text: string, path: string): AbacPolicy[] {
  return text.split(/\r?\n/).flatMap((line, index) => {
    const trimmed = line.trim();
    if (trimmed === "" || trimmed.startsWith("#")) return [];
    try {
      return [policyOf(JSON.parse(trimmed) as unknown)];
    } catch (cause) {
      const form = `{"apiVersion":"${beta}","kind":"Policy","spec":{…}}`;
      throw new ConfigFileError(`${path}:${index + 1}: ${messageOf(cause)}: a line must be ${form}`, { cause });
    }
  });
}

const beta = "abac.authorization.kubernetes.io/v1beta1";
const authenticated = "system:authenticated";

function policyOf(line: unknown): AbacPolicy {
  if (!isObject(line)) throw new Error("it is not a JSON object");
  const { apiVersion, kind = "Policy", spec } = line;
  if (kind !== "Policy") throw new Error(`kind must be Policy, not ${JSON.stringify(kind)}`);
  if (apiVersion === undefined || apiVersion === "abac.authorization.kubernetes.io/v0") return oldPolicy(line);
  if (apiVersion !== beta) throw new Error(`apiVersion must be ${beta}, not ${JSON.stringify(apiVersion)}`);
  if (!isObject(spec)) throw new Error("spec must be an object");
  const policy = fieldsOf(spec);
  return policy.user === "*" || policy.group === "*" ? { ...policy, user: "", group: authenticated } : policy;
}

/** Lines of the first version have no spec, and what they leave out means everything. */
function oldPolicy(line: Readonly<Record<string, unknown>>): AbacPolicy {
  const policy = fieldsOf(line);
  const { user, group, namespace, resource } = policy;
  const isForAll = (!user && !group) || user === "*" || group === "*";
  return {
    ...policy,
    ...(isForAll ? { user: "", group: authenticated } : {}),
    apiGroup: "*",
    namespace: namespace || "*",
    resource: resource || "*",
    nonResourcePath: !namespace && !resource ? "*" : "",
  };
}

function fieldsOf(from: Readonly<Record<string, unknown>>): AbacPolicy {
  const text = (name: string): string => {
    const { [name]: value = "" } = from;
    if (typeof value !== "string") throw new Error(`${name} must be a text, not ${JSON.stringify(value)}`);
    return value;
  };
  const { readonly: isReadOnly = false } = from;
  if (typeof isReadOnly !== "boolean") throw new Error("readonly must be true or false");
  return {
    user: text("user"),
    group: text("group"),
    readonly: isReadOnly,
    apiGroup: text("apiGroup"),
    resource: text("resource"),
    namespace: text("namespace"),
    nonResourcePath: text("nonResourcePath"),
  };
}
