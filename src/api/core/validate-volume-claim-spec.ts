import { type FieldPath, forbiddenValue, invalidValue, requiredValue } from "#schema/field-error.ts";
import { validateLabelSelector, validateLabels } from "../meta/label-selector.ts";
import { dns1123Label, dns1123Subdomain } from "../meta/names.ts";
import { compareQuantities } from "../meta/quantity.ts";
import { validateAnnotations } from "../meta/validate-meta.ts";
import { type Faults, judge, judgeIfSet } from "./faults.ts";
import { type TypedObjectReference } from "./references.ts";
import { type PersistentVolumeClaimSpec, type PersistentVolumeClaimTemplate } from "./volume-claim-spec.ts";

export function validateClaimTemplate(
  { metadata, spec }: PersistentVolumeClaimTemplate,
  path: FieldPath,
  faults: Faults,
): void {
  const at = path.child("metadata");
  faults.push(...validateAnnotations(metadata.annotations, at.child("annotations")));
  faults.push(...validateLabels(metadata.labels, at.child("labels")));
  for (const name of Object.keys(metadata)) {
    if (name !== "annotations" && name !== "labels") faults.push(forbiddenValue(at.child(name), "cannot be set"));
  }
  validateClaimSpec(spec, path.child("spec"), faults);
}

function validateClaimSpec(spec: PersistentVolumeClaimSpec, path: FieldPath, faults: Faults): void {
  const { accessModes = [], selector, resources, storageClassName, volumeAttributesClassName } = spec;
  if (accessModes.length === 0) {
    faults.push(requiredValue(path.child("accessModes"), "at least 1 access mode is required"));
  }
  faults.push(...validateLabelSelector(selector, path.child("selector")));
  if (accessModes.includes("ReadWriteOncePod") && new Set(accessModes).size > 1) {
    const detail = "may not use ReadWriteOncePod with other access modes";
    faults.push(forbiddenValue(path.child("accessModes"), detail));
  }
  validateSize(resources.requests?.storage, path.child("resources").key("storage"), faults);
  judgeIfSet(dns1123Subdomain, storageClassName, path, "storageClassName", faults);
  validateDataSources(spec, path, faults);
  judgeIfSet(dns1123Subdomain, volumeAttributesClassName, path, "volumeAttributesClassName", faults);
}

function validateSize(size: string | undefined, path: FieldPath, faults: Faults): void {
  if (size === undefined) faults.push(requiredValue(path));
  else if (compareQuantities(size, "0") <= 0) faults.push(invalidValue(path, size, "must be greater than zero"));
}

function validateDataSources(
  { dataSource, dataSourceRef }: PersistentVolumeClaimSpec,
  path: FieldPath,
  faults: Faults,
): void {
  if (dataSource) validateDataSource(dataSource, path.child("dataSource"), faults);
  if (!dataSourceRef) return;
  const { apiGroup, kind, name, namespace } = dataSourceRef;
  validateDataSource(dataSourceRef, path.child("dataSourceRef"), faults);
  judgeIfSet(dns1123Label, namespace, path.child("dataSourceRef"), "namespace", faults);
  if (!dataSource) return;
  const shown = path.child("dataSource").toString();
  const same = dataSource.apiGroup === apiGroup && dataSource.kind === kind && dataSource.name === name;
  if (namespace) {
    faults.push(invalidValue(path, shown, "may not be specified when dataSourceRef.namespace is specified"));
  } else if (!same) faults.push(invalidValue(path, shown, "must match dataSourceRef"));
}

function validateDataSource(source: Omit<TypedObjectReference, "namespace">, path: FieldPath, faults: Faults): void {
  const { name, kind, apiGroup } = source;
  if (!name) faults.push(requiredValue(path.child("name")));
  if (!kind) faults.push(requiredValue(path.child("kind")));
  if (apiGroup) judge(dns1123Subdomain, apiGroup, path, "apiGroup", faults);
  else if (kind !== "PersistentVolumeClaim") {
    const detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
    faults.push(invalidValue(path, kind, detail));
  }
}
