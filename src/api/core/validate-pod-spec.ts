import { own } from "#lib/own.ts";
import {
  duplicateValue,
  type FieldPath,
  forbiddenValue,
  invalidValue,
  requiredValue,
  tooLong,
  unsupportedValue,
} from "#schema/field-error.ts";
import { ipFault } from "../meta/ip.ts";
import { validateLabels } from "../meta/label-selector.ts";
import {
  dns1123Label,
  dns1123Subdomain,
  dns1123SubdomainWithUnderscore,
  inclusiveRange,
  qualifiedName,
} from "../meta/names.ts";
import { type ObjectMeta } from "../meta/object-meta.ts";
import { compareQuantities } from "../meta/quantity.ts";
import { mirrorAnnotation } from "../well-known.ts";
import { type Faults, judge, judgeAt, judgeIfSet } from "./faults.ts";
import { type AnyContainer, allContainers, placedContainers } from "./pod-containers.ts";
import { containerTotal } from "./pod-resources.ts";
import { type PodDNSConfig, type PodResourceClaim, type PodSpec } from "./pod-spec.ts";
import { isHugePages } from "./resource-list.ts";
import { validateAffinity, validateTopologySpread } from "./validate-affinity.ts";
import {
  type ContainerContext,
  validateContainers,
  validateEphemeralContainers,
  validateInitContainers,
} from "./validate-container.ts";
import { validateFileRefVolumes } from "./validate-env.ts";
import { validateRequirements } from "./validate-resources.ts";
import { validatePodSecurityContext } from "./validate-security-context.ts";
import { validateTolerations } from "./validate-tolerations.ts";
import { validateVolumes } from "./validate-volume.ts";
import { validateHostProcess, validateSystem } from "./validate-windows.ts";

/** The metadata of the pod; a template's spec has none of its own. */
export interface PodSpecContext {
  readonly metadata: ObjectMeta | undefined;
}

/** Every fault of a pod's spec, or of a template's, that its schema cannot see. */
export function validatePodSpec(spec: PodSpec, { metadata }: PodSpecContext, path: FieldPath, faults: Faults): void {
  const isPod = metadata !== undefined;
  const volumes = validateVolumes(spec.volumes ?? [], { isPod, metadata }, path.child("volumes"), faults);
  const claimNames = new Set((spec.resourceClaims ?? []).map(({ name }) => name));
  if (spec.resourceClaims) validateResourceClaims(spec.resourceClaims, metadata, path.child("resourceClaims"), faults);

  const context: ContainerContext = { isPod, spec, volumes, claimNames };
  validateContainers(context, path.child("containers"), faults);
  if (spec.initContainers) validateInitContainers(context, path.child("initContainers"), faults);
  if (spec.ephemeralContainers) validateEphemeralContainers(context, path.child("ephemeralContainers"), faults);
  if (spec.resources) validatePodResources(spec, claimNames, path.child("resources"), faults);
  validatePlacement(spec, path, faults);
  validateHost(spec, isPod, path, faults);
  validateNames(spec, path, faults);
  validateDns(spec, path.child("dnsConfig"), faults);
  validateGates(spec, path, faults);
  if (spec.overhead) {
    const owner = { owner: "container", claimNames } as const;
    validateRequirements({ limits: spec.overhead }, owner, path.child("overhead"), faults);
  }
  validateSpecialContainers(spec, path, faults);
}

/** Rules about containers that only a few pods fall under; the others do not pay for the walk. */
function validateSpecialContainers(spec: PodSpec, path: FieldPath, faults: Faults): void {
  const isSpecial = spec.os || spec.hostUsers === false || spec.securityContext.windowsOptions;
  if (!isSpecial && !allContainers(spec).some(isSpecialContainer)) return;
  const placed = placedContainers(spec, path);
  validateHostProcess(spec, placed, path, faults);
  if (spec.os?.name === "") faults.push(requiredValue(path.child("os", "name")));
  else if (spec.os && !systems.includes(spec.os.name)) {
    faults.push(unsupportedValue(path.child("os"), spec.os.name, systems));
  }
  if (spec.os) validateSystem(spec, placed, path, faults);
  for (const [container, at] of placed) {
    if (spec.hostUsers === false && container.volumeDevices?.length) {
      faults.push(forbiddenValue(at.child("volumeDevices"), "when `hostUsers` is false"));
    }
    if (container.env) validateFileRefVolumes(container.env, spec.volumes ?? [], at.child("env"), faults);
  }
}

const systems = ["linux", "windows"];

const isSpecialContainer = ({ securityContext, env }: AnyContainer): boolean =>
  securityContext?.windowsOptions !== undefined || (env?.some(({ valueFrom }) => valueFrom?.fileKeyRef) ?? false);

