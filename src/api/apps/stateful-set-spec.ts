import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { PodTemplateSpec } from "#api/core/pod-template.ts";
import { LabelSelector } from "#api/meta/label-selector.ts";
import { defaulted, embedded, inGo, nullable, optional, present, stated, written } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { atomicList, int32, intOrString, known, listedOneOf, string, unlisted } from "#schema/types.ts";

const object = inPackage("apps/v1");

const RollingUpdate = object("RollingUpdateStatefulSetStrategy", "Which pods a rolling update replaces.", {
  partition: nullable(1, int32({ min: 0 }), "Pods are updated only if their ordinal is at least this number."),
  maxUnavailable: nullable(
    2,
    intOrString(),
    "How many pods may be unavailable during an update. Ignored in this release.",
  ),
});
interface RollingUpdate extends Infer<typeof RollingUpdate> {}

const UpdateStrategy = object.filledBy(setRollingUpdate, "StatefulSetUpdateStrategy", "How old pods are replaced.", {
  type: optional(
    1,
    known("OnDelete", "RollingUpdate"),
    "Strategy: RollingUpdate, or OnDelete to replace only deleted pods.",
  ),
  rollingUpdate: nullable(2, RollingUpdate, "Settings of the RollingUpdate strategy."),
});
export interface UpdateStrategy extends Infer<typeof UpdateStrategy> {}

/** The settings are filled in together with the strategy, or if they are there. */
function setRollingUpdate(strategy: { type?: string; rollingUpdate?: RollingUpdate }): void {
  if (!strategy.type) {
    strategy.type = "RollingUpdate";
    strategy.rollingUpdate ??= {};
  }
  if (strategy.type === "RollingUpdate" && strategy.rollingUpdate) strategy.rollingUpdate.partition ??= 0;
}

const claimPolicies = unlisted(listedOneOf("Retain", "Delete"));
const RetentionPolicy = object(
  "StatefulSetPersistentVolumeClaimRetentionPolicy",
  "What happens to the claims of a StatefulSet when their pods are no longer needed.",
  {
    whenDeleted: defaulted(1, claimPolicies, "Retain", "Whether claims are kept when the StatefulSet is deleted."),
    whenScaled: defaulted(2, claimPolicies, "Retain", "Whether claims are kept when the StatefulSet is scaled down."),
  },
);

const StatefulSetOrdinals = object("StatefulSetOrdinals", "How the pods of a StatefulSet are numbered.", {
  start: stated(optional(1, int32({ min: 0 }), "Ordinal of the first pod."), 0),
});

export const StatefulSetSpec = object("StatefulSetSpec", "The pods of a StatefulSet, and the claims of each of them.", {
  replicas: defaulted(1, int32({ min: 0 }), 1, "Number of desired pods."),
  selector: written(present(2, LabelSelector, "Selects the pods of the StatefulSet. Cannot be changed.")),
  template: present(3, PodTemplateSpec, "Template of the pods. Each gets an ordinal, a name and claims of its own."),
  volumeClaimTemplates: optional(
    4,
    atomicList(PersistentVolumeClaim.schema),
    "Claims that each pod gets, as volumes with the names of the claims. Cannot be changed.",
  ),
  serviceName: stated(
    defaulted(5, string(), "", "Name of the service that gives the pods their host names. Cannot be changed."),
  ),
  podManagementPolicy: defaulted(
    6,
    known("OrderedReady", "Parallel"),
    "OrderedReady",
    "Whether pods are started one after another (OrderedReady) or all at once (Parallel). Cannot be changed.",
  ),
  updateStrategy: embedded(7, UpdateStrategy, "How old pods are replaced by new ones."),
  revisionHistoryLimit: defaulted(8, int32(), 10, "Number of old revisions to keep for rollbacks."),
  minReadySeconds: optional(9, int32({ min: 0 }), "Seconds that a pod must be ready before it counts as available."),
  persistentVolumeClaimRetentionPolicy: inGo({ isPointer: true }, embedded(10, RetentionPolicy)),
  ordinals: nullable(11, StatefulSetOrdinals),
});
export interface StatefulSetSpec extends Infer<typeof StatefulSetSpec> {}
