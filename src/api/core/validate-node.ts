import { cidrFamily, validateCidr } from "#api/meta/ip-address.ts";
import { configMapKey, dns1123Label, dns1123Subdomain, labelValue, qualifiedName } from "#api/meta/names.ts";
import { type Cursor } from "../cursor.ts";
import { validateAmount } from "./container/validate-resources.ts";
import type { Node, NodeConfigSource, NodeStatus, Taint } from "./node.ts";

export function validateNode(node: Cursor<Node>): void {
  const { spec, status } = node.value;
  validateTaints(node.under("metadata").as({ taints: spec.taints ?? [] }));
  validateAmounts(node.field("status"));
  const { capacity } = status.nodeInfo.swap ?? {};
  if (capacity !== undefined && capacity <= 0) {
    node.under("metadata", "nodeSwapStatus", "capacity").invalid("must be greater than 0", capacity);
  }
  validateFeatures(node.field("status"));
  const { podCIDRs = [] } = spec;
  const at = node.field("spec");
  at.each("podCIDRs", validateCidr);
  const families = new Set(podCIDRs.map(cidrFamily));
  if (podCIDRs.length > 1 && (families.size !== 2 || podCIDRs.length > 2)) {
    at.field("podCIDRs").invalid("may specify no more than one CIDR for each IP family");
  }
}

function validateTaints(list: Cursor<{ taints: Taint[] }>): void {
  const seen = new Set<string>();
  list.each("taints", (at) => {
    const { key, value = "", effect } = at.value;
    at.field("key").rule(qualifiedName);
    const faults = labelValue.all(value);
    if (faults.length > 0) at.field("value").invalid(faults.join(";"));
    if (at.field("effect").required()) at.field("effect").oneOf(["NoSchedule", "PreferNoSchedule", "NoExecute"]);
    const pair = `${effect}/${key}`;
    if (seen.has(pair)) at.duplicate(at.value, "taints must be unique by key and effect pair");
    seen.add(pair);
  });
}

function validateAmounts(at: Cursor<NodeStatus>): void {
  for (const list of ["capacity", "allocatable"] as const) {
    for (const [name, amount] of Object.entries(at.value[list] ?? {})) {
      validateAmount(at.under(list, name).as(amount), name);
    }
  }
}

const featurePattern = /^[A-Z][a-zA-Z0-9]*(\/[a-zA-Z][a-zA-Z0-9]*)*$/;
const badFeature =
  "must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes";

function validateFeatures(status: Cursor<NodeStatus>): void {
  const { declaredFeatures: features = [] } = status.value;
  status.each("declaredFeatures", (at, index) => {
    const { value: feature } = at;
    const name = `invalid feature name ${JSON.stringify(feature)}`;
    if (Buffer.byteLength(feature) > 253) at.invalid(`${name}: must be no more than 253 characters`);
    else if (!featurePattern.test(feature)) at.invalid(`${name}: ${badFeature}`);
    const next = features[index + 1];
    const place = status.field("declaredFeatures").key(index + 1, next);
    if (next === feature) place.duplicate();
    else if (next !== undefined && feature > next) place.invalid("list must be sorted alphabetically");
  });
}

/** For updates of the node and of its status alike. */
export function validateNodeUpdate(node: Cursor<Node>, { spec: old }: Node): void {
  const at = node.field("spec");
  const { podCIDRs = [], providerID, externalID = "" } = at.value;
  const { podCIDRs: before = [] } = old;
  validateAmounts(node.field("status"));
  validateFeatures(node.field("status"));
  validateAddresses(node.field("status"));
  const isSame = before.length === podCIDRs.length && before.every((cidr, index) => cidr === podCIDRs[index]);
  if (before.length > 0 && !isSame) {
    at.field("podCIDRs").forbidden('node updates may not change podCIDR except from "" to valid');
  }
  if (old.providerID && old.providerID !== providerID) {
    at.field("providerID").forbidden('node updates may not change providerID except from "" to valid');
  }
  at.on("configSource", (at) => validateConfigSource(at, "spec"));
  node.field("status").on("config", (at) => {
    for (const name of ["assigned", "active", "lastKnownGood"] as const) {
      at.on(name, (at) => validateConfigSource(at, "status"));
    }
  });
  if (externalID !== (old.externalID ?? "")) at.field("externalID").forbidden("may not be updated");
}

function validateAddresses(status: Cursor<NodeStatus>): void {
  const seen = new Set<string>();
  status.each("addresses", (at) => {
    const key = `${at.value.type} ${at.value.address}`;
    if (seen.has(key)) at.duplicate();
    seen.add(key);
  });
}

function validateConfigSource(at: Cursor<NodeConfigSource>, where: "spec" | "status"): void {
  if (!at.value.configMap) at.invalid("exactly one reference subfield must be non-nil");
  at.on("configMap", (at) => validateConfigMapSource(at, where));
}

function validateConfigMapSource(
  at: Cursor<NonNullable<NodeConfigSource["configMap"]>>,
  where: "spec" | "status",
): void {
  for (const name of ["uid", "resourceVersion"] as const) {
    if (where === "status") at.field(name).required();
    else at.set(name)?.forbidden(`${name} must not be set in spec`);
  }
  if (at.field("namespace").required()) at.field("namespace").rule(dns1123Label);
  if (at.field("name").required()) at.field("name").rule(dns1123Subdomain);
  if (at.field("kubeletConfigKey").required()) at.field("kubeletConfigKey").rule(configMapKey);
}

export function nodeWarnings(node: Cursor<Node>): void {
  const at = node.field("spec");
  at.on("configSource", (at) => at.warn("the feature is removed"));
  at.set("externalID")?.warn("this field is deprecated, and is unused by Kubernetes");
}
