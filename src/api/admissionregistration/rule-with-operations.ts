import { pathSegmentName } from "#api/meta/names.ts";
import { defaulted, inGo, inline, optional } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { atomicList, oneOf, string } from "#schema/types.ts";
import { type Cursor } from "../cursor.ts";

const object = inPackage("admissionregistration/v1");

const operations = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"] as const;

const ruleFields = {
  apiGroups: optional(1, atomicList(string()), "API groups of the rule. * alone means all groups."),
  apiVersions: optional(2, atomicList(string()), "API versions of the rule. * alone means all versions."),
  resources: optional(3, atomicList(string()), "Resources of the rule: pods, pods/log, pods/*, */scale, * or */*."),
  scope: inGo(
    { isPointer: true },
    defaulted(
      4,
      oneOf("*", "Cluster", "Namespaced"),
      "*",
      "Scope of the resources of the rule: Cluster, Namespaced or * for both.",
    ),
  ),
};
const operationFields = {
  operations: optional(
    1,
    atomicList(oneOf(...operations)),
    "Operations of the rule: CREATE, UPDATE, DELETE, CONNECT, or * alone for all.",
  ),
  ...inline(2, ruleFields),
};

export const RuleWithOperations = object("RuleWithOperations", "Matches requests by operation and resource.", {
  ...operationFields,
});
interface RuleWithOperations extends Infer<typeof RuleWithOperations> {}

export const NamedRuleWithOperations = object.atomic(
  "NamedRuleWithOperations",
  "Matches requests by operation, resource and name.",
  {
    resourceNames: optional(1, atomicList(string()), "Names of the objects of the rule. Empty means all names."),
    ...inline(2, operationFields),
  },
);
interface NamedRuleWithOperations extends Infer<typeof NamedRuleWithOperations> {}

export function validateNamedRule(at: Cursor<NamedRuleWithOperations>): void {
  const names = new Set<string>();
  at.each("resourceNames", (at) => {
    at.rule(pathSegmentName);
    at.unique(names);
  });
  validateRuleWithOperations(at);
}

export function validateRuleWithOperations(at: Cursor<RuleWithOperations>): void {
  at.field("operations").required();
  refuseMoreThanAll(at.field("operations"), "operations");
  // The schema refuses all other texts.
  at.each("operations", (at: Cursor<string>) => {
    if (at.value === "") at.unsupported(operations);
  });
  at.field("apiGroups").required();
  refuseMoreThanAll(at.field("apiGroups"), "API groups");
  at.field("apiVersions").required();
  refuseMoreThanAll(at.field("apiVersions"), "API versions");
  at.each("apiVersions", (at) => at.required());
  at.field("resources").required();
  validateResources(at);
}

function refuseMoreThanAll(at: Cursor<readonly string[] | undefined>, what: string): void {
  const { value = [] } = at;
  if (value.length > 1 && value.includes("*")) at.invalid(`if '*' is present, must not specify other ${what}`);
}

/** A resource may be named once as a whole (`pods/*`) or part by part, but not both. */
function validateResources(rule: Cursor<RuleWithOperations>): void {
  const { resources = [] } = rule.value;
  const wholeResources = new Set<string>();
  const wholeSubresources = new Set<string>();
  let isLastPlain = false;
  rule.each("resources", (at) => {
    if (!at.required()) return;
    const slash = at.value.indexOf("/");
    if (slash < 0) {
      isLastPlain = at.value !== "*";
      return;
    }
    const resource = at.value.slice(0, slash);
    const part = at.value.slice(slash + 1);
    if (wholeResources.has(resource)) at.invalid(`if '${resource}/*' is present, must not specify ${at.value}`);
    if (wholeSubresources.has(part)) at.invalid(`if '*/${part}' is present, must not specify ${at.value}`);
    if (part === "*") wholeResources.add(resource);
    if (resource === "*") wholeSubresources.add(part);
  });
  const at = rule.field("resources");
  if (resources.length > 1 && resources.includes("*/*")) {
    at.invalid("if '*/*' is present, must not specify other resources");
  }
  // As upstream, only the last resource without a subresource counts.
  if (isLastPlain && resources.includes("*")) {
    at.invalid("if '*' is present, must not specify other resources without subresources");
  }
}

const mutatedOperations = ["*", "CONNECT", "CREATE", "UPDATE"];

/** A deleted object cannot be changed. Upstream reports this at the lists, without an index. */
export function refuseDeletions(at: Cursor<{ resourceRules?: readonly NamedRuleWithOperations[] }>): void {
  const place = at.under("resourceRules", "operations");
  for (const { operations = [] } of at.value.resourceRules ?? []) {
    for (const operation of operations) place.as(operation).oneOf(mutatedOperations);
  }
}
