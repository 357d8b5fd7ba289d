import { dropDisabledFields } from "#api/core/pod/pod-prepare.ts";
import { containerColumns, validateLastingTemplate } from "#api/core/pod/pod-template-rules.ts";
import { warnOfSpec } from "#api/core/pod/pod-warnings.ts";
import { PodTemplateSpec } from "#api/core/pod-template.ts";
import { ageColumn, column, numberColumn, wide } from "#api/meta/columns.ts";
import { conditionOf } from "#api/meta/condition.ts";
import { semanticEqual } from "#api/meta/equal.ts";
import { percentOf, validateAtMost100Percent, validateIntOrPercent } from "#api/meta/int-or-string.ts";
import {
  formatLabelSelector,
  formatLabels,
  isEmptySelector,
  LabelSelector,
  validateLabelSelector,
} from "#api/meta/label-selector.ts";
import { matches } from "#api/meta/selector-matchers.ts";
import { defaulted, embedded, immutable, nullable, optional, present, written } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { int32, int64, intOrString, known, listByKey } from "#schema/types.ts";
import { type Cursor } from "../cursor.ts";
import { type ApiObject, defineResource, type NamespacedObject } from "../resource.ts";
import { badRequest } from "../status.ts";

const object = inPackage("apps/v1");

const RollingUpdateDaemonSet = object("RollingUpdateDaemonSet", "How many pods of a DaemonSet are replaced at once.", {
  maxUnavailable: nullable(1, intOrString(), "How many nodes may lack an available pod, as a number or a percentage."),
  maxSurge: nullable(2, intOrString(), "How many nodes may have an old and a new pod, as a number or a percentage."),
});
interface RollingUpdateDaemonSet extends Infer<typeof RollingUpdateDaemonSet> {}

const UpdateStrategy = object.filledBy(setRollingUpdate, "DaemonSetUpdateStrategy", "How old pods are replaced.", {
  type: defaulted(
    1,
    known("OnDelete", "RollingUpdate"),
    "RollingUpdate",
    "Strategy: RollingUpdate, or OnDelete to replace only deleted pods.",
  ),
  rollingUpdate: nullable(2, RollingUpdateDaemonSet, "Settings of the RollingUpdate strategy."),
});
interface UpdateStrategy extends Infer<typeof UpdateStrategy> {}

function setRollingUpdate(strategy: { type: string; rollingUpdate?: RollingUpdateDaemonSet }): void {
  if (strategy.type !== "RollingUpdate") return;
  strategy.rollingUpdate = { maxUnavailable: 1, maxSurge: 0, ...strategy.rollingUpdate };
}

const DaemonSetCondition = conditionOf("apps/v1.DaemonSetCondition", "chosen by the controller", [3, 4, 5]);

const DaemonSetStatus = object("DaemonSetStatus", "The observed state of a DaemonSet.", {
  currentNumberScheduled: present(1, int32(), "Number of nodes that run a pod and should."),
  numberMisscheduled: present(2, int32(), "Number of nodes that run a pod and should not."),
  desiredNumberScheduled: present(3, int32(), "Number of nodes that should run a pod, whether they do or not."),
  numberReady: present(4, int32(), "Number of nodes that should run a pod and have a ready one."),
  observedGeneration: optional(5, int64(), "Generation of the DaemonSet that this status was computed from."),
  updatedNumberScheduled: optional(6, int32(), "Number of nodes that run a pod of the newest template."),
  numberAvailable: optional(7, int32(), "Number of nodes whose pod has been ready for at least minReadySeconds."),
  numberUnavailable: optional(8, int32(), "Number of nodes that should have an available pod and have none."),
  collisionCount: nullable(9, int32(), "How often the name of a new ControllerRevision was already taken."),
  conditions: optional(10, listByKey("type", DaemonSetCondition), "Conditions of the DaemonSet, one for each type."),
});
interface DaemonSetStatus extends Infer<typeof DaemonSetStatus> {}

const fields = {
  spec: object.embedded(2, "DaemonSetSpec", "The pod that a DaemonSet runs on each node.", {
    selector: written(immutable(present(1, LabelSelector, "Selects the pods of the DaemonSet. Cannot be changed."))),
    template: present(2, PodTemplateSpec, "Template of the pods. They run on all nodes that its nodeSelector allows."),
    updateStrategy: embedded(3, UpdateStrategy, "How old pods are replaced by new ones."),
    minReadySeconds: optional(4, int32({ min: 0 }), "Seconds that a pod must be ready before it counts as available."),
    revisionHistoryLimit: defaulted(6, int32({ min: 0 }), 10, "Number of old revisions to keep for rollbacks."),
  }),
  status: embedded(3, DaemonSetStatus),
};
export interface DaemonSet extends NamespacedObject<typeof fields> {}

