import { ageColumn, column } from "#api/meta/columns.ts";
import { conditionOf } from "#api/meta/condition.ts";
import { dns1123Label, qualifiedName } from "#api/meta/names.ts";
import { validateFinalizerDomain } from "#api/meta/validate-meta.ts";
import { defaulted, optional } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { atomicList, known, listByKey, string } from "#schema/types.ts";
import { type ClusterObject, defineResource, type ObjectOf } from "../resource.ts";

const object = inPackage("core/v1");

const types = "such as NamespaceContentRemaining";
export const NamespaceCondition = conditionOf("core/v1.NamespaceCondition", types, [4, 5, 6]);
export interface NamespaceCondition extends Infer<typeof NamespaceCondition> {}

const nameLabel = "kubernetes.io/metadata.name";

const fields = {
  spec: object.embedded(2, "NamespaceSpec", "What must be done before the namespace is removed.", {
    finalizers: optional(1, atomicList(string()), "Tasks that must be done before the namespace is removed."),
  }),
  status: object.embedded(3, "NamespaceStatus", "Where the namespace is in its life cycle.", {
    phase: defaulted(
      1,
      known("Active", "Terminating"),
      "Active",
      "Phase of the namespace: Active, or Terminating while it is deleted.",
    ),
    conditions: optional(2, listByKey("type", NamespaceCondition), "What the deletion of the namespace waits for."),
  }),
};
export interface Namespace extends ClusterObject<typeof fields> {}

export const Namespace = defineResource("v1.Namespace", fields, {
  shortNames: ["ns"],
  scope: "Cluster",
  isNamespace: true,
  verbs: ["create", "delete", "get", "list", "patch", "update", "watch"],
  doc: "A scope for names. Deleting it deletes everything in it.",
  withStatus: () => ({ phase: "Active" }),
  subresources: [{ name: "finalize", verbs: ["update"], resets: { status: true } }],
  columns: [column("Status", "Phase of the namespace.", ({ status }) => status.phase), ageColumn],
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
