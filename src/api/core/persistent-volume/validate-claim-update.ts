import { type Cursor } from "#api/cursor.ts";
import { semanticEqual } from "#api/meta/equal.ts";
import { qualifiedName } from "#api/meta/names.ts";
import { type ObjectMeta } from "#api/meta/object-meta.ts";
import { compareQuantities } from "#api/meta/quantity.ts";
import { unifiedDiff } from "#lib/text/unified-diff.ts";
import { string } from "#schema/types.ts";
import { isNativeResource, type ResourceList } from "../container/resource-list.ts";
import { validateAmount } from "../container/validate-resources.ts";
import { PersistentVolumeClaimSpec } from "../volume/volume-claim-spec.ts";
import { alignSources } from "./claim-sources.ts";
import { validateBasicAmount } from "./validate-persistent-volume.ts";
import { classAnnotation } from "./volume-columns.ts";

interface Claim {
  readonly metadata: ObjectMeta;
  readonly spec: PersistentVolumeClaimSpec;
  readonly status: {
    readonly phase: string;
    readonly capacity?: ResourceList;
    readonly allocatedResources?: ResourceList;
    readonly allocatedResourceStatuses?: Record<string, string>;
    readonly currentVolumeAttributesClassName?: string;
  };
}

/** A claim is made once. Only a bound one can grow and get other attributes. */
export function validateClaimUpdate(claim: Cursor<Claim>, old: Claim): void {
  const { spec } = claim.value;
  const at = claim.field("spec");
  const before = { ...old.spec };
  alignSources(before);
  if (!before.volumeName && spec.volumeName) before.volumeName = spec.volumeName;
  const after = { ...spec };
  if (isClassChangeAllowed(claim, old)) delete after.storageClassName;
  if (claim.value.status.phase === "Bound") keepMutable(after, before);
  if (!semanticEqual(PersistentVolumeClaimSpec, after, before)) {
    const difference = unifiedDiff(JSON.stringify(before, null, 1), JSON.stringify(after, null, 1));
    const text =
      "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";
    at.forbidden(`${text}\n${difference}`);
  }
  validateSizeChange(at, old);
  claim.under("volumeMode").as(spec.volumeMode).immutable(string(), old.spec.volumeMode);
  validateAttributesChange(at, old);
}

/** Whether a claim without a class gets one. The class in its annotation cannot become another. */
function isClassChangeAllowed(claim: Cursor<Claim>, { metadata, spec: { storageClassName: old } }: Claim): boolean {
  const { storageClassName } = claim.value.spec;
  const before = metadata.annotations?.[classAnnotation];
  const now = claim.value.metadata.annotations?.[classAnnotation];
  const isNew = storageClassName !== undefined && old === undefined;
  const isMoved = isNew && before === storageClassName && (now === undefined || now === before);
  if (!isMoved && (now ?? "") !== (before ?? "")) {
    claim.under("metadata", "annotations", classAnnotation).invalid("field is immutable", now ?? "");
  }
  return isNew && (before === undefined || before === storageClassName);
}

/** Undoes the changes that a bound claim may make. */
function keepMutable(spec: PersistentVolumeClaimSpec, old: PersistentVolumeClaimSpec): void {
  const { requests } = spec.resources;
  const size = old.resources.requests?.storage ?? "0";
  if (requests) spec.resources = { ...spec.resources, requests: { ...requests, storage: size } };
  if (old.volumeAttributesClassName === undefined) delete spec.volumeAttributesClassName;
  else spec.volumeAttributesClassName = old.volumeAttributesClassName;
}

/** A claim may ask for less again after a failed growth, but for more than it has. */
function validateSizeChange(at: Cursor<PersistentVolumeClaimSpec>, { spec, status }: Claim): void {
  const size = at.value.resources.requests?.storage ?? "0";
  if (compareQuantities(size, spec.resources.requests?.storage ?? "0") >= 0) return;
  if (compareQuantities(size, status.capacity?.storage ?? "0") > 0) return;
  at.under("resources", "requests", "storage").forbidden("field can not be less than status.capacity");
}

function validateAttributesChange(spec: Cursor<PersistentVolumeClaimSpec>, { spec: old, status }: Claim): void {
  const at = spec.field("volumeAttributesClassName");
  if (at.value === old.volumeAttributesClassName || status.currentVolumeAttributesClassName === undefined) return;
  if (at.value) return;
  const removed = at.value === undefined ? "nil" : "empty string";
  at.forbidden(`update to ${removed} is forbidden when status.currentVolumeAttributesClassName is not nil`);
}

const growthStates = [
  "ControllerResizeInProgress",
  "ControllerResizeInfeasible",
  "NodeResizeInProgress",
  "NodeResizeInfeasible",
  "NodeResizePending",
];

export function validateClaimStatus(claim: Cursor<Claim>): void {
  const at = claim.field("status");
  claim.under("Spec", "accessModes").as(claim.value.spec.accessModes).required();
  at.eachKey("capacity", validateBasicAmount);
  // Upstream reports these at the map, and shows the name instead of the state.
  const states = at.field("allocatedResourceStatuses");
  for (const [name, state] of Object.entries(states.value ?? {})) {
    validateName(states.as(name));
    if (!growthStates.includes(state)) states.unsupported(growthStates, name);
  }
  at.eachKey("allocatedResources", (amount, name) => {
    const { faultCount } = amount;
    validateName(at.field("allocatedResources").as(name));
    if (amount.faultCount === faultCount) validateBasicAmount(amount);
    if (amount.faultCount === faultCount) validateAmount(amount, "storage");
  });
}

/** Only storage and the resources of drivers can be allocated. */
function validateName(at: Cursor<string>): void {
  const { faultCount } = at;
  at.rule(qualifiedName);
  if (at.faultCount > faultCount || !isNativeResource(at.value) || at.value === "storage") return;
  at.unsupported(["storage"]);
}
