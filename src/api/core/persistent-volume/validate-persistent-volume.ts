import { validateNodeSelector } from "#api/core/pod/validate/validate-affinity.ts";
import { validateAccessModes } from "#api/core/pod/validate/volumes/validate-volume-claim-spec.ts";
import { type Cursor } from "#api/cursor.ts";
import { semanticEqual } from "#api/meta/equal.ts";
import { dns1123Subdomain } from "#api/meta/names.ts";
import { compareQuantities, quantityValue } from "#api/meta/quantity.ts";
import { unifiedDiff } from "#lib/text/unified-diff.ts";
import { string } from "#schema/types.ts";
import { type NodeSelectorRequirement, type NodeSelectorTerm } from "../pod/affinity.ts";
import { PersistentVolumeSource, type PersistentVolumeSpec, VolumeNodeAffinity } from "./persistent-volume-spec.ts";
import { persistentSourceNames, validatePersistentSources } from "./validate-persistent-sources.ts";

const reclaimPolicies = ["Delete", "Recycle", "Retain"];
const volumeModes = ["Block", "Filesystem"];

/** Checks the spec of the PersistentVolume with this name. */
export function validatePersistentVolumeSpec(at: Cursor<PersistentVolumeSpec>, name: string): void {
  const { persistentVolumeReclaimPolicy: policy, volumeMode, nodeAffinity, csi } = at.value;
  at.field("accessModes").required();
  validateAccessModes(at);
  validateCapacity(at);
  if (policy) at.field("persistentVolumeReclaimPolicy").oneOf(reclaimPolicies);
  at.on("nodeAffinity", (at) => {
    if (!at.value.required) at.field("required").missing("must specify required node constraints");
    at.on("required", validateNodeSelector);
  });
  const source = validatePersistentSources(at, name);
  if (source === "local" && !nodeAffinity) at.field("nodeAffinity").missing("Local volume requires node affinity");
  at.set("storageClassName")?.rule(dns1123Subdomain);
  if (volumeMode !== undefined) at.field("volumeMode").oneOf(volumeModes);
  at.on("volumeAttributesClassName", (className) => {
    if (className.required("an empty string is disallowed")) className.rule(dns1123Subdomain);
    if (!csi) at.field("csi").missing("has to be specified when using volumeAttributesClassName");
  });
}

function validateCapacity(at: Cursor<PersistentVolumeSpec>): void {
  const { capacity = {} } = at.value;
  const names = Object.keys(capacity);
  if (names.length === 0) at.field("capacity").missing();
  if (names.length !== 1 || names[0] !== "storage") at.field("capacity").unsupported(["storage"]);
  at.eachKey("capacity", (at) => {
    validateBasicAmount(at);
    if (compareQuantities(at.value, "0") <= 0) at.invalid("must be greater than zero");
  });
}

/** Upstream shows the amount as a number. */
export function validateBasicAmount(at: Cursor<string>): void {
  const value = quantityValue(at.value);
  if (value < 0) at.invalid("must be a valid resource quantity", value);
}

const inlineContext = "in the context of inline volumes";

/** Checks the spec of a volume that has no PersistentVolume of its own. */
export function validateInlineVolumeSpec(at: Cursor<PersistentVolumeSpec>): void {
  const { capacity = {}, csi, persistentVolumeReclaimPolicy: policy, volumeMode } = at.value;
  const forbid = (name: keyof PersistentVolumeSpec): void =>
    at.field(name).forbidden(`may not be specified ${inlineContext}`);
  if (at.value.claimRef) forbid("claimRef");
  if (Object.keys(capacity).length > 0) forbid("capacity");
  if (!csi) at.field("csi").missing(`has to be specified ${inlineContext}`);
  at.field("accessModes").required();
  validateAccessModes(at);
  if (policy && policy !== "Retain") {
    at.field("persistentVolumeReclaimPolicy").forbidden(`may only be Retain ${inlineContext}`);
  }
  if (at.value.nodeAffinity) forbid("nodeAffinity");
  const source = validatePersistentSources(at, "");
  if (source === "local") at.field("nodeAffinity").missing("Local volume requires node affinity");
  if (at.value.storageClassName) forbid("storageClassName");
  if (volumeMode !== undefined && volumeMode !== "Filesystem") {
    at.field("volumeMode").forbidden(`may not specify volumeMode other than Filesystem ${inlineContext}`);
  }
}

