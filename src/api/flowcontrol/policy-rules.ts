import { type Cursor } from "#api/cursor.ts";
import { dns1123Label, dns1123Subdomain } from "#api/meta/names.ts";
import { optional, present, written } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { atomicList, boolean, setOf, string } from "#schema/types.ts";

const object = inPackage("flowcontrol/v1");

const subjectOptions = {
  doc: "Users whose requests a rule matches.",
  union: { discriminator: "kind", fields: ["group", "serviceAccount", "user"] },
};
const Subject = object("Subject", subjectOptions, {
  kind: present(1, string(), "Which of the other fields is set: User, Group or ServiceAccount."),
  user: object.nullable(2, "UserSubject", "User whose requests match.", {
    name: present(1, string(), "Name of the user; * matches all users."),
  }),
  group: object.nullable(3, "GroupSubject", "Group whose members' requests match.", {
    name: present(1, string(), "Name of the group; * matches all groups."),
  }),
  serviceAccount: object.nullable(4, "ServiceAccountSubject", "Service account whose requests match.", {
    namespace: present(1, string(), "Namespace of the service account."),
    name: present(2, string(), "Name of the service account; * matches all of the namespace."),
  }),
});
interface Subject extends Infer<typeof Subject> {}

const ResourcePolicyRule = object("ResourcePolicyRule", "Requests for objects that a rule matches.", {
  verbs: present(1, setOf(string()), "Verbs that match, such as get; * matches all."),
  apiGroups: present(2, setOf(string()), "API groups that match; * matches all."),
  resources: present(3, setOf(string()), "Resources and subresources that match, such as nodes/status; * matches all."),
  clusterScope: optional(4, boolean(), "Whether requests without a namespace match."),
  namespaces: written(optional(5, setOf(string()), "Namespaces whose requests match; * matches all namespaces.")),
});
interface ResourcePolicyRule extends Infer<typeof ResourcePolicyRule> {}

const NonResourcePolicyRule = object("NonResourcePolicyRule", "Requests for other paths that a rule matches.", {
  verbs: present(1, setOf(string()), "Verbs that match, such as get; * matches all."),
  nonResourceURLs: present(6, setOf(string()), "Paths that match, such as /healthz or /healthz/*; * matches all."),
});
interface NonResourcePolicyRule extends Infer<typeof NonResourcePolicyRule> {}

export const PolicyRulesWithSubjects = object("PolicyRulesWithSubjects", "Which requests of which users match.", {
  subjects: present(1, atomicList(Subject), "Users, groups and service accounts whose requests match, at least one."),
  resourceRules: optional(2, atomicList(ResourcePolicyRule), "Requests for objects that match, by what they ask for."),
  nonResourceRules: optional(3, atomicList(NonResourcePolicyRule), "Requests for paths without objects that match."),
});
export interface PolicyRulesWithSubjects extends Infer<typeof PolicyRulesWithSubjects> {}

export function validatePolicyRules(at: Cursor<PolicyRulesWithSubjects>): void {
  const { resourceRules = [], nonResourceRules = [] } = at.value;
  if (at.field("subjects").required("subjects must contain at least one value")) at.each("subjects", validateSubject);
  if (resourceRules.length === 0 && nonResourceRules.length === 0) {
    at.missing("at least one of resourceRules and nonResourceRules has to be non-empty");
  }
  at.each("resourceRules", validateResourceRule);
  at.each("nonResourceRules", validateNonResourceRule);
}

const subjectFields = { ServiceAccount: "serviceAccount", User: "user", Group: "group" } as const;
type SubjectKind = keyof typeof subjectFields;
const subjectKinds: readonly SubjectKind[] = ["ServiceAccount", "User", "Group"];

function validateSubject(at: Cursor<Subject>): void {
  const kind = subjectKinds.find((name) => name === at.value.kind);
  if (!kind) {
    at.field("kind").unsupported([...subjectKinds].sort());
    return;
  }
  const own = subjectFields[kind];
  if (!at.value[own]) at.field(own).missing(`${own} is required when subject kind is '${kind}'`);
  else if (own === "serviceAccount") at.on(own, validateServiceAccount);
  else at.on(own, (at) => at.field("name").required());
  for (const other of subjectKinds) {
    const field = subjectFields[other];
    if (other === kind || !at.value[field]) continue;
    at.field(field).forbidden(`${field} is forbidden when subject kind is not '${other}'`);
  }
}

function validateServiceAccount(at: Cursor<NonNullable<Subject["serviceAccount"]>>): void {
  if (at.field("name").required() && at.value.name !== "*") at.field("name").rule(dns1123Subdomain);
  const namespace = at.field("namespace");
  if (namespace.required("must specify namespace for service account")) namespace.rule(dns1123Label);
}

const verbs = ["create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"];
const knownVerbs: ReadonlySet<string> = new Set(verbs);

function validateVerbs(at: Cursor<readonly string[]>): void {
  if (!at.required("verbs must contain at least one value") || !isListed(at, "verbs")) return;
  if (!at.value.every((verb) => knownVerbs.has(verb))) at.unsupported(verbs);
}

/** Whether the list has no `*`, which stands for everything and must be alone. `what` names the items. */
function isListed(at: Cursor<readonly string[]>, what: string): boolean {
  if (!at.value.includes("*")) return true;
  if (at.value.length > 1) at.invalid(`if '*' is present, must not specify other ${what}`);
  return false;
}

function validateResourceRule(at: Cursor<ResourcePolicyRule>): void {
  const { namespaces = [], clusterScope } = at.value;
  validateVerbs(at.field("verbs"));
  const [groups, resources] = [at.field("apiGroups"), at.field("resources")];
  if (groups.required("resource rules must supply at least one api group")) isListed(groups, "api groups");
  if (resources.required("resource rules must supply at least one resource")) isListed(resources, "resources");
  if (namespaces.length === 0 && !clusterScope) {
    at.field("namespaces").missing("resource rules that are not cluster scoped must supply at least one namespace");
  } else if (isListed(at.field("namespaces").as(namespaces), "namespaces")) at.each("namespaces", validateNamespace);
}

function validateNamespace(at: Cursor<string>): void {
  for (const fault of dns1123Label.all(at.value)) {
    at.invalid(`each member of this list must be '*' or a DNS-1123 label; ${fault}`);
  }
}

function validateNonResourceRule(at: Cursor<NonResourcePolicyRule>): void {
  validateVerbs(at.field("verbs"));
  const urls = at.field("nonResourceURLs");
  if (!urls.required("nonResourceURLs must contain at least one value")) return;
  if (isListed(urls, "non-resource URLs")) at.each("nonResourceURLs", (at) => at.invalid(pathFault(at.value)));
}

function pathFault(path: string): string | undefined {
  if (path === "") return "must not be empty";
  if (!path.startsWith("/")) return "must start with slash";
  if (path.includes(" ")) return "must not contain white-space";
  if (path.includes("//")) return "must not contain double slash";
  const star = path.indexOf("*");
  const isSuffix = star < 0 || (star === path.length - 1 && path.endsWith("/*"));
  return isSuffix ? undefined : "wildcard can only do suffix matching";
}
