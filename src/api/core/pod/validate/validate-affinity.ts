import { type Cursor } from "#api/cursor.ts";
import { type LabelSelector, validateLabelSelector, validateOperatorValues } from "#api/meta/label-selector.ts";
import { dns1123Label, dns1123Subdomain, labelValue, qualifiedName } from "#api/meta/names.ts";
import {
  type Affinity,
  type NodeAffinity,
  type NodeSelector,
  type NodeSelectorRequirement,
  type PodAffinity,
  type PodAffinityTerm,
  type TopologySpreadConstraint,
} from "../affinity.ts";

const requiredTerms = "requiredDuringSchedulingIgnoredDuringExecution";
const preferredTerms = "preferredDuringSchedulingIgnoredDuringExecution";

export function validateAffinity(at: Cursor<Affinity>): void {
  at.on("nodeAffinity", validateNodeAffinity);
  at.on("podAffinity", validatePodAffinity);
  at.on("podAntiAffinity", validatePodAffinity);
}

export function validateNodeAffinity(at: Cursor<NodeAffinity>): void {
  at.on(requiredTerms, validateNodeSelector);
  at.each(preferredTerms, (at) => {
    validateWeight(at);
    at.on("preference", (at) => {
      at.each("matchExpressions", validateNodeLabel);
      at.each("matchFields", validateNodeField);
    });
  });
}

export function validateNodeSelector(at: Cursor<NodeSelector>): void {
  at.field("nodeSelectorTerms").required("must have at least one node selector term");
  at.each("nodeSelectorTerms", (at) => {
    at.each("matchExpressions", (at) => {
      validateNodeLabel(at);
      at.each("values", (at) => at.rule(labelValue));
    });
    at.each("matchFields", validateNodeField);
  });
}

function validateWeight(at: Cursor<{ weight: number }>): void {
  const { weight } = at.value;
  if (weight <= 0 || weight > 100) at.field("weight").invalid("must be in the range 1-100");
}

function validateNodeLabel(at: Cursor<NodeSelectorRequirement>): void {
  const { operator, values = [] } = at.value;
  if (operator === "Gt" || operator === "Lt") {
    if (values.length !== 1) {
      at.field("values").missing("must be specified single value when `operator` is 'Lt' or 'Gt'");
    }
  } else if (!validateOperatorValues(at)) at.field("operator").invalid("not a valid selector operator");
  at.field("key").rule(qualifiedName);
}

function validateNodeField(at: Cursor<NodeSelectorRequirement>): void {
  const { key, operator, values = [] } = at.value;
  if (operator !== "In" && operator !== "NotIn") at.field("operator").invalid("not a valid selector operator");
  else if (values.length !== 1) {
    at.field("values").missing("must be only one value when `operator` is 'In' or 'NotIn' for node field selector");
  }
  if (key !== "metadata.name") at.field("key").invalid("not a valid field selector key");
  else at.each("values", (at) => at.rule(dns1123Subdomain));
}

/**
 * The scheduler compares every one of them with the pods of the whole cluster. Upstream has no limit, but there a pod with
 * thousands of them only holds up the scheduler.
 */
const maxPodTerms = 32;

/** Returns false if the list is too long to look at. */
function isShort(at: Cursor<readonly unknown[] | undefined>): boolean {
  const { length } = at.value ?? [];
  if (length > maxPodTerms) at.tooMany(length, maxPodTerms);
  return length <= maxPodTerms;
}

/** The same for affinity and anti-affinity. */
function validatePodAffinity(at: Cursor<PodAffinity>): void {
  if (isShort(at.field(requiredTerms))) at.each(requiredTerms, validatePodTerm);
  if (!isShort(at.field(preferredTerms))) return;
  at.each(preferredTerms, (at) => {
    validateWeight(at);
    at.on("podAffinityTerm", validatePodTerm);
  });
}

function validatePodTerm(at: Cursor<PodAffinityTerm>): void {
  at.on("labelSelector", validateLabelSelector);
  at.on("namespaceSelector", validateLabelSelector);
  for (const name of at.value.namespaces ?? []) at.under("namespace").rule(dns1123Label, name);
  validateLabelKeys(at);
  at.field("topologyKey").required("can not be empty");
  at.field("topologyKey").rule(qualifiedName);
}

interface LabelKeys {
  readonly labelSelector?: LabelSelector;
  readonly matchLabelKeys?: readonly string[];
  readonly mismatchLabelKeys?: readonly string[];
}

/** Label keys stand for conditions that are added to the selector when the pod is made. */
function validateLabelKeys(at: Cursor<LabelKeys>): void {
  const { labelSelector, matchLabelKeys = [], mismatchLabelKeys = [] } = at.value;
  for (const name of ["matchLabelKeys", "mismatchLabelKeys"] as const) {
    if (labelSelector) at.each(name, (at) => at.rule(qualifiedName));
    else if (at.value[name]?.length) at.field(name).forbidden("must not be specified when labelSelector is not set");
  }
  // The key itself has added one condition; a second one comes from the client.
  const selected = new Set(Object.keys(labelSelector?.matchLabels ?? {}));
  const places = firstPlaces(matchLabelKeys);
  for (const { key } of labelSelector?.matchExpressions ?? []) {
    const index = places.get(key);
    if (index !== undefined && selected.has(key)) {
      at.key(index, key).invalid("exists in both matchLabelKeys and labelSelector");
    }
    selected.add(key);
  }
  const mismatched = new Set(mismatchLabelKeys);
  at.each("matchLabelKeys", (at) => {
    if (mismatched.has(at.value)) at.invalid("exists in both matchLabelKeys and mismatchLabelKeys");
  });
}

/** The index at which each key is first. */
function firstPlaces(keys: readonly string[]): ReadonlyMap<string, number> {
  const places = new Map<string, number>();
  for (const [index, key] of keys.entries()) if (!places.has(key)) places.set(key, index);
  return places;
}

export function validateTopologySpread(at: Cursor<{ topologySpreadConstraints?: TopologySpreadConstraint[] }>): void {
  if (!isShort(at.field("topologySpreadConstraints"))) return;
  const last = new Map<string, number>();
  at.each("topologySpreadConstraints", (at, index) => last.set(pairOf(at.value), index));
  at.each("topologySpreadConstraints", (at, index) => {
    const { whenUnsatisfiable, maxSkew, minDomains } = at.value;
    if (maxSkew <= 0) at.field("maxSkew").invalid("must be greater than zero");
    at.field("topologyKey").required("can not be empty");
    if (!whenUnsatisfiable) at.field("whenUnsatisfiable").unsupported(["DoNotSchedule", "ScheduleAnyway"], "");
    const isRepeated = last.get(pairOf(at.value)) !== index;
    if (isRepeated) at.under("{topologyKey, whenUnsatisfiable}").duplicate(pairOf(at.value));
    if (minDomains !== undefined && minDomains <= 0) at.field("minDomains").invalid("must be greater than zero");
    if (minDomains !== undefined && whenUnsatisfiable !== "DoNotSchedule") {
      const detail = `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${whenUnsatisfiable}`;
      at.field("minDomains").invalid(detail);
    }
    validateLabelKeys(at);
    at.on("labelSelector", validateLabelSelector);
  });
}

/** What only one constraint may have, as upstream shows it. */
const pairOf = ({ topologyKey, whenUnsatisfiable }: TopologySpreadConstraint): string =>
  `{${topologyKey}, ${whenUnsatisfiable}}`;
