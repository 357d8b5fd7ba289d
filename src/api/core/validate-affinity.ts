import {
  duplicateValue,
  type FieldPath,
  forbiddenValue,
  invalidValue,
  requiredValue,
  unsupportedValue,
} from "#schema/field-error.ts";
import { type LabelSelector, validateLabelSelector } from "../meta/label-selector.ts";
import { dns1123Label, dns1123Subdomain, labelValue, qualifiedName } from "../meta/names.ts";
import {
  type Affinity,
  type NodeAffinity,
  type NodeSelector,
  type NodeSelectorRequirement,
  type NodeSelectorTerm,
  type PodAffinity,
  type PodAffinityTerm,
  type TopologySpreadConstraint,
} from "./affinity.ts";
import { type Faults, judge, judgeAt } from "./faults.ts";

const requiredTerms = "requiredDuringSchedulingIgnoredDuringExecution";
const preferredTerms = "preferredDuringSchedulingIgnoredDuringExecution";

export function validateAffinity(affinity: Affinity, path: FieldPath, faults: Faults): void {
  const { nodeAffinity, podAffinity, podAntiAffinity } = affinity;
  if (nodeAffinity) validateNodeAffinity(nodeAffinity, path.child("nodeAffinity"), faults);
  if (podAffinity) validatePodAffinity(podAffinity, path.child("podAffinity"), faults);
  if (podAntiAffinity) validatePodAffinity(podAntiAffinity, path.child("podAntiAffinity"), faults);
}

function validateNodeAffinity(affinity: NodeAffinity, path: FieldPath, faults: Faults): void {
  const { [requiredTerms]: selector, [preferredTerms]: preferred = [] } = affinity;
  if (selector) validateNodeSelector(selector, path.child(requiredTerms), faults);
  for (const [index, { weight, preference }] of preferred.entries()) {
    const at = path.child(preferredTerms).index(index);
    validateWeight(weight, at, faults);
    validateNodeTerm(preference, { anyValue: true }, at.child("preference"), faults);
  }
}

function validateWeight(weight: number, path: FieldPath, faults: Faults): void {
  if (weight <= 0 || weight > 100)
    faults.push(invalidValue(path.child("weight"), weight, "must be in the range 1-100"));
}

function validateNodeSelector(selector: NodeSelector, path: FieldPath, faults: Faults): void {
  const at = path.child("nodeSelectorTerms");
  if (selector.nodeSelectorTerms.length === 0) {
    faults.push(requiredValue(at, "must have at least one node selector term"));
  }
  for (const [index, term] of selector.nodeSelectorTerms.entries()) {
    validateNodeTerm(term, { anyValue: false }, at.index(index), faults);
  }
}

function validateNodeTerm(
  { matchExpressions = [], matchFields = [] }: NodeSelectorTerm,
  { anyValue }: { anyValue: boolean },
  path: FieldPath,
  faults: Faults,
): void {
  for (const [index, requirement] of matchExpressions.entries()) {
    const at = path.child("matchExpressions").index(index);
    validateNodeLabel(requirement, at, faults);
    if (anyValue) continue;
    for (const [position, value] of (requirement.values ?? []).entries()) {
      judgeAt(labelValue, value, at.child("values").index(position), faults);
    }
  }
  for (const [index, requirement] of matchFields.entries()) {
    validateNodeField(requirement, path.child("matchFields").index(index), faults);
  }
}

