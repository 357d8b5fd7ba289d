import { optional, present } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { atomicList, string } from "#schema/types.ts";
import { type Cursor } from "../cursor.ts";
import { type Scope } from "../resource.ts";

const object = inPackage("rbac/v1");

export const PolicyRule = object("PolicyRule", "Verbs that are allowed on certain resources or URL paths.", {
  verbs: present(1, atomicList(string()), "Allowed verbs; * stands for all."),
  apiGroups: optional(2, atomicList(string()), 'API groups of the resources; "" is the core group, * stands for all.'),
  resources: optional(3, atomicList(string()), "Resources such as pods, or subresources such as pods/log; * is all."),
  resourceNames: optional(4, atomicList(string()), "Names of the objects that the rule is limited to; all if empty."),
  nonResourceURLs: optional(5, atomicList(string()), "URL paths; a final * stands for everything below."),
});
export interface PolicyRule extends Infer<typeof PolicyRule> {}

export function validatePolicyRule(at: Cursor<PolicyRule>, scope: Scope): void {
  const { apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = at.value;
  at.field("verbs").required("verbs must contain at least one value");
  if (nonResourceURLs.length > 0) {
    const urls = at.field("nonResourceURLs");
    if (scope === "Namespaced") urls.invalid("namespaced rules cannot apply to non-resource URLs");
    if (apiGroups.length + resources.length + resourceNames.length > 0) {
      urls.invalid("rules cannot apply to both regular resources and non-resource URLs");
    }
    return;
  }
  at.field("apiGroups").required("resource rules must supply at least one api group");
  at.field("resources").required("resource rules must supply at least one resource");
}
