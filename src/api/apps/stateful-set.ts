import { dropDisabledFields } from "#api/core/pod/pod-prepare.ts";
import { containerColumns, validateCounts, warnOfTemplate } from "#api/core/pod/pod-template-rules.ts";
import { warnOfFraction } from "#api/core/volume/volume-warnings.ts";
import { ageColumn, column } from "#api/meta/columns.ts";
import { conditionOf } from "#api/meta/condition.ts";
import { dns1123Label } from "#api/meta/names.ts";
import { defaulted, embedded, nullable, optional, present, stated } from "#schema/fields.ts";
import { inPackage } from "#schema/schema.ts";
import { int32, int64, listByKey, string } from "#schema/types.ts";
import { type Cursor } from "../cursor.ts";
import { defineResource, type NamespacedObject, type ObjectOf } from "../resource.ts";
import { StatefulSetSpec } from "./stateful-set-spec.ts";
import { validateNewStatefulSet, validateStatefulSet, validateStatefulSetUpdate } from "./validate-stateful-set.ts";

const object = inPackage("apps/v1");

const StatefulSetCondition = conditionOf("apps/v1.StatefulSetCondition", "chosen by the controller", [3, 4, 5]);

const StatefulSetStatus = object("StatefulSetStatus", "The observed state of a StatefulSet.", {
  observedGeneration: optional(1, int64(), "Generation of the StatefulSet that this status was computed from."),
  replicas: present(2, int32(), "Number of pods of the StatefulSet."),
  readyReplicas: optional(3, int32(), "Number of ready pods."),
  currentReplicas: optional(4, int32(), "Number of pods of the revision in currentRevision."),
  updatedReplicas: optional(5, int32(), "Number of pods of the revision in updateRevision."),
  currentRevision: optional(6, string(), "Revision of the pods that are not updated yet."),
  updateRevision: optional(7, string(), "Revision of the pods that are already updated."),
  collisionCount: nullable(9, int32(), "How often the name of a new ControllerRevision was already taken."),
  conditions: optional(
    10,
    listByKey("type", StatefulSetCondition),
    "Conditions of the StatefulSet, one for each type.",
  ),
  availableReplicas: stated(
    defaulted(11, int32(), 0, "Number of pods that have been ready for at least minReadySeconds."),
  ),
});

const fields = { spec: embedded(2, StatefulSetSpec), status: embedded(3, StatefulSetStatus) };
export interface StatefulSet extends NamespacedObject<typeof fields> {}
type SentSet = ObjectOf<typeof fields>;

export const StatefulSet = defineResource("apps/v1.StatefulSet", fields, {
  doc: "Runs pods with lasting names, each with volumes of its own.",
  shortNames: ["sts"],
  categories: ["all"],
  nameRule: dns1123Label,
  hasGeneration: true,
  withStatus: () => ({ replicas: 0, availableReplicas: 0 }),
  scalable: true,
  columns: [
    column("Ready", "Ready and desired pods.", ({ spec, status }) => `${status.readyReplicas ?? 0}/${spec.replicas}`),
    ageColumn,
    ...containerColumns,
  ],

  defaults({ spec }) {
    for (const claim of spec.volumeClaimTemplates ?? []) {
      claim.apiVersion = "v1";
      claim.kind = "PersistentVolumeClaim";
    }
  },
  prepareForCreate: ({ spec }) => dropDisabled(spec, undefined),
  prepareForUpdate: ({ spec }, old) => dropDisabled(spec, old.spec),
  validate: validateStatefulSet,
  validateCreate: validateNewStatefulSet,
  validateUpdate: validateStatefulSetUpdate,
  validateStatusUpdate,
  warnings,
});

/** The number of unavailable pods is not supported by default in this release. */
function dropDisabled(spec: StatefulSetSpec, old: StatefulSetSpec | undefined): void {
  dropDisabledFields(spec.template.spec, old?.template.spec);
  if (old?.updateStrategy.rollingUpdate?.maxUnavailable === undefined) {
    delete spec.updateStrategy.rollingUpdate?.maxUnavailable;
  }
}

function validateStatusUpdate(set: Cursor<SentSet>, { status: old }: SentSet): void {
  const at = set.field("status");
  const { collisionCount } = at.value;
  const parts = ["readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"] as const;
  validateCounts(at, parts, "status.readyReplicas");
  if (old.collisionCount !== undefined && (collisionCount ?? -1) < old.collisionCount) {
    at.field("collisionCount").invalid("cannot be decremented", collisionCount ?? 0);
  }
}

function warnings(set: Cursor<SentSet>, old: SentSet | undefined): void {
  const at = set.field("spec");
  warnOfTemplate(set, old, at.field("template"));
  at.each("volumeClaimTemplates", (claim) => {
    // Upstream's paths, which are not those of the fields.
    const place = (old ? claim.under("Spec") : claim).under("resources");
    const { requests, limits } = claim.value.spec.resources;
    warnOfFraction(place.under("requests").as(requests), "storage");
    warnOfFraction(place.under("limits").as(limits), "storage");
  });
  if (at.value.revisionHistoryLimit < 0) {
    const text = "a negative value retains all historical revisions; a value >= 0 is recommended";
    at.field("revisionHistoryLimit").warn(text);
  }
}
