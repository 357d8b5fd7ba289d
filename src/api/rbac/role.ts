import { root } from "#schema/field-error.ts";
import { defaulted, list } from "#schema/schema.ts";
import { pathSegmentName } from "../meta/names.ts";
import { defineResource, type ObjectOf } from "../resource.ts";
import { PolicyRule, validatePolicyRule } from "./policy-rule.ts";

const fields = {
  rules: defaulted(2, list(PolicyRule, { list: "atomic" }), [], "What the role allows."),
};
export interface Role extends ObjectOf<typeof fields> {}

/** Rights within one namespace. */
export const Role = defineResource({
  group: "rbac.authorization.k8s.io",
  version: "v1",
  kind: "Role",
  plural: "roles",
  package: "rbac/v1",
  scope: "Namespaced",
  createOnUpdate: true,
  doc: "A set of rights within one namespace.",
  fields,
  nameRule: pathSegmentName,

  *validate({ rules }) {
    for (const [index, rule] of rules.entries()) {
      yield* validatePolicyRule(rule, "Namespaced", root.child("rules").index(index));
    }
  },
});
