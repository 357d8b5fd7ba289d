import { type FieldError, type FieldPath, invalidValue, requiredValue } from "#schema/field-error.ts";
import { type Infer, list, object, optional, present, string } from "#schema/schema.ts";

export const PolicyRule = object(
  "rbac/v1.PolicyRule",
  {
    verbs: present(1, list(string(), { list: "atomic" }), "What may be done; * is everything."),
    apiGroups: optional(
      2,
      list(string(), { list: "atomic" }),
      'Groups of the resources; "" is the core group, * is all.',
    ),
    resources: optional(
      3,
      list(string(), { list: "atomic" }),
      "The resources, with a slash before a subresource; * is all.",
    ),
    resourceNames: optional(4, list(string(), { list: "atomic" }), "The only objects it applies to, if there are any."),
    nonResourceURLs: optional(
      5,
      list(string(), { list: "atomic" }),
      "Paths outside the resources, with * at the end for all below.",
    ),
  },
  { doc: "Verbs that are allowed on certain resources or paths." },
);
export interface PolicyRule extends Infer<typeof PolicyRule> {}

export function* validatePolicyRule(
  { verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] }: PolicyRule,
  scope: "Namespaced" | "Cluster",
  path: FieldPath,
): Iterable<FieldError> {
  if (verbs.length === 0) yield requiredValue(path.child("verbs"), "verbs must contain at least one value");
  if (nonResourceURLs.length > 0) {
    const at = path.child("nonResourceURLs");
    if (scope === "Namespaced") {
      yield invalidValue(at, nonResourceURLs, "namespaced rules cannot apply to non-resource URLs");
    }
    if (apiGroups.length + resources.length + resourceNames.length > 0) {
      yield invalidValue(at, nonResourceURLs, "rules cannot apply to both regular resources and non-resource URLs");
    }
    return;
  }
  if (apiGroups.length === 0) {
    yield requiredValue(path.child("apiGroups"), "resource rules must supply at least one api group");
  }
  if (resources.length === 0) {
    yield requiredValue(path.child("resources"), "resource rules must supply at least one resource");
  }
}
