import { pathSegmentName } from "#api/meta/names.ts";
import { optional, present } from "#schema/fields.ts";
import { atomicList } from "#schema/types.ts";
import { defineResource, type NamespacedObject } from "../resource.ts";
import { bindingColumns, RoleRef, Subject, validateBinding, validateBindingUpdate } from "./subject.ts";

const fields = {
  subjects: optional(2, atomicList(Subject), "Who gets the rights."),
  roleRef: present(3, RoleRef, "The role, or the cluster role, whose rights are given. Cannot be changed."),
};
export interface RoleBinding extends NamespacedObject<typeof fields> {}

export const RoleBinding = defineResource("rbac.authorization.k8s.io/v1.RoleBinding", fields, {
  createOnUpdate: true,
  doc: "Gives the rights of a role to users, groups and accounts, within one namespace.",
  columns: bindingColumns,
  nameRule: pathSegmentName,

  validate: (binding) => validateBinding(binding, "Namespaced", ["Role", "ClusterRole"]),
  validateUpdate: validateBindingUpdate,
});
