import { equal } from "#lib/equal.ts";
import {
  type FieldError,
  type FieldPath,
  invalidValue,
  requiredValue,
  root,
  unsupportedValue,
} from "#schema/field-error.ts";
import { defaulted, type Infer, object, optional, present, required, string } from "#schema/schema.ts";
import { ageColumn } from "../meta/columns.ts";
import { dns1123Subdomain, pathSegmentName } from "../meta/names.ts";
import { type ApiObject, type Column } from "../resource.ts";

export const rbacGroup = "rbac.authorization.k8s.io";

export const Subject = object(
  "rbac/v1.Subject",
  {
    kind: present(1, string(), "User, Group or ServiceAccount."),
    apiGroup: optional(2, string(), "Group of the kind; empty for a ServiceAccount."),
    name: required(3, string(), "Name of the user, group or account."),
    namespace: optional(4, string(), "Namespace of a ServiceAccount."),
  },
  { atomic: true, doc: "Somebody who is given rights.", defaults: setSubjectGroup },
);
export interface Subject extends Infer<typeof Subject> {}

function setSubjectGroup(subject: { kind: string; apiGroup?: string }): void {
  if (!subject.apiGroup && (subject.kind === "User" || subject.kind === "Group")) subject.apiGroup = rbacGroup;
}

export const RoleRef = object(
  "rbac/v1.RoleRef",
  {
    apiGroup: defaulted(1, string(), rbacGroup, "Group of the role."),
    kind: present(2, string(), "Role or ClusterRole."),
    name: required(3, string(), "Name of the role."),
  },
  { atomic: true, doc: "The role whose rights are given." },
);
export interface RoleRef extends Infer<typeof RoleRef> {}

/** The parts that the two kinds of bindings share. */
export interface Binding extends ApiObject {
  roleRef: RoleRef;
  subjects?: Subject[];
}

const names = ({ subjects = [] }: Binding, kind: string): string =>
  subjects
    .filter((subject) => subject.kind === kind)
    .map(({ namespace = "", name }) => (kind === "ServiceAccount" ? `${namespace}/${name}` : name))
    .join(", ");

export const bindingColumns: readonly Column<Binding>[] = [
  {
    name: "Role",
    type: "string",
    description: "The role that is given.",
    value: ({ roleRef: { kind, name } }) => `${kind}/${name}`,
  },
  ageColumn,
  {
    name: "Users",
    type: "string",
    priority: 1,
    description: "Users who get the role.",
    value: (binding) => names(binding, "User"),
  },
  {
    name: "Groups",
    type: "string",
    priority: 1,
    description: "Groups that get the role.",
    value: (binding) => names(binding, "Group"),
  },
  {
    name: "ServiceAccounts",
    type: "string",
    priority: 1,
    description: "Service accounts that get the role.",
    value: (binding) => names(binding, "ServiceAccount"),
  },
];

/** `kinds` are the roles that such a binding can give. */
export function* validateBinding(
  { roleRef: { apiGroup, kind, name }, subjects = [] }: Binding,
  scope: "Namespaced" | "Cluster",
  kinds: readonly string[],
): Iterable<FieldError> {
  const path = root.child("roleRef");
  if (apiGroup !== rbacGroup) yield unsupportedValue(path.child("apiGroup"), apiGroup, [rbacGroup]);
  if (!kinds.includes(kind)) yield unsupportedValue(path.child("kind"), kind, kinds);
  for (const fault of pathSegmentName.all(name)) yield invalidValue(path.child("name"), name, fault);
  for (const [index, subject] of subjects.entries()) {
    yield* validateSubject(subject, scope, root.child("subjects").index(index));
  }
}

export function* validateBindingUpdate({ roleRef }: Binding, old: Binding): Iterable<FieldError> {
  if (!equal(roleRef, old.roleRef)) yield invalidValue(root.child("roleRef"), roleRef, "cannot change roleRef");
}

function* validateSubject(
  { kind, name, namespace, apiGroup = "" }: Subject,
  scope: "Namespaced" | "Cluster",
  path: FieldPath,
): Iterable<FieldError> {
  if (kind === "ServiceAccount") {
    if (name) for (const fault of dns1123Subdomain.all(name)) yield invalidValue(path.child("name"), name, fault);
    if (apiGroup) yield unsupportedValue(path.child("apiGroup"), apiGroup, [""]);
    if (scope === "Cluster" && !namespace) yield requiredValue(path.child("namespace"));
  } else if (kind === "User" || kind === "Group") {
    if (apiGroup !== rbacGroup) yield unsupportedValue(path.child("apiGroup"), apiGroup, [rbacGroup]);
  } else {
    yield unsupportedValue(path.child("kind"), kind, ["ServiceAccount", "User", "Group"]);
  }
}
