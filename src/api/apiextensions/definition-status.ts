import { findCondition, isConditionTrue, withCondition } from "#api/meta/condition.ts";
import { type DefinitionCondition, type DefinitionStatus, type SentDefinition } from "./definition-fields.ts";

/** Keeps a deleted definition until all objects of its kind are gone. */
export const cleanupFinalizer = "customresourcecleanup.apiextensions.k8s.io";

export const isEstablished = ({ status }: Pick<SentDefinition, "status">): boolean =>
  isConditionTrue(status.conditions, "Established");
export const isTerminating = ({ status }: Pick<SentDefinition, "status">): boolean =>
  isConditionTrue(status.conditions, "Terminating");

/** A new definition has stored nothing yet, but will in this version. */
export function initialStatus({ spec }: SentDefinition): DefinitionStatus {
  const storage = spec.versions.find((version) => version.storage);
  return { acceptedNames: { plural: "", kind: "" }, storedVersions: storage ? [storage.name] : [] };
}

/** Objects may be stored in another version from now on. */
export function noteStorageVersion(definition: SentDefinition): void {
  const { spec, status } = definition;
  const storage = spec.versions.find((version) => version.storage);
  if (!storage || status.storedVersions.includes(storage.name)) return;
  definition.status = { ...status, storedVersions: [...status.storedVersions, storage.name] };
}

/** A deleted definition is held until its objects are gone, and says so. */
export function markTerminating(definition: SentDefinition): void {
  const { metadata, status } = definition;
  if (findCondition(status.conditions, "Terminating")) return;
  if (!metadata.finalizers?.includes(cleanupFinalizer)) {
    metadata.finalizers = [...(metadata.finalizers ?? []), cleanupFinalizer];
  }
  const message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
  const condition = { type: "Terminating", status: "True", reason: "InstanceDeletionPending", message };
  definition.status = withStatusCondition(status, condition, metadata.deletionTimestamp ?? "");
}

/** The status with a condition, which keeps its time while its status stays the same. */
export function withStatusCondition(
  status: DefinitionStatus,
  condition: DefinitionCondition,
  now: string,
): DefinitionStatus {
  const old = findCondition(status.conditions, condition.type);
  const since = old?.status === condition.status ? old.lastTransitionTime : undefined;
  return {
    ...status,
    conditions: withCondition(status.conditions, { ...condition, lastTransitionTime: since ?? now }),
  };
}
