import { type FieldError, type FieldPath, invalidValue, root } from "#schema/field-error.ts";
import {
  defaulted,
  embedded,
  type Infer,
  list,
  listByKey,
  object,
  optional,
  present,
  string,
  time,
} from "#schema/schema.ts";
import { ageColumn } from "../meta/columns.ts";
import { dns1123Label, qualifiedName } from "../meta/names.ts";
import { defineResource, type ObjectOf } from "../resource.ts";

export const NamespaceSpec = object(
  "core/v1.NamespaceSpec",
  {
    finalizers: optional(
      1,
      list(string(), { list: "atomic" }),
      "Names that must be removed before the namespace can go.",
    ),
  },
  { doc: "What keeps a namespace alive." },
);
export interface NamespaceSpec extends Infer<typeof NamespaceSpec> {}

export const NamespaceCondition = object(
  "core/v1.NamespaceCondition",
  {
    type: present(1, string(), "What the condition is about."),
    status: present(2, string(), "True, False or Unknown."),
    lastTransitionTime: optional(4, time(), "When the status last changed."),
    reason: optional(5, string(), "One word for why."),
    message: optional(6, string(), "The same for people."),
  },
  { doc: "One aspect of a namespace's present state." },
);
export interface NamespaceCondition extends Infer<typeof NamespaceCondition> {}

export const NamespaceStatus = object(
  "core/v1.NamespaceStatus",
  {
    phase: defaulted(1, string(), "Active", "Active, or Terminating once it is being deleted."),
    conditions: optional(2, listByKey("type", NamespaceCondition), "What the deletion is waiting for."),
  },
  { doc: "Where a namespace is in its life." },
);
export interface NamespaceStatus extends Infer<typeof NamespaceStatus> {}

const nameLabel = "kubernetes.io/metadata.name";

const fields = {
  spec: embedded(2, NamespaceSpec, "What keeps the namespace alive."),
  status: embedded(3, NamespaceStatus, "Where the namespace is in its life."),
};
export interface Namespace extends ObjectOf<typeof fields> {}

/** A space of names, and what goes together when it goes. */
export const Namespace = defineResource({
  group: "",
  version: "v1",
  kind: "Namespace",
  plural: "namespaces",
  package: "core/v1",
  shortNames: ["ns"],
  scope: "Cluster",
  verbs: ["create", "delete", "get", "list", "patch", "update", "watch"],
  doc: "A space in which names are unique; deleting it deletes all that is in it.",
  fields,
  subresources: [
    { name: "finalize", verbs: ["update"] },
    { name: "status", verbs: ["get", "patch", "update"] },
  ],
  columns: [
    {
      name: "Status",
      type: "string",
      description: "The status of the namespace.",
      value: ({ status }) => status.phase,
    },
    ageColumn,
  ],
  selectableFields: { "status.phase": ({ status }) => status.phase },
  nameRule: dns1123Label,

  defaults: labelWithName,
  prepareForCreate(namespace) {
    namespace.status = { phase: "Active" };
    const finalizers = namespace.spec.finalizers ?? [];
    if (!finalizers.includes("kubernetes")) namespace.spec.finalizers = [...finalizers, "kubernetes"];
    labelWithName(namespace);
  },
  prepareForUpdate(namespace, old) {
    namespace.spec = old.spec;
    namespace.status = old.status;
    labelWithName(namespace);
  },
  *validate({ spec }) {
    const path = root.child("spec", "finalizers");
    for (const name of spec.finalizers ?? []) yield* validateFinalizer(name, path);
  },
  *validateStatusUpdate({ metadata, status: { phase } }) {
    const path = root.child("status", "Phase");
    if (metadata.deletionTimestamp) {
      if (phase === "Terminating") return;
      yield invalidValue(path, phase, "may only be 'Terminating' if `deletionTimestamp` is not empty");
    } else if (phase !== "Active") {
      yield invalidValue(path, phase, "may only be 'Active' if `deletionTimestamp` is empty");
    }
  },
  holdsDeletion: ({ spec }) => (spec.finalizers ?? []).length > 0,
  prepareForDeletion(namespace) {
    namespace.status = { ...namespace.status, phase: "Terminating" };
  },
});

/** Every namespace can be selected by its name. */
function labelWithName({ metadata }: Namespace): void {
  if (!metadata.name || metadata.labels?.[nameLabel] === metadata.name) return;
  metadata.labels = { ...metadata.labels, [nameLabel]: metadata.name };
}

const standardFinalizers = ["kubernetes", "orphan", "foregroundDeletion"];

function* validateFinalizer(name: string, path: FieldPath): Iterable<FieldError> {
  for (const fault of qualifiedName.all(name)) yield invalidValue(path, name, fault);
  if (!name.includes("/") && !standardFinalizers.includes(name)) {
    yield invalidValue(path, name, "name is neither a standard finalizer name nor is it fully qualified");
  }
}