/** What a change of a PersistentVolume must leave as it was. */
export function validatePersistentVolumeChange(
  volume: Cursor<{ spec: PersistentVolumeSpec }>,
  { spec: old }: { spec: PersistentVolumeSpec },
): void {
  const { spec } = volume.value;
  const at = volume.field("spec");
  const after = withoutNewSecret(spec, old);
  if (!semanticEqual(PersistentVolumeSource, after, old)) {
    const difference = unifiedDiff(formatSource(old), formatSource(after));
    const text = `spec.persistentvolumesource is immutable after creation\n${difference}`;
    at.under("persistentvolumesource").forbidden(text);
  }
  volume.under("volumeMode").as(spec.volumeMode).immutable(string(), old.volumeMode);
  if (old.nodeAffinity && !isSameAffinity(spec.nodeAffinity, old.nodeAffinity)) {
    const detail = "field is immutable, except for updating from beta label to GA";
    volume.under("nodeAffinity").invalid(detail, spec.nodeAffinity);
  }
  if (old.volumeAttributesClassName !== undefined && spec.volumeAttributesClassName === undefined) {
    at.field("volumeAttributesClassName").forbidden("update from non-nil value to nil is forbidden");
  }
}

function formatSource(spec: PersistentVolumeSource): string {
  const found = persistentSourceNames.filter((name) => spec[name] !== undefined);
  return JSON.stringify(Object.fromEntries(found.map((name) => [name, spec[name]])), null, 1);
}

/** The Secret for growing a volume may be added later. */
function withoutNewSecret(spec: PersistentVolumeSpec, old: PersistentVolumeSpec): PersistentVolumeSpec {
  if (!spec.csi || !old.csi || old.csi.controllerExpandSecretRef) return spec;
  const { controllerExpandSecretRef: _, ...csi } = spec.csi;
  return { ...spec, csi };
}

/** Labels of nodes that were renamed when they became stable. */
const stableLabels = new Map([
  ["failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"],
  ["failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"],
  ["beta.kubernetes.io/os", "kubernetes.io/os"],
  ["beta.kubernetes.io/arch", "kubernetes.io/arch"],
  ["beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type"],
]);

/** Whether the affinity is the old one, or has the new name of a label in place of the old one. */
function isSameAffinity(affinity: VolumeNodeAffinity | undefined, old: VolumeNodeAffinity): boolean {
  const terms = affinity?.required?.nodeSelectorTerms ?? [];
  const renamed = old.required && {
    nodeSelectorTerms: old.required.nodeSelectorTerms.map((term, index) => renamedTerm(term, terms[index] ?? {})),
  };
  return semanticEqual(VolumeNodeAffinity, affinity, renamed ? { required: renamed } : {});
}

function renamedTerm(old: NodeSelectorTerm, term: NodeSelectorTerm): NodeSelectorTerm {
  return {
    matchExpressions: renamedKeys(old.matchExpressions, term.matchExpressions),
    matchFields: renamedKeys(old.matchFields, term.matchFields),
  };
}

const renamedKeys = (
  old: readonly NodeSelectorRequirement[] = [],
  requirements: readonly NodeSelectorRequirement[] = [],
): NodeSelectorRequirement[] =>
  old.map((requirement, index) => {
    const { key } = requirements[index] ?? requirement;
    return stableLabels.get(requirement.key) === key ? { ...requirement, key } : requirement;
  });
