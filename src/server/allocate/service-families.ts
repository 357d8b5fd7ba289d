import { type Service } from "#api/core/service.ts";
import { type IpFamily, ipFamily } from "#api/meta/ip-address.ts";
import { type FieldError, invalidValue, root } from "#schema/field-error.ts";

/**
 * Decides the address families of a Service in a cluster that has these families, the default one first. What the
 * client left open is derived from the old object, from the given addresses, or by default. Yields what such a cluster
 * cannot provide.
 */
export function* settleFamilies(
  service: Service,
  old: Service | undefined,
  configured: readonly IpFamily[],
): Iterable<FieldError> {
  const { spec } = service;
  if (spec.type === "ExternalName" || isSameAsBefore(service, old)) return;
  const isFree = spec.clusterIP === "None" && Object.keys(spec.selector ?? {}).length === 0;
  spec.ipFamilyPolicy ??= old?.spec.ipFamilyPolicy ?? (isFree ? "RequireDualStack" : "SingleStack");
  if (old && spec.ipFamilyPolicy === "SingleStack") dropSecond(service, old);
  const faults = [...policyFaults(service, old), ...inferFamilies(service, configured)];
  if (faults.length > 0) return yield* faults;
  const [usual = "IPv4"] = configured;
  if (isFree) return addSecond(service, usual);
  const missing = [...missingFamilies(service, configured)];
  if (missing.length > 0) return yield* missing;
  if (configured.length > 1) addSecond(service, usual);
  else if (!spec.ipFamilies?.length) spec.ipFamilies = [usual];
}

function* missingFamilies({ spec }: Service, configured: readonly IpFamily[]): Iterable<FieldError> {
  if (spec.ipFamilyPolicy === "RequireDualStack" && configured.length < 2) {
    yield invalidValue(policyPath, spec.ipFamilyPolicy, "this cluster is not configured for dual-stack services");
  }
  for (const [index, family] of (spec.ipFamilies ?? []).entries()) {
    if (configured.includes(family)) continue;
    yield invalidValue(root.child("spec", "ipFamilies").index(index), family, "not configured on this cluster");
  }
}

const policyPath = root.child("spec", "ipFamilyPolicy");

/** A preference is resolved only once: it does not change when the cluster gains or loses a family. */
function isSameAsBefore({ spec }: Service, old: Service | undefined): boolean {
  if (!old || spec.ipFamilyPolicy !== "PreferDualStack" || old.spec.ipFamilyPolicy !== "PreferDualStack") return false;
  const same = (mine: readonly string[] = [], theirs: readonly string[] = []): boolean =>
    mine.length === theirs.length && mine.every((item, index) => item === theirs[index]);
  return same(spec.clusterIPs, old.spec.clusterIPs) && same(spec.ipFamilies, old.spec.ipFamilies);
}

/** Requesting one family without changing the lists means the first of each. */
function dropSecond({ spec }: Service, { spec: old }: Service): void {
  if (spec.clusterIPs && spec.clusterIPs.join() === (old.clusterIPs ?? []).join())
    spec.clusterIPs = spec.clusterIPs.slice(0, 1);
  if (spec.ipFamilies && spec.ipFamilies.join() === (old.ipFamilies ?? []).join())
    spec.ipFamilies = spec.ipFamilies.slice(0, 1);
}

function* policyFaults({ spec }: Service, old: Service | undefined): Iterable<FieldError> {
  const addresses = spec.clusterIPs?.length ?? 0;
  const families = spec.ipFamilies?.length ?? 0;
  const fault = (detail: string): FieldError => invalidValue(policyPath, spec.ipFamilyPolicy, detail);
  if (spec.ipFamilyPolicy === "SingleStack") {
    const needed = "must be 'RequireDualStack' or 'PreferDualStack' when multiple";
    if (addresses === 2) yield fault(`${needed} cluster IPs are specified`);
    if (families === 2) yield fault(`${needed} IP families are specified`);
    return;
  }
  if (addresses === 1 && old?.spec.clusterIPs?.length === 2)
    yield fault("must be 'SingleStack' to release the secondary cluster IP");
  if (families === 1 && old?.spec.ipFamilies?.length === 2)
    yield fault("must be 'SingleStack' to release the secondary IP family");
}

function* inferFamilies({ spec }: Service, configured: readonly IpFamily[]): Iterable<FieldError> {
  for (const [index, address] of (spec.clusterIPs ?? []).entries()) {
    if (address === "None") return;
    if (index < (spec.ipFamilies?.length ?? 0)) continue;
    const family = ipFamily(address) ?? "IPv4";
    if (!configured.includes(family)) {
      const path = root.child("spec", "clusterIPs").index(index);
      yield invalidValue(path, spec.clusterIPs, `${family} is not configured on this cluster`);
    } else spec.ipFamilies = [...(spec.ipFamilies ?? []), family];
  }
}

/**
 * A service that may have two families gets the other one too. Without a selector and an address, that is possible in
 * every cluster: the author of the endpoints decides.
 */
function addSecond({ spec }: Service, usual: IpFamily): void {
  if (!spec.ipFamilies?.length) spec.ipFamilies = [usual];
  const [first] = spec.ipFamilies;
  if (spec.ipFamilies.length === 1 && spec.ipFamilyPolicy !== "SingleStack") {
    spec.ipFamilies = first === "IPv4" ? ["IPv4", "IPv6"] : ["IPv6", "IPv4"];
  }
}
