import { pathSegmentName } from "#api/meta/names.ts";
import { defaulted, written } from "#schema/fields.ts";
import { atomicList } from "#schema/types.ts";
import { defineResource, type NamespacedObject } from "../resource.ts";
import { PolicyRule, validatePolicyRule } from "./policy-rule.ts";

const fields = { rules: written(defaulted(2, atomicList(PolicyRule), [], "Permissions that the role grants.")) };
export interface Role extends NamespacedObject<typeof fields> {}

export const Role = defineResource("rbac.authorization.k8s.io/v1.Role", fields, {
  createOnUpdate: true,
  doc: "Permissions within one namespace.",
  nameRule: pathSegmentName,

  validate: (role) => role.each("rules", (at) => validatePolicyRule(at, "Namespaced")),
});
