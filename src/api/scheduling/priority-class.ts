import { ageColumn, column, numberColumn } from "#api/meta/columns.ts";
import { defaulted, immutable, inGo, optional, present, undemanded, written } from "#schema/fields.ts";
import { boolean, int32, listedOneOf, string } from "#schema/types.ts";
import { type ClusterObject, defineResource, type InputOf, type ObjectOf } from "../resource.ts";

const preemptionPolicies = listedOneOf("PreemptLowerPriority", "Never");
const fields = {
  value: undemanded(written(present(2, int32(), "Priority of the pods of this class. Cannot be changed."))),
  globalDefault: optional(3, boolean(), "Whether pods that name no class get this one. Only one class can be so."),
  description: optional(4, string(), "What the class is meant for, for people."),
  preemptionPolicy: immutable(
    inGo(
      { isPointer: true },
      defaulted(5, preemptionPolicies, "PreemptLowerPriority", "Whether pods of this class may displace other pods."),
    ),
  ),
};
export interface PriorityClass extends ClusterObject<typeof fields> {}

/** Values above this one are for the system. */
const highestUserPriority = 1_000_000_000;
const systemPrefix = "system-";

/** The classes that every cluster has. */
export const systemPriorityClasses = [
  {
    metadata: { name: "system-node-critical" },
    value: 2_000_001_000,
    description: "Used for system critical pods that must not be moved from their current node.",
  },
  {
    metadata: { name: "system-cluster-critical" },
    value: 2_000_000_000,
    description:
      "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
  },
] as const satisfies readonly InputOf<PriorityClass>[];

export const PriorityClass = defineResource("scheduling.k8s.io/v1.PriorityClass", fields, {
  doc: "Maps the name of a priority class to the priority of its pods. A higher value is more important.",
  shortNames: ["pc"],
  scope: "Cluster",
  columns: [
    numberColumn("Value", "The priority of the class.", ({ value }) => value),
    { ...column("Global-Default", "Whether it is the default.", (pc) => pc.globalDefault ?? false), type: "boolean" },
    ageColumn,
    column("PreemptionPolicy", "Whether pods may displace others.", (pc) => pc.preemptionPolicy),
  ],

  // It stays the same, because updates cannot change what it means.
  prepareForCreate({ metadata }) {
    metadata.generation = 1;
  },
  validate(at) {
    const { metadata, value } = at.value;
    if (metadata.name?.startsWith(systemPrefix)) {
      const fault = systemFault(at.value);
      const text = `priority class names with '${systemPrefix}' prefix are reserved for system use only. error: ${fault}`;
      if (fault) at.under("metadata", "name").forbidden(text);
    } else if (value > highestUserPriority) {
      at.field("value").forbidden(`maximum allowed value of a user defined priority is ${highestUserPriority}`);
    }
    at.field("preemptionPolicy").required();
  },
  validateUpdate(at, old) {
    if (at.value.value !== old.value) at.field("value").forbidden("may not be changed in an update.");
  },
});

/** How the class differs from the system class of the same name. */
function systemFault({
  metadata: { name },
  value,
  globalDefault = false,
}: ObjectOf<typeof fields>): string | undefined {
  const known = systemPriorityClasses.find(({ metadata }) => metadata.name === name);
  if (!known) return `${name} is not a known system priority class`;
  if (value !== known.value) return `value of ${name} PriorityClass must be ${known.value}`;
  return globalDefault ? `globalDefault of ${name} PriorityClass must be false` : undefined;
}
