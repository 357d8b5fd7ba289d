import { ageColumn, column, wide } from "#api/meta/columns.ts";
import { dns1123Subdomain, pathSegmentName } from "#api/meta/names.ts";
import { equal } from "#lib/data/equal.ts";
import { defaulted, optional, present, required, stated } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { string } from "#schema/types.ts";
import { type Cursor } from "../cursor.ts";
import { type ApiObject, type Column, type Scope } from "../resource.ts";

const object = inPackage("rbac/v1");

export const rbacGroup = "rbac.authorization.k8s.io";

export const Subject = object(
  "Subject",
  { atomic: true, doc: "A user, group or service account.", defaults: setSubjectGroup },
  {
    kind: present(1, string(), "Kind of the subject: User, Group or ServiceAccount."),
    apiGroup: optional(2, string(), "API group of the kind; empty for a ServiceAccount."),
    name: required(3, string(), "Name of the user, group or service account."),
    namespace: optional(4, string(), "Namespace of a ServiceAccount; empty for the other kinds."),
  },
);
export interface Subject extends Infer<typeof Subject> {}

function setSubjectGroup(subject: { kind: string; apiGroup?: string }): void {
  if (!subject.apiGroup && (subject.kind === "User" || subject.kind === "Group")) subject.apiGroup = rbacGroup;
}

export const RoleRef = object.atomic("RoleRef", "The role that grants the permissions.", {
  apiGroup: stated(defaulted(1, string(), rbacGroup, "API group of the role."), ""),
  kind: present(2, string(), "Kind of the role: Role or ClusterRole."),
  name: required(3, string(pathSegmentName), "Name of the role."),
});
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
  column("Role", "The role that is granted.", ({ roleRef: { kind, name } }) => `${kind}/${name}`),
  ageColumn,
  wide(column("Users", "Users who get the role.", (binding) => names(binding, "User"))),
  wide(column("Groups", "Groups that get the role.", (binding) => names(binding, "Group"))),
  wide(column("ServiceAccounts", "Service accounts that get the role.", (binding) => names(binding, "ServiceAccount"))),
];

/** `kinds` are the kinds of roles that such a binding can grant. */
export function validateBinding(binding: Cursor<Binding>, scope: Scope, kinds: readonly string[]): void {
  const at = binding.field("roleRef");
  at.field("apiGroup").oneOf([rbacGroup]);
  at.field("kind").oneOf(kinds);
  binding.each("subjects", (at) => validateSubject(at, scope));
}

export function validateBindingUpdate(binding: Cursor<Binding>, old: Binding): void {
  if (!equal(binding.value.roleRef, old.roleRef)) binding.field("roleRef").invalid("cannot change roleRef");
}

function validateSubject(at: Cursor<Subject>, scope: Scope): void {
  const { kind, apiGroup = "" } = at.value;
  if (kind === "ServiceAccount") {
    at.set("name")?.rule(dns1123Subdomain);
    at.set("apiGroup")?.unsupported([""]);
    if (scope === "Cluster") at.field("namespace").required();
  } else if (kind === "User" || kind === "Group") at.field("apiGroup").as(apiGroup).oneOf([rbacGroup]);
  else at.field("kind").unsupported(["ServiceAccount", "User", "Group"]);
}
