import {
  duplicateValue,
  type FieldError,
  type FieldPath,
  forbiddenValue,
  invalidValue,
  requiredValue,
  root,
  unsupportedValue,
} from "#schema/field-error.ts";
import { cidrFamily, validateCidr } from "../meta/ip-address.ts";
import { configMapKey, dns1123Label, dns1123Subdomain, labelValue, qualifiedName, type Rule } from "../meta/names.ts";
import type { ConfigMapNodeConfigSource, Node, NodeConfigSource, NodeStatus, Taint } from "./node.ts";
import { validateAmount } from "./validate-resources.ts";

const metaPath = root.child("metadata");
const specPath = root.child("spec");
const statusPath = root.child("status");

export function* validateNode({ spec, status }: Node): Iterable<FieldError> {
  yield* validateTaints(spec.taints ?? [], metaPath.child("taints"));
  yield* validateAmounts(status);
  const { capacity } = status.nodeInfo.swap ?? {};
  if (capacity !== undefined && capacity <= 0) {
    yield invalidValue(metaPath.child("nodeSwapStatus", "capacity"), capacity, "must be greater than 0");
  }
  yield* validateFeatures(status.declaredFeatures ?? []);
  const { podCIDRs = [] } = spec;
  const path = specPath.child("podCIDRs");
  for (const [index, cidr] of podCIDRs.entries()) yield* validateCidr(cidr, path.index(index));
  const families = new Set(podCIDRs.map(cidrFamily));
  if (podCIDRs.length > 1 && (families.size !== 2 || podCIDRs.length > 2)) {
    yield invalidValue(path, podCIDRs, "may specify no more than one CIDR for each IP family");
  }
}

const effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

function* validateTaints(taints: readonly Taint[], path: FieldPath): Iterable<FieldError> {
  const seen = new Set<string>();
  for (const [index, taint] of taints.entries()) {
    const at = path.index(index);
    const { key, value = "", effect } = taint;
    for (const fault of qualifiedName.all(key)) yield invalidValue(at.child("key"), key, fault);
    const faults = labelValue.all(value);
    if (faults.length > 0) yield invalidValue(at.child("value"), value, faults.join(";"));
    if (effect === "") yield requiredValue(at.child("effect"));
    else if (!effects.includes(effect)) yield unsupportedValue(at.child("effect"), effect, effects);
    const pair = `${effect}/${key}`;
    if (seen.has(pair)) yield duplicateValue(at, taint, "taints must be unique by key and effect pair");
    seen.add(pair);
  }
}

function* validateAmounts({ capacity = {}, allocatable = {} }: NodeStatus): Iterable<FieldError> {
  const faults: FieldError[] = [];
  for (const [name, amount] of Object.entries(capacity)) {
    validateAmount(name, amount, statusPath.child("capacity", name), faults);
  }
  for (const [name, amount] of Object.entries(allocatable)) {
    validateAmount(name, amount, statusPath.child("allocatable", name), faults);
  }
  yield* faults;
}

const featurePattern = /^[A-Z][a-zA-Z0-9]*(\/[a-zA-Z][a-zA-Z0-9]*)*$/;

function* validateFeatures(features: readonly string[]): Iterable<FieldError> {
  const path = statusPath.child("declaredFeatures");
  for (const [index, feature] of features.entries()) {
    const name = `invalid feature name ${JSON.stringify(feature)}`;
    if (Buffer.byteLength(feature) > 253) {
      yield invalidValue(path.index(index), feature, `${name}: must be no more than 253 characters`);
    } else if (!featurePattern.test(feature)) {
      const detail =
        "must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes";
      yield invalidValue(path.index(index), feature, `${name}: ${detail}`);
    }
    const next = features[index + 1];
    if (next === feature) yield duplicateValue(path.index(index + 1), next);
    else if (next !== undefined && feature > next) {
      yield invalidValue(path.index(index + 1), next, "list must be sorted alphabetically");
    }
  }
}

/** For updates of the node and of its status alike. */
export function* validateNodeUpdate({ spec, status }: Node, { spec: old }: Node): Iterable<FieldError> {
  yield* validateAmounts(status);
  yield* validateFeatures(status.declaredFeatures ?? []);
  yield* validateAddresses(status);
  const { podCIDRs = [] } = spec;
  const { podCIDRs: before = [] } = old;
  if (
    before.length > 0 &&
    (before.length !== podCIDRs.length || before.some((cidr, index) => cidr !== podCIDRs[index]))
  ) {
    const detail = 'node updates may not change podCIDR except from "" to valid';
    yield forbiddenValue(specPath.child("podCIDRs"), detail);
  }
  if (old.providerID && old.providerID !== spec.providerID) {
    const detail = 'node updates may not change providerID except from "" to valid';
    yield forbiddenValue(specPath.child("providerID"), detail);
  }
  if (spec.configSource) yield* validateConfigSource(spec.configSource, "spec", specPath.child("configSource"));
  const { assigned, active, lastKnownGood } = status.config ?? {};
  for (const [name, source] of Object.entries({ assigned, active, lastKnownGood })) {
    if (source) yield* validateConfigSource(source, "status", statusPath.child("config", name));
  }
  if ((spec.externalID ?? "") !== (old.externalID ?? "")) {
    yield forbiddenValue(specPath.child("externalID"), "may not be updated");
  }
}

function* validateAddresses({ addresses = [] }: NodeStatus): Iterable<FieldError> {
  const seen = new Set<string>();
  for (const [index, address] of addresses.entries()) {
    const key = `${address.type} ${address.address}`;
    if (seen.has(key)) yield duplicateValue(statusPath.child("addresses").index(index), address);
    seen.add(key);
  }
}

function* validateConfigSource(
  source: NodeConfigSource,
  where: "spec" | "status",
  path: FieldPath,
): Iterable<FieldError> {
  if (source.configMap) yield* validateConfigMapSource(source.configMap, where, path.child("configMap"));
  else yield invalidValue(path, source, "exactly one reference subfield must be non-nil");
}

function* validateConfigMapSource(
  source: ConfigMapNodeConfigSource,
  where: "spec" | "status",
  path: FieldPath,
): Iterable<FieldError> {
  for (const name of ["uid", "resourceVersion"] as const) {
    if (where === "spec" && source[name]) yield forbiddenValue(path.child(name), `${name} must not be set in spec`);
    if (where === "status" && !source[name]) yield requiredValue(path.child(name));
  }
  const rules: Readonly<Record<"namespace" | "name" | "kubeletConfigKey", Rule>> = {
    namespace: dns1123Label,
    name: dns1123Subdomain,
    kubeletConfigKey: configMapKey,
  };
  for (const name of ["namespace", "name", "kubeletConfigKey"] as const) {
    const value = source[name];
    if (!value) yield requiredValue(path.child(name));
    else for (const fault of rules[name].all(value)) yield invalidValue(path.child(name), value, fault);
  }
}

export function* nodeWarnings({ spec }: Node): Iterable<string> {
  if (spec.configSource) yield "spec.configSource: the feature is removed";
  if (spec.externalID) yield "spec.externalID: this field is deprecated, and is unused by Kubernetes";
}
