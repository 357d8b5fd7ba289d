import { ageColumn, column } from "#api/meta/columns.ts";
import { conditionOf } from "#api/meta/condition.ts";
import { dns1123Label, qualifiedName } from "#api/meta/names.ts";
import { validateFinalizerDomain } from "#api/meta/validate-meta.ts";
import { defaulted, embedded, optional } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { atomicList, listByKey, string } from "#schema/types.ts";
import { type ClusterObject, defineResource, type ObjectOf } from "../resource.ts";

const object = inPackage("core/v1");

export const NamespaceSpec = object("NamespaceSpec", "What keeps a namespace alive.", {
  finalizers: optional(1, atomicList(string()), "Names that must be removed before the namespace can go."),
});

export const NamespaceCondition = conditionOf(
  "core/v1.NamespaceCondition",
  "Type of the condition, such as NamespaceContentRemaining.",
  {
    tags: { lastTransitionTime: 4, reason: 5, message: 6 },
  },
);
export interface NamespaceCondition extends Infer<typeof NamespaceCondition> {}

export const NamespaceStatus = object("NamespaceStatus", "Where a namespace is in its life.", {
  phase: defaulted(1, string(), "Active", "Active, or Terminating once it is being deleted."),
  conditions: optional(2, listByKey("type", NamespaceCondition), "What the deletion is waiting for."),
});

const nameLabel = "kubernetes.io/metadata.name";

const fields = {
  spec: embedded(2, NamespaceSpec),
  status: embedded(3, NamespaceStatus),
};
export interface Namespace extends ClusterObject<typeof fields> {}

export const Namespace = defineResource("v1.Namespace", fields, {
  shortNames: ["ns"],
  scope: "Cluster",
  isNamespace: true,
  verbs: ["create", "delete", "get", "list", "patch", "update", "watch"],
  doc: "A space in which names are unique; deleting it deletes all that is in it.",
  withStatus: () => ({ phase: "Active" }),
  subresources: [{ name: "finalize", verbs: ["update"], resets: { status: true } }],
  columns: [column("Status", "The status of the namespace.", ({ status }) => status.phase), ageColumn],
  selectableFields: { "status.phase": ({ status }) => status.phase },
  nameRule: dns1123Label,

  defaults: labelWithName,
  prepareForCreate(namespace) {
    const finalizers = namespace.spec.finalizers ?? [];
    if (!finalizers.includes("kubernetes")) namespace.spec.finalizers = [...finalizers, "kubernetes"];
    labelWithName(namespace);
  },
  prepareForUpdate(namespace, old) {
    namespace.spec = old.spec;
    labelWithName(namespace);
  },
  validate(namespace) {
    for (const name of namespace.value.spec.finalizers ?? []) {
      const at = namespace.under("spec", "finalizers").as(name);
      at.rule(qualifiedName);
      validateFinalizerDomain(at);
    }
  },
  validateStatusUpdate(namespace) {
    const { metadata, status } = namespace.value;
    const at = namespace.under("status", "Phase").as(status.phase);
    if (metadata.deletionTimestamp && at.value !== "Terminating") {
      at.invalid("may only be 'Terminating' if `deletionTimestamp` is not empty");
    } else if (!metadata.deletionTimestamp && at.value !== "Active") {
      at.invalid("may only be 'Active' if `deletionTimestamp` is empty");
    }
  },
  holdsDeletion: ({ spec }) => (spec.finalizers ?? []).length > 0,
  prepareForDeletion(namespace) {
    namespace.status = { ...namespace.status, phase: "Terminating" };
  },
});

/** Every namespace can be selected by its name. */
function labelWithName({ metadata }: ObjectOf<typeof fields>): void {
  if (!metadata.name || metadata.labels?.[nameLabel] === metadata.name) return;
  metadata.labels = { ...metadata.labels, [nameLabel]: metadata.name };
}
