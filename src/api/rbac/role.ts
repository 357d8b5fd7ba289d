import { pathSegmentName } from "#api/meta/names.ts";
import { defaulted, inGo } from "#schema/fields.ts";
import { atomicList } from "#schema/types.ts";
import { defineResource, type NamespacedObject } from "../resource.ts";
import { PolicyRule, validatePolicyRule } from "./policy-rule.ts";

const fields = {
  rules: inGo({ zero: "written" }, defaulted(2, atomicList(PolicyRule), [], "What the role allows.")),
};
export interface Role extends NamespacedObject<typeof fields> {}

export const Role = defineResource("rbac.authorization.k8s.io/v1.Role", fields, {
  createOnUpdate: true,
  doc: "A set of rights within one namespace.",
  nameRule: pathSegmentName,

  validate: (role) => role.each("rules", (at) => validatePolicyRule(at, "Namespaced")),
});