export const DaemonSet = defineResource("apps/v1.DaemonSet", fields, {
  doc: "Runs one pod on each node, or on each of some nodes.",
  shortNames: ["ds"],
  categories: ["all"],
  hasGeneration: true,
  withStatus: () => ({
    currentNumberScheduled: 0,
    numberMisscheduled: 0,
    desiredNumberScheduled: 0,
    numberReady: 0,
  }),
  columns: [
    numberColumn("Desired", "Nodes that should run a pod.", ({ status }) => status.desiredNumberScheduled),
    numberColumn("Current", "Nodes that run a pod and should.", ({ status }) => status.currentNumberScheduled),
    numberColumn("Ready", "Nodes that have a ready pod.", ({ status }) => status.numberReady),
    numberColumn(
      "Up-to-date",
      "Nodes with a pod of the newest template.",
      (set) => set.status.updatedNumberScheduled ?? 0,
    ),
    numberColumn("Available", "Nodes that have an available pod.", ({ status }) => status.numberAvailable ?? 0),
    column(
      "Node Selector",
      "Labels of the nodes.",
      ({ spec: { template } }) => formatLabels(template.spec.nodeSelector) || "<none>",
    ),
    ageColumn,
    ...containerColumns,
    wide(column("Selector", "Selects the pods.", ({ spec }) => formatLabelSelector(spec.selector) || "<none>")),
  ],

  /** It is there before fields get their owners, so it belongs to whoever writes the object. */
  defaults: (set) => setTemplateGeneration(set, templateGenerationOf(set)),
  prepareForCreate(set) {
    setTemplateGeneration(set, Math.max(1, templateGenerationOf(set)));
    dropDisabledFields(set.spec.template.spec, undefined);
  },
  prepareForUpdate(set, old) {
    dropDisabledFields(set.spec.template.spec, old.spec.template.spec);
    const isSame = semanticEqual(PodTemplateSpec, set.spec.template, old.spec.template);
    setTemplateGeneration(set, templateGenerationOf(old) + (isSame ? 0 : 1));
  },
  prepareForStatusUpdate: (set, old) => setTemplateGeneration(set, templateGenerationOf(old)),
  validate: validateDaemonSet,
  validateStatusUpdate,
  warnings(at, old) {
    const isNew = !old || templateGenerationOf(at.value) !== templateGenerationOf(old);
    if (isNew) warnOfSpec(at.field("spec").field("template"));
  },
});

/** Counts the changes of the template. It was a field once, which the controller still reads. */
const generationAnnotation = "deprecated.daemonset.template.generation";

function templateGenerationOf({ metadata }: ApiObject): number {
  const text = metadata.annotations?.[generationAnnotation] ?? "0";
  if (/^[-+]?\d{1,15}$/.test(text)) return Number(text);
  const why = `strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`;
  throw badRequest(`DaemonSet in version "v1" cannot be handled as a DaemonSet: ${why}`);
}

function setTemplateGeneration({ metadata }: ApiObject, generation: number): void {
  metadata.annotations = { ...metadata.annotations, [generationAnnotation]: String(generation) };
}

function validateDaemonSet(set: Cursor<DaemonSet>): void {
  const at = set.field("spec");
  const { selector, template } = at.value;
  const { faultCount } = at;
  validateLabelSelector(at.field("selector"));
  const { labels } = template.metadata;
  // An empty selector reads the same as a missing one, which matches nothing.
  const fits = !isEmptySelector(selector) && matches(selector, labels);
  if (at.faultCount === faultCount && !fits) {
    const place = at.under("template", "metadata", "labels").as(labels);
    place.invalid("`selector` does not match template `labels`");
  }
  validateLastingTemplate(at.field("template"), "activeDeadlineSeconds in DaemonSet is not Supported");
  validateStrategy(at.field("updateStrategy"));
}

function validateStrategy(at: Cursor<UpdateStrategy>): void {
  const { type, rollingUpdate } = at.value;
  if (type === "RollingUpdate") {
    if (!rollingUpdate) at.field("rollingUpdate").missing();
    at.on("rollingUpdate", validateRollingUpdate);
  } else if (type !== "OnDelete") {
    // As upstream's own type shows it.
    const { maxUnavailable: MaxUnavailable = 0, maxSurge: MaxSurge = 0 } = rollingUpdate ?? {};
    const shown = { Type: type, RollingUpdate: rollingUpdate ? { MaxUnavailable, MaxSurge } : null };
    at.unsupported(["RollingUpdate", "OnDelete"], shown);
  }
}

function validateRollingUpdate(at: Cursor<RollingUpdateDaemonSet>): void {
  const maxUnavailable = at.field("maxUnavailable").as(at.value.maxUnavailable ?? 0);
  const maxSurge = at.field("maxSurge").as(at.value.maxSurge ?? 0);
  for (const number of [maxUnavailable, maxSurge]) validateIntOrPercent(number);
  for (const number of [maxUnavailable, maxSurge]) validateAtMost100Percent(number);
  const hasUnavailable = !isNothing(maxUnavailable.value);
  const hasSurge = !isNothing(maxSurge.value);
  if (hasUnavailable && hasSurge) maxSurge.invalid("may not be set when maxUnavailable is non-zero");
  if (!hasUnavailable && !hasSurge) maxUnavailable.missing("cannot be 0 when maxSurge is 0");
}

const isNothing = (value: number | string): boolean =>
  (typeof value === "string" ? (percentOf(value) ?? 0) : value) === 0;

function validateStatusUpdate(set: Cursor<DaemonSet>, { status: old }: DaemonSet): void {
  const at = set.field("status");
  const { collisionCount } = at.value;
  for (const name in DaemonSetStatus.fields) {
    const count = at.value[name as keyof DaemonSetStatus];
    if (typeof count === "number") at.under(name).as(count).atLeast(0);
  }
  if (old.collisionCount !== undefined && (collisionCount ?? -1) < old.collisionCount) {
    at.field("collisionCount").invalid("cannot be decremented", collisionCount ?? 0);
  }
}