function validateNodeLabel(requirement: NodeSelectorRequirement, path: FieldPath, faults: Faults): void {
  const { key, operator, values = [] } = requirement;
  const at = path.child("values");
  switch (operator) {
    case "In":
    case "NotIn":
      if (values.length === 0) {
        faults.push(requiredValue(at, "must be specified when `operator` is 'In' or 'NotIn'"));
      }
      break;
    case "Exists":
    case "DoesNotExist":
      if (values.length > 0) {
        faults.push(forbiddenValue(at, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"));
      }
      break;
    case "Gt":
    case "Lt":
      if (values.length !== 1) {
        faults.push(requiredValue(at, "must be specified single value when `operator` is 'Lt' or 'Gt'"));
      }
      break;
    default:
      faults.push(invalidValue(path.child("operator"), operator, "not a valid selector operator"));
  }
  judge(qualifiedName, key, path, "key", faults);
}

function validateNodeField(requirement: NodeSelectorRequirement, path: FieldPath, faults: Faults): void {
  const { key, operator, values = [] } = requirement;
  if (operator !== "In" && operator !== "NotIn") {
    faults.push(invalidValue(path.child("operator"), operator, "not a valid selector operator"));
  } else if (values.length !== 1) {
    const detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
    faults.push(requiredValue(path.child("values"), detail));
  }
  if (key !== "metadata.name") {
    faults.push(invalidValue(path.child("key"), key, "not a valid field selector key"));
    return;
  }
  for (const [index, value] of values.entries()) {
    judgeAt(dns1123Subdomain, value, path.child("values").index(index), faults);
  }
}

/** The same for affinity and anti-affinity. */
function validatePodAffinity(affinity: PodAffinity, path: FieldPath, faults: Faults): void {
  for (const [index, term] of (affinity[requiredTerms] ?? []).entries()) {
    validatePodTerm(term, path.child(requiredTerms).index(index), faults);
  }
  for (const [index, { weight, podAffinityTerm }] of (affinity[preferredTerms] ?? []).entries()) {
    const at = path.child(preferredTerms).index(index);
    validateWeight(weight, at, faults);
    validatePodTerm(podAffinityTerm, at.child("podAffinityTerm"), faults);
  }
}

function validatePodTerm(term: PodAffinityTerm, path: FieldPath, faults: Faults): void {
  faults.push(...validateLabelSelector(term.labelSelector, path.child("labelSelector")));
  faults.push(...validateLabelSelector(term.namespaceSelector, path.child("namespaceSelector")));
  for (const name of term.namespaces ?? []) judge(dns1123Label, name, path, "namespace", faults);
  validateLabelKeys(term, path, faults);
  if (!term.topologyKey) faults.push(requiredValue(path.child("topologyKey"), "can not be empty"));
  judge(qualifiedName, term.topologyKey, path, "topologyKey", faults);
}

interface LabelKeys {
  readonly labelSelector?: LabelSelector;
  readonly matchLabelKeys?: readonly string[];
  readonly mismatchLabelKeys?: readonly string[];
}

/** Label keys stand for conditions that are added to the selector when the pod is made. */
function validateLabelKeys(term: LabelKeys, path: FieldPath, faults: Faults): void {
  const { labelSelector, matchLabelKeys = [], mismatchLabelKeys = [] } = term;
  for (const name of ["matchLabelKeys", "mismatchLabelKeys"] as const) {
    const keys = term[name] ?? [];
    if (keys.length === 0) continue;
    const at = path.child(name);
    if (!labelSelector) faults.push(forbiddenValue(at, "must not be specified when labelSelector is not set"));
    else for (const [index, key] of keys.entries()) judgeAt(qualifiedName, key, at.index(index), faults);
  }
  // Once is what the key itself has added; a second time is the client's.
  const selected = new Set(Object.keys(labelSelector?.matchLabels ?? {}));
  for (const { key } of labelSelector?.matchExpressions ?? []) {
    const index = matchLabelKeys.indexOf(key);
    if (index >= 0 && selected.has(key)) {
      faults.push(invalidValue(path.index(index), key, "exists in both matchLabelKeys and labelSelector"));
    }
    selected.add(key);
  }
  for (const [index, key] of matchLabelKeys.entries()) {
    if (!mismatchLabelKeys.includes(key)) continue;
    const detail = "exists in both matchLabelKeys and mismatchLabelKeys";
    faults.push(invalidValue(path.child("matchLabelKeys").index(index), key, detail));
  }
}

export function validateTopologySpread(
  constraints: readonly TopologySpreadConstraint[],
  path: FieldPath,
  faults: Faults,
): void {
  for (const [index, constraint] of constraints.entries()) {
    const at = path.index(index);
    const { topologyKey, whenUnsatisfiable, maxSkew, minDomains, labelSelector } = constraint;
    if (maxSkew <= 0) faults.push(invalidValue(at.child("maxSkew"), maxSkew, "must be greater than zero"));
    if (!topologyKey) faults.push(requiredValue(at.child("topologyKey"), "can not be empty"));
    if (!whenUnsatisfiable) {
      faults.push(unsupportedValue(at.child("whenUnsatisfiable"), "", ["DoNotSchedule", "ScheduleAnyway"]));
    }
    const repeats = constraints
      .slice(index + 1)
      .some((other) => other.topologyKey === topologyKey && other.whenUnsatisfiable === whenUnsatisfiable);
    if (repeats) {
      const pair = `{${topologyKey}, ${whenUnsatisfiable}}`;
      faults.push(duplicateValue(at.child("{topologyKey, whenUnsatisfiable}"), pair));
    }
    if (minDomains !== undefined) validateMinDomains(minDomains, whenUnsatisfiable, at.child("minDomains"), faults);
    validateLabelKeys(constraint, at, faults);
    faults.push(...validateLabelSelector(labelSelector, at.child("labelSelector")));
  }
}

function validateMinDomains(count: number, action: string, path: FieldPath, faults: Faults): void {
  if (count <= 0) faults.push(invalidValue(path, count, "must be greater than zero"));
  if (action !== "DoNotSchedule") {
    const detail = `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${action}`;
    faults.push(invalidValue(path, count, detail));
  }
}
