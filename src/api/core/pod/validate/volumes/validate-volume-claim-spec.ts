import { type TypedObjectReference } from "#api/core/references.ts";
import { accessModes } from "#api/core/volume/access-modes.ts";
import {
  type PersistentVolumeClaimSpec,
  type PersistentVolumeClaimTemplate,
} from "#api/core/volume/volume-claim-spec.ts";
import { type Cursor } from "#api/cursor.ts";
import { validateLabelSelector } from "#api/meta/label-selector.ts";
import { compareQuantities } from "#api/meta/quantity.ts";
import { validateTemplateMeta } from "#api/meta/validate-meta.ts";

export function validateClaimTemplate(at: Cursor<PersistentVolumeClaimTemplate>): void {
  at.on("metadata", validateTemplateMeta);
  validateClaimSpec(at.field("spec"));
}

export function validateClaimSpec(at: Cursor<PersistentVolumeClaimSpec>): void {
  at.field("accessModes").required("at least 1 access mode is required");
  at.on("selector", validateLabelSelector);
  validateAccessModes(at);
  const size = at.field("resources").key("storage", at.value.resources.requests?.storage);
  if (size.value === undefined) size.missing();
  else if (compareQuantities(size.value, "0") <= 0) size.invalid("must be greater than zero");
  validateDataSources(at);
}

/** Upstream reports an unknown mode at the list. */
export function validateAccessModes(at: Cursor<{ accessModes?: string[] }>): void {
  const found = new Set(at.value.accessModes);
  for (const mode of at.value.accessModes ?? []) {
    if (!accessModes.includes(mode)) at.field("accessModes").unsupported(accessModes, mode);
  }
  const known = accessModes.filter((mode) => found.has(mode));
  if (known.includes("ReadWriteOncePod") && known.length > 1) {
    at.field("accessModes").forbidden("may not use ReadWriteOncePod with other access modes");
  }
}

function validateDataSources(at: Cursor<PersistentVolumeClaimSpec>): void {
  const { dataSource, dataSourceRef } = at.value;
  at.on("dataSource", validateDataSource);
  at.on("dataSourceRef", validateDataSource);
  if (!dataSource || !dataSourceRef) return;
  const shown = at.field("dataSource").toString();
  const { apiGroup, kind, name, namespace } = dataSourceRef;
  const same = dataSource.apiGroup === apiGroup && dataSource.kind === kind && dataSource.name === name;
  if (namespace) at.invalid("may not be specified when dataSourceRef.namespace is specified", shown);
  else if (!same) at.invalid("must match dataSourceRef", shown);
}

function validateDataSource(at: Cursor<Omit<TypedObjectReference, "namespace">>): void {
  const { kind, apiGroup } = at.value;
  if (apiGroup || kind === "PersistentVolumeClaim") return;
  at.invalid("must be 'PersistentVolumeClaim' when referencing the default apiGroup", kind);
}
