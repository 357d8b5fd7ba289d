import { pathSegmentName } from "#api/meta/names.ts";
import { optional, present } from "#schema/fields.ts";
import { atomicList } from "#schema/types.ts";
import { type ClusterObject, defineResource } from "../resource.ts";
import { bindingColumns, RoleRef, Subject, validateBinding, validateBindingUpdate } from "./subject.ts";

const fields = {
  subjects: optional(2, atomicList(Subject), "Users, groups and service accounts that get the permissions."),
  roleRef: present(3, RoleRef, "ClusterRole that grants the permissions. Cannot be changed."),
};
export interface ClusterRoleBinding extends ClusterObject<typeof fields> {}

export const ClusterRoleBinding = defineResource("rbac.authorization.k8s.io/v1.ClusterRoleBinding", fields, {
  scope: "Cluster",
  createOnUpdate: true,
  doc: "Grants the permissions of a ClusterRole to users, groups and service accounts in the whole cluster.",
  columns: bindingColumns,
  nameRule: pathSegmentName,

  validate: (binding) => validateBinding(binding, "Cluster", ["ClusterRole"]),
  validateUpdate: validateBindingUpdate,
});
