import { column } from "#api/meta/columns.ts";
import { optional, present } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { list, string } from "#schema/types.ts";
import { type ClusterObject, defineResource } from "../resource.ts";

const object = inPackage("core/v1");

const ComponentCondition = object("ComponentCondition", "Whether a component is healthy.", {
  type: present(1, string(), "Type of the condition: Healthy."),
  status: present(2, string(), "Status of the condition: True, False or Unknown."),
  message: optional(3, string(), "What the component says about its health."),
  error: optional(4, string(), "Why its health could not be checked."),
});
export interface ComponentCondition extends Infer<typeof ComponentCondition> {}

const conditions = list(ComponentCondition, { list: "map", keys: ["type"], patch: "merge", mergeKey: "type" });
const fields = { conditions: optional(2, conditions, "Conditions of the component, one for each type.") };
export interface ComponentStatus extends ClusterObject<typeof fields> {}

type Conditions = Pick<ComponentStatus, "conditions">;
const healthOf = (component: Conditions): ComponentCondition | undefined =>
  component.conditions?.find(({ type }) => type === "Healthy");

function shownStatus(component: Conditions): string {
  const health = healthOf(component);
  if (!health) return "Unknown";
  return health.status === "True" ? "Healthy" : "Unhealthy";
}

/** The health of a component, checked when it is read. Nothing of it is stored. */
export const ComponentStatus = defineResource("v1.ComponentStatus", fields, {
  doc: "The health of a component of the control plane. Deprecated: use the health checks of the components.",
  isComputed: true,
  verbs: ["get", "list"],
  plural: "componentstatuses",
  scope: "Cluster",
  shortNames: ["cs"],
  deprecated: { since: "v1.19" },
  columns: [
    column("Status", "Whether the component is healthy.", shownStatus),
    column("Message", "What the component says about its health.", (component) => healthOf(component)?.message ?? ""),
    column("Error", "Why the health could not be checked.", (component) => healthOf(component)?.error ?? ""),
  ],
});
