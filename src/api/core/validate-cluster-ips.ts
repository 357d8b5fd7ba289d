import { duplicateValue, type FieldError, invalidValue, requiredValue, root } from "#schema/field-error.ts";
import { ipFamily, validateIp } from "../meta/ip-address.ts";
import type { ServiceSpec } from "./service.ts";

const specPath = root.child("spec");
const ipsPath = specPath.child("clusterIPs");
const familiesPath = specPath.child("ipFamilies");
const policyPath = specPath.child("ipFamilyPolicy");

/** That clusterIP, clusterIPs and ipFamilies agree with each other. */
export function* validateClusterIps(spec: ServiceSpec): Iterable<FieldError> {
  if (spec.type === "ExternalName") return;
  const { clusterIP = "", clusterIPs = [], ipFamilies = [] } = spec;
  if (clusterIP !== "") {
    if (clusterIPs.length === 0) yield requiredValue(ipsPath);
    else if (clusterIPs[0] !== clusterIP) yield invalidValue(ipsPath, clusterIPs, "first value must match `clusterIP`");
  } else if (clusterIPs.length > 0) {
    yield invalidValue(ipsPath, clusterIPs, "must be empty when `clusterIP` is not specified");
  }
  for (const [index, family] of ipFamilies.entries()) {
    if (ipFamilies.indexOf(family) < index) yield duplicateValue(familiesPath.index(index), family);
  }
  const faults = [...validateEach(clusterIPs)];
  yield* faults;
  if (clusterIPs.length > 2) yield invalidValue(ipsPath, clusterIPs, "may only hold up to 2 values");
  if (faults.length === 0) yield* validateFamilies(clusterIPs, ipFamilies);
}

function* validateEach(clusterIPs: readonly string[]): Iterable<FieldError> {
  for (const [index, ip] of clusterIPs.entries()) {
    if (index > 0 || ip !== "None") yield* validateIp(ip, ipsPath.index(index));
    else if (clusterIPs.length > 1) yield invalidValue(ipsPath, clusterIPs, "'None' must be the first and only value");
  }
}

function* validateFamilies(clusterIPs: readonly string[], families: readonly string[]): Iterable<FieldError> {
  if (clusterIPs.length > 1 && new Set(clusterIPs.map(ipFamily)).size < clusterIPs.length) {
    yield invalidValue(ipsPath, clusterIPs, "may specify no more than one IP for each IP family");
  }
  if (clusterIPs[0] === "None") return;
  for (const [index, ip] of clusterIPs.entries()) {
    const family = families[index];
    if (family === undefined || family === ipFamily(ip)) continue;
    yield invalidValue(
      ipsPath.index(index),
      ip,
      `expected an ${family} value as indicated by \`ipFamilies[${index}]\``,
    );
  }
}

const once = "may not change once set";

/** A second address can come and go, the first one stays. */
export function* validateClusterIpChange(spec: ServiceSpec, old: ServiceSpec): Iterable<FieldError> {
  const { clusterIPs: ips = [] } = spec;
  const { clusterIPs: before = [] } = old;
  if (ips[0] === "None" && ips.length === 1 && before[0] === "None" && before.length === 1) return;
  if (before.length === ips.length) {
    for (const [index, ip] of before.entries()) {
      if (ip !== ips[index]) yield invalidValue(ipsPath.index(index), ips, once);
    }
    return;
  }
  if (ips.length === 0) yield invalidValue(ipsPath.index(0), ips, "primary clusterIP can not be unset");
  else if (before.length > 0 && ips[0] !== before[0]) yield invalidValue(ipsPath.index(0), ips, once);
  if (before.length > ips.length && ips.length === 1 && spec.ipFamilyPolicy !== "SingleStack") {
    const detail = "must be set to 'SingleStack' when releasing the secondary clusterIP";
    yield invalidValue(policyPath, spec.ipFamilyPolicy, detail);
  }
}

export function* validateFamilyChange(spec: ServiceSpec, old: ServiceSpec): Iterable<FieldError> {
  const { clusterIPs: ips = [], ipFamilies: families = [] } = spec;
  const { ipFamilies: before = [] } = old;
  const isNone = ({ clusterIPs = [] }: ServiceSpec) => clusterIPs.length === 1 && clusterIPs[0] === "None";
  if (isNone(spec) || isNone(old)) return;
  if (before.length === families.length) {
    for (const [index, family] of before.entries()) {
      if (family !== families[index]) yield invalidValue(familiesPath.index(0), families, once);
    }
    return;
  }
  if (before.length > families.length && ips.length === 0) {
    yield invalidValue(familiesPath.index(0), families, "primary ipFamily can not be unset");
  }
  if (before.length > 0 && families.length > 0 && families[0] !== before[0]) {
    yield invalidValue(familiesPath.index(0), ips, once);
  }
  if (before.length > families.length && families.length === 1 && spec.ipFamilyPolicy !== "SingleStack") {
    const detail = "must be set to 'SingleStack' when releasing the secondary ipFamily";
    yield invalidValue(policyPath, spec.ipFamilyPolicy, detail);
  }
}
