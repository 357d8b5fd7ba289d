import { ageColumn, column, numberColumn } from "#api/meta/columns.ts";
import { Condition, validateConditions } from "#api/meta/condition.ts";
import { validateAtMost100Percent, validateIntOrPercent } from "#api/meta/int-or-string.ts";
import { LabelSelector, validateLabelSelector } from "#api/meta/label-selector.ts";
import { pathSegmentName } from "#api/meta/names.ts";
import { embedded, nullable, optional, patched, present, undemanded } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { int32, int64, intOrString, known, listByKey, map, time } from "#schema/types.ts";
import { type Cursor } from "../cursor.ts";
import { defineResource, type NamespacedObject, type ObjectOf } from "../resource.ts";

const object = inPackage("policy/v1");

const about = "Which pods a disruption budget is for, and how many of them must stay.";
const PodDisruptionBudgetSpec = object("PodDisruptionBudgetSpec", about, {
  minAvailable: nullable(1, intOrString(), "How many of the pods must stay available, as a number or a percentage."),
  selector: patched("replace", nullable(2, LabelSelector, "Selects the pods of the budget; none if absent.")),
  maxUnavailable: nullable(3, intOrString(), "How many pods may be unavailable. Cannot be combined with minAvailable."),
  unhealthyPodEvictionPolicy: nullable(
    4,
    known("AlwaysAllow", "IfHealthyBudget"),
    "When unready pods may leave: AlwaysAllow or IfHealthyBudget.",
  ),
});
interface PodDisruptionBudgetSpec extends Infer<typeof PodDisruptionBudgetSpec> {}

const PodDisruptionBudgetStatus = object("PodDisruptionBudgetStatus", "The observed state of a disruption budget.", {
  observedGeneration: optional(1, int64(), "Generation of the budget that this status was computed from."),
  disruptedPods: optional(2, map(time()), "Pods whose eviction was allowed, with its time, until they are deleted."),
  disruptionsAllowed: undemanded(present(3, int32(), "Number of pods that may be evicted now.")),
  currentHealthy: undemanded(present(4, int32(), "Number of pods of the budget that are healthy.")),
  desiredHealthy: undemanded(present(5, int32(), "Number of pods of the budget that must stay healthy.")),
  expectedPods: undemanded(present(6, int32(), "Number of pods that the budget counts on.")),
  conditions: optional(7, listByKey("type", Condition), "Conditions of the budget, one for each type."),
});

const fields = { spec: embedded(2, PodDisruptionBudgetSpec), status: embedded(3, PodDisruptionBudgetStatus) };
export interface PodDisruptionBudget extends NamespacedObject<typeof fields> {}

export const PodDisruptionBudget = defineResource("policy/v1.PodDisruptionBudget", fields, {
  doc: "Limits how many pods of an application may be evicted at the same time.",
  shortNames: ["pdb"],
  hasGeneration: true,
  conditionalUpdate: true,
  withStatus: () => ({ disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 }),
  columns: [
    column("Min Available", "How many pods must stay available.", ({ spec }) => shownLimit(spec.minAvailable)),
    column("Max Unavailable", "How many pods may be unavailable.", ({ spec }) => shownLimit(spec.maxUnavailable)),
    numberColumn("Allowed Disruptions", "How many pods may go now.", ({ status }) => status.disruptionsAllowed),
    ageColumn,
  ],

  nameRule: pathSegmentName,
  validate: (budget) => validateSpec(budget.field("spec")),
  validateStatusUpdate,
});

const shownLimit = (limit: number | string | undefined): string => (limit === undefined ? "N/A" : String(limit));

function validateSpec(at: Cursor<PodDisruptionBudgetSpec>): void {
  const { minAvailable, maxUnavailable, unhealthyPodEvictionPolicy } = at.value;
  if (minAvailable !== undefined && maxUnavailable !== undefined) {
    at.invalid("minAvailable and maxUnavailable cannot be both set", shown(at.value));
  }
  for (const name of ["minAvailable", "maxUnavailable"] as const) {
    at.on(name, (limit) => {
      validateIntOrPercent(limit);
      validateAtMost100Percent(limit);
    });
  }
  at.on("selector", validateLabelSelector);
  if (unhealthyPodEvictionPolicy !== undefined) {
    at.field("unhealthyPodEvictionPolicy").oneOf(["AlwaysAllow", "IfHealthyBudget"]);
  }
}

/** Upstream names the fields here as its source code does. */
const shown = (spec: PodDisruptionBudgetSpec): object => ({
  MinAvailable: spec.minAvailable,
  Selector: spec.selector ?? null,
  MaxUnavailable: spec.maxUnavailable,
  UnhealthyPodEvictionPolicy: spec.unhealthyPodEvictionPolicy ?? null,
});

function validateStatusUpdate(budget: Cursor<ObjectOf<typeof fields>>): void {
  const at = budget.field("status");
  validateConditions(at);
  for (const name of ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"] as const) {
    at.field(name).atLeast(0);
  }
}
