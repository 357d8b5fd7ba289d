import { list, optional, present } from "#schema/schema.ts";
import { pathSegmentName } from "../meta/names.ts";
import { defineResource, type ObjectOf } from "../resource.ts";
import { bindingColumns, RoleRef, Subject, validateBinding, validateBindingUpdate } from "./subject.ts";

const fields = {
  subjects: optional(2, list(Subject, { list: "atomic" }), "Who gets the rights."),
  roleRef: present(3, RoleRef, "The cluster role whose rights are given. Cannot be changed."),
};
export interface ClusterRoleBinding extends ObjectOf<typeof fields> {}

/** Gives a role everywhere. */
export const ClusterRoleBinding = defineResource({
  group: "rbac.authorization.k8s.io",
  version: "v1",
  kind: "ClusterRoleBinding",
  plural: "clusterrolebindings",
  package: "rbac/v1",
  scope: "Cluster",
  createOnUpdate: true,
  doc: "Gives the rights of a cluster role to users, groups and accounts, in the whole cluster.",
  fields,
  columns: bindingColumns,
  nameRule: pathSegmentName,

  validate: (binding) => validateBinding(binding, "Cluster", ["ClusterRole"]),
  validateUpdate: validateBindingUpdate,
});