function validateResourceClaims(
  claims: readonly PodResourceClaim[],
  metadata: ObjectMeta | undefined,
  path: FieldPath,
  faults: Faults,
): void {
  const names = new Set<string>();
  for (const [index, claim] of claims.entries()) {
    const at = path.index(index);
    if (metadata?.annotations?.[mirrorAnnotation] !== undefined) {
      faults.push({ ...forbiddenValue(at, "static pods do not support resource claims"), path: "" });
      continue;
    }
    if (!claim.name) faults.push(requiredValue(at.child("name")));
    else if (names.has(claim.name)) faults.push(duplicateValue(at.child("name"), claim.name));
    else judge(dns1123Label, claim.name, at, "name", faults);
    names.add(claim.name);
    validateClaimSource(claim, at, faults);
  }
}

function validateClaimSource(claim: PodResourceClaim, path: FieldPath, faults: Faults): void {
  const { resourceClaimName: name, resourceClaimTemplateName: template } = claim;
  if (name !== undefined && template !== undefined) {
    const detail = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified";
    faults.push(invalidValue(path, claim, detail));
  }
  if (name === undefined && template === undefined) {
    const detail = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`";
    faults.push(invalidValue(path, claim, detail));
  }
  if (name !== undefined) judge(dns1123Subdomain, name, path, "resourceClaimName", faults);
  if (template !== undefined) judge(dns1123Subdomain, template, path, "resourceClaimTemplateName", faults);
}

/** What the pod as a whole asks for must hold what its containers ask for. */
function validatePodResources(spec: PodSpec, claimNames: ReadonlySet<string>, path: FieldPath, faults: Faults): void {
  const { resources = {}, os } = spec;
  const { requests = {}, limits = {} } = resources;
  if (os?.name === "windows") {
    faults.push(forbiddenValue(path, "may not be set for a windows pod"));
    return;
  }
  if (resources.claims) {
    faults.push(forbiddenValue(path.child("claims"), "claims may not be set for Resources at pod-level"));
  }
  validateRequirements(resources, { owner: "pod", claimNames }, path, faults);
  const least = (part: "requests" | "limits", name: string, has: string | undefined, needed: string): void => {
    if (has === undefined || compareQuantities(needed, has) <= 0) return;
    const detail = `must be greater than or equal to aggregate container ${part} of ${needed}`;
    faults.push(invalidValue(path.child(part).key(name), has, detail));
  };
  for (const [name, needed] of Object.entries(containerTotal(spec, "requests"))) {
    least("requests", name, own(requests, name), needed);
  }
  for (const [name, needed] of Object.entries(containerTotal(spec, "limits"))) {
    if (isHugePages(name)) least("limits", name, own(limits, name), needed);
  }
  for (const [index, container] of spec.containers.entries()) {
    for (const [name, limit] of Object.entries(container.resources.limits ?? {})) {
      const whole = own(limits, name);
      if (whole === undefined || compareQuantities(limit, whole) <= 0) continue;
      const at = path.child("containers").index(index).key(name).child("limits");
      faults.push(invalidValue(at, limit, `must be less than or equal to pod limits of ${whole}`));
    }
  }
}

function validatePlacement(spec: PodSpec, path: FieldPath, faults: Faults): void {
  if (spec.nodeSelector) faults.push(...validateLabels(spec.nodeSelector, path.child("nodeSelector")));
  if (spec.affinity) validateAffinity(spec.affinity, path.child("affinity"), faults);
  if (spec.tolerations) validateTolerations(spec.tolerations, path.child("tolerations"), faults);
  if (spec.topologySpreadConstraints) {
    validateTopologySpread(spec.topologySpreadConstraints, path.child("topologySpreadConstraints"), faults);
  }
}

/** What a pod shares with its node. */
function validateHost(spec: PodSpec, isPod: boolean, path: FieldPath, faults: Faults): void {
  validatePodSecurityContext(spec.securityContext, spec, path.child("securityContext"), faults);
  if (spec.hostNetwork) validateHostNetworkPorts(spec, isPod, path.child("containers"), faults);
  if (spec.hostUsers === false) {
    const detail = "when `hostUsers` is false";
    if (spec.hostNetwork) faults.push(forbiddenValue(path.child("hostNetwork"), detail));
    if (spec.hostPID) faults.push(forbiddenValue(path.child("HostPID"), detail));
    if (spec.hostIPC) faults.push(forbiddenValue(path.child("HostIPC"), detail));
  }
  for (const [index, { ip, hostnames = [] }] of (spec.hostAliases ?? []).entries()) {
    const at = path.child("hostAliases").index(index);
    const fault = ipFault(ip);
    if (fault) faults.push(invalidValue(at.child("ip"), ip, fault));
    for (const [position, name] of hostnames.entries()) {
      judgeAt(dns1123Subdomain, name, at.child("hostnames").index(position), faults);
    }
  }
}

function validateHostNetworkPorts(spec: PodSpec, isPod: boolean, path: FieldPath, faults: Faults): void {
  for (const [index, { ports = [] }] of spec.containers.entries()) {
    for (const [position, { hostPort = 0, containerPort }] of ports.entries()) {
      if (hostPort === containerPort || (hostPort === 0 && !isPod)) continue;
      const at = path.index(index).child("ports").index(position).child("hostPort");
      faults.push(invalidValue(at, hostPort, "must match `containerPort` when `hostNetwork` is true"));
    }
  }
}

const maxInt32 = 2 ** 31 - 1;

function validateNames(spec: PodSpec, path: FieldPath, faults: Faults): void {
  judgeIfSet(dns1123Subdomain, spec.serviceAccountName, path, "serviceAccountName", faults);
  judgeIfSet(dns1123Subdomain, spec.nodeName, path, "nodeName", faults);
  judgeIfSet(dns1123Label, spec.hostname, path, "hostname", faults);
  judgeIfSet(dns1123Label, spec.subdomain, path, "subdomain", faults);
  judgeIfSet(dns1123Subdomain, spec.priorityClassName, path, "priorityClassName", faults);
  if (spec.runtimeClassName !== undefined) {
    judge(dns1123Subdomain, spec.runtimeClassName, path, "runtimeClassName", faults);
  }
  if (spec.hostnameOverride !== undefined) validateHostnameOverride(spec, spec.hostnameOverride, path, faults);
  const { activeDeadlineSeconds: deadline } = spec;
  if (deadline !== undefined && (deadline < 1 || deadline > maxInt32)) {
    faults.push(invalidValue(path.child("activeDeadlineSeconds"), deadline, inclusiveRange(1, maxInt32)));
  }
}

function validateHostnameOverride(spec: PodSpec, name: string, path: FieldPath, faults: Faults): void {
  const at = path.child("hostnameOverride");
  if (spec.setHostnameAsFQDN) {
    faults.push(forbiddenValue(at, "may not be specified when setHostnameAsFQDN is true"));
  }
  if (spec.hostNetwork) faults.push(forbiddenValue(at, "may not be specified when hostNetwork is true"));
  if (name.length > 64) faults.push(tooLong(at, 64));
  judgeAt(dns1123Subdomain, name, at, faults);
}

function validateDns({ dnsPolicy, dnsConfig }: PodSpec, path: FieldPath, faults: Faults): void {
  if (dnsPolicy === "None") {
    if (!dnsConfig) {
      faults.push(requiredValue(path, "must provide `dnsConfig` when `dnsPolicy` is None"));
      return;
    }
    if (!dnsConfig.nameservers?.length) {
      const detail = "must provide at least one DNS nameserver when `dnsPolicy` is None";
      faults.push(requiredValue(path.child("nameservers"), detail));
      return;
    }
  }
  if (dnsConfig) validateDnsConfig(dnsConfig, path, faults);
}

const maxNameservers = 3;
const maxSearches = 32;
const maxSearchLength = 2048;

function validateDnsConfig(
  { nameservers = [], searches = [], options = [] }: PodDNSConfig,
  path: FieldPath,
  faults: Faults,
): void {
  if (nameservers.length > maxNameservers) {
    const detail = `must not have more than ${maxNameservers} nameservers`;
    faults.push(invalidValue(path.child("nameservers"), nameservers, detail));
  }
  for (const [index, address] of nameservers.entries()) {
    const fault = ipFault(address);
    if (fault) faults.push(invalidValue(path.child("nameservers").index(index), address, fault));
  }
  if (searches.length > maxSearches) {
    const detail = `must not have more than ${maxSearches} search paths`;
    faults.push(invalidValue(path.child("searches"), searches, detail));
  }
  if (searches.join(" ").length > maxSearchLength) {
    const detail = `must not have more than ${maxSearchLength} characters (including spaces) in the search list`;
    faults.push(invalidValue(path.child("searches"), searches, detail));
  }
  for (const [index, search] of searches.entries()) {
    if (search === ".") continue;
    judgeAt(dns1123SubdomainWithUnderscore, search.replace(/\.$/, ""), path.child("searches").index(index), faults);
  }
  for (const [index, { name }] of options.entries()) {
    if (!name) faults.push(requiredValue(path.child("options").index(index), "must not be empty"));
  }
}

function validateGates({ readinessGates = [], schedulingGates = [] }: PodSpec, path: FieldPath, faults: Faults): void {
  for (const [index, { conditionType }] of readinessGates.entries()) {
    judge(qualifiedName, conditionType, path.child("readinessGates").index(index), "conditionType", faults);
  }
  const seen = new Set<string>();
  for (const [index, { name }] of schedulingGates.entries()) {
    const at = path.child("schedulingGates").index(index);
    judgeAt(qualifiedName, name, at, faults);
    if (seen.has(name)) faults.push(duplicateValue(at, name));
    seen.add(name);
  }
}
