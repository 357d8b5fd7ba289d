import { type Cursor } from "#api/cursor.ts";
import { ipFamily, validateIp } from "#api/meta/ip-address.ts";
import type { ServiceSpec } from "../service.ts";

/** That clusterIP, clusterIPs and ipFamilies agree with each other. */
export function validateClusterIps(at: Cursor<ServiceSpec>): void {
  const { type, clusterIP = "", clusterIPs = [] } = at.value;
  if (type === "ExternalName") return;
  const ips = at.field("clusterIPs").as(clusterIPs);
  if (clusterIP !== "") {
    if (ips.required() && clusterIPs[0] !== clusterIP) ips.invalid("first value must match `clusterIP`");
  } else if (clusterIPs.length > 0) ips.invalid("must be empty when `clusterIP` is not specified");
  const seen = new Set<string>();
  at.each("ipFamilies", (at) => at.unique(seen));
  const { faultCount } = at;
  at.each("clusterIPs", (at, index) => {
    if (index > 0 || at.value !== "None") validateIp(at);
    else if (clusterIPs.length > 1) ips.invalid("'None' must be the first and only value");
  });
  const isSound = at.faultCount === faultCount;
  if (clusterIPs.length > 2) ips.invalid("may only hold up to 2 values");
  if (isSound) validateFamilies(at);
}

function validateFamilies(at: Cursor<ServiceSpec>): void {
  const { clusterIPs = [], ipFamilies = [] } = at.value;
  if (clusterIPs.length > 1 && new Set(clusterIPs.map(ipFamily)).size < clusterIPs.length) {
    at.field("clusterIPs").invalid("may specify no more than one IP for each IP family");
  }
  if (clusterIPs[0] === "None") return;
  at.each("clusterIPs", (at, index) => {
    const family = ipFamilies[index];
    if (family === undefined || family === ipFamily(at.value)) return;
    at.invalid(`expected an ${family} value as indicated by \`ipFamilies[${index}]\``);
  });
}

const once = "may not change once set";

/** The second address can be added and removed; the first one cannot change. */
export function validateClusterIpChange(at: Cursor<ServiceSpec>, old: ServiceSpec): void {
  const { clusterIPs: ips = [], ipFamilyPolicy } = at.value;
  const { clusterIPs: before = [] } = old;
  if (isNone(at.value) && isNone(old)) return;
  const place = at.field("clusterIPs");
  if (before.length === ips.length) {
    for (const [index, ip] of before.entries()) if (ip !== ips[index]) place.key(index, ips).invalid(once);
    return;
  }
  if (ips.length === 0) place.key(0, ips).invalid("primary clusterIP can not be unset");
  else if (before.length > 0 && ips[0] !== before[0]) place.key(0, ips).invalid(once);
  if (before.length > ips.length && ips.length === 1 && ipFamilyPolicy !== "SingleStack") {
    at.field("ipFamilyPolicy").invalid("must be set to 'SingleStack' when releasing the secondary clusterIP");
  }
}

const isNone = ({ clusterIPs = [] }: ServiceSpec): boolean => clusterIPs.length === 1 && clusterIPs[0] === "None";

export function validateFamilyChange(at: Cursor<ServiceSpec>, old: ServiceSpec): void {
  const { clusterIPs: ips = [], ipFamilies: families = [], ipFamilyPolicy } = at.value;
  const { ipFamilies: before = [] } = old;
  if (isNone(at.value) || isNone(old)) return;
  const place = at.field("ipFamilies").key(0, families);
  if (before.length === families.length) {
    for (const [index, family] of before.entries()) if (family !== families[index]) place.invalid(once);
    return;
  }
  if (before.length > families.length && ips.length === 0) place.invalid("primary ipFamily can not be unset");
  if (before.length > 0 && families.length > 0 && families[0] !== before[0]) place.invalid(once, ips);
  if (before.length > families.length && families.length === 1 && ipFamilyPolicy !== "SingleStack") {
    at.field("ipFamilyPolicy").invalid("must be set to 'SingleStack' when releasing the secondary ipFamily");
  }
}
