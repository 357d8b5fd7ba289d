import { optional, present } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { atomicList, string } from "#schema/types.ts";
import { type Cursor } from "../cursor.ts";
import { type Scope } from "../resource.ts";

const object = inPackage("rbac/v1");

export const PolicyRule = object("PolicyRule", "Verbs that are allowed on certain resources or paths.", {
  verbs: present(1, atomicList(string()), "What may be done; * is everything."),
  apiGroups: optional(2, atomicList(string()), 'Groups of the resources; "" is the core group, * is all.'),
  resources: optional(3, atomicList(string()), "The resources, with a slash before a subresource; * is all."),
  resourceNames: optional(4, atomicList(string()), "The only objects it applies to, if there are any."),
  nonResourceURLs: optional(5, atomicList(string()), "Paths outside the resources, with * at the end for all below."),
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
