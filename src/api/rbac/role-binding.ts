import { list, optional, present } from "#schema/schema.ts";
import { pathSegmentName } from "../meta/names.ts";
import { defineResource, type ObjectOf } from "../resource.ts";
import { bindingColumns, RoleRef, Subject, validateBinding, validateBindingUpdate } from "./subject.ts";

const fields = {
  subjects: optional(2, list(Subject, { list: "atomic" }), "Who gets the rights."),
  roleRef: present(3, RoleRef, "The role, or the cluster role, whose rights are given. Cannot be changed."),
};
export interface RoleBinding extends ObjectOf<typeof fields> {}

/** Gives a role in one namespace. */
export const RoleBinding = defineResource({
  group: "rbac.authorization.k8s.io",
  version: "v1",
  kind: "RoleBinding",
  plural: "rolebindings",
  package: "rbac/v1",
  scope: "Namespaced",
  createOnUpdate: true,
  doc: "Gives the rights of a role to users, groups and accounts, within one namespace.",
  fields,
  columns: bindingColumns,
  nameRule: pathSegmentName,

  validate: (binding) => validateBinding(binding, "Namespaced", ["Role", "ClusterRole"]),
  validateUpdate: validateBindingUpdate,
});
