import { pathSegmentName } from "#api/meta/names.ts";
import { optional, present } from "#schema/fields.ts";
import { atomicList } from "#schema/types.ts";
import { defineResource, type NamespacedObject } from "../resource.ts";
import { bindingColumns, RoleRef, Subject, validateBinding, validateBindingUpdate } from "./subject.ts";

const fields = {
  subjects: optional(2, atomicList(Subject), "Users, groups and service accounts that get the permissions."),
  roleRef: present(3, RoleRef, "Role or ClusterRole that grants the permissions. Cannot be changed."),
};
export interface RoleBinding extends NamespacedObject<typeof fields> {}

export const RoleBinding = defineResource("rbac.authorization.k8s.io/v1.RoleBinding", fields, {
  createOnUpdate: true,
  doc: "Grants the permissions of a role to users, groups and service accounts in one namespace.",
  columns: bindingColumns,
  nameRule: pathSegmentName,

  validate: (binding) => validateBinding(binding, "Namespaced", ["Role", "ClusterRole"]),
  validateUpdate: validateBindingUpdate,
});
