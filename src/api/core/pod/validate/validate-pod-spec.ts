import { isHugePages } from "#api/core/container/resource-list.ts";
import { validateRequirements } from "#api/core/container/validate-resources.ts";
import { type Cursor } from "#api/cursor.ts";
import { validateIp } from "#api/meta/ip-address.ts";
import { validateLabels } from "#api/meta/label-selector.ts";
import {
  dns1123Label,
  dns1123Subdomain,
  dns1123SubdomainWithUnderscore,
  inclusiveRange,
  qualifiedName,
} from "#api/meta/names.ts";
import { type ObjectMeta } from "#api/meta/object-meta.ts";
import { compareQuantities } from "#api/meta/quantity.ts";
import { mirrorAnnotation } from "#api/well-known.ts";
import { firstByName } from "#lib/data/first-by-name.ts";
import { own } from "#lib/data/own.ts";
import { forbiddenValue } from "#schema/field-error.ts";
import { type AnyContainer, allContainers, containersAt } from "../pod-containers.ts";
import { containerTotal } from "../pod-resources.ts";
import { type PodDNSConfig, type PodResourceClaim, type PodSpec } from "../pod-spec.ts";
import { validateAffinity, validateTopologySpread } from "./validate-affinity.ts";
import { validateContainers, validateEphemeralContainers, validateInitContainers } from "./validate-container.ts";
import { validateFileRefVolumes } from "./validate-env.ts";
import { validatePodSecurityContext } from "./validate-security-context.ts";
import { validateToleration } from "./validate-tolerations.ts";
import { validateHostProcess, validateSystem } from "./validate-windows.ts";
import { validateVolumes } from "./volumes/validate-volume.ts";

/** Every fault of a pod's spec that its schema cannot see. The spec of a template has no metadata of its own. */
export function validatePodSpec(at: Cursor<PodSpec>, metadata: ObjectMeta | undefined): void {
  const spec = at.value;
  const volumes = validateVolumes(at, metadata);
  const claimNames = new Set((spec.resourceClaims ?? []).map(({ name }) => name));
  if (spec.resourceClaims) validateResourceClaims(at, metadata);
  const context = { spec, volumes, claimNames };
  validateContainers(at, context);
  if (spec.initContainers) validateInitContainers(at, context);
  if (spec.ephemeralContainers) validateEphemeralContainers(at, context);
  if (spec.resources) validatePodResources(at, claimNames);
  at.on("nodeSelector", validateLabels);
  at.on("affinity", validateAffinity);
  at.each("tolerations", validateToleration);
  validateTopologySpread(at);
  validateHost(at, metadata !== undefined);
  validateNames(at);
  validateDns(at);
  validateGates(at);
  at.on("overhead", (at) => validateRequirements(at.as({ limits: at.value }), "container", claimNames));
  validateSpecialContainers(at);
}

const systems = ["linux", "windows"];

/** Rules for containers that apply to few pods. All others skip the walk. */
function validateSpecialContainers(at: Cursor<PodSpec>): void {
  const { os, hostUsers, securityContext } = at.value;
  const isSpecial = os || hostUsers === false || securityContext.windowsOptions;
  if (!isSpecial && !allContainers(at.value).some(isSpecialContainer)) return;
  const containers = containersAt(at);
  const volumes = firstByName(at.value.volumes);
  validateHostProcess(at, containers);
  if (os?.name === "") at.under("os", "name").missing();
  else if (os) at.field("os").as(os.name).oneOf(systems);
  if (os) validateSystem(at, containers);
  for (const at of containers) {
    if (hostUsers === false && at.value.volumeDevices?.length) {
      at.field("volumeDevices").forbidden("when `hostUsers` is false");
    }
    at.each("env", (at) => validateFileRefVolumes(at, volumes));
  }
}

const isSpecialContainer = ({ securityContext, env }: AnyContainer): boolean =>
  securityContext?.windowsOptions !== undefined || (env?.some(({ valueFrom }) => valueFrom?.fileKeyRef) ?? false);

function validateResourceClaims(pod: Cursor<PodSpec>, metadata: ObjectMeta | undefined): void {
  const names = new Set<string>();
  pod.each("resourceClaims", (at) => {
    if (metadata?.annotations?.[mirrorAnnotation] !== undefined) {
      at.add(() => ({ ...forbiddenValue(at, "static pods do not support resource claims"), path: "" }));
      return;
    }
    const { name } = at.value;
    if (at.field("name").required()) {
      if (names.has(name)) at.field("name").duplicate();
      else at.field("name").rule(dns1123Label);
    }
    names.add(name);
    validateClaimSource(at);
  });
}

function validateClaimSource(at: Cursor<PodResourceClaim>): void {
  const { resourceClaimName: name, resourceClaimTemplateName: template } = at.value;
  if (name !== undefined && template !== undefined) {
    at.invalid("at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified");
  }
  if (name === undefined && template === undefined) {
    at.invalid("must specify one of: `resourceClaimName`, `resourceClaimTemplateName`");
  }
  at.field("resourceClaimName").rule(dns1123Subdomain);
  at.field("resourceClaimTemplateName").rule(dns1123Subdomain);
}

/** Pod-level requests and limits must cover those of the containers. */
function validatePodResources(pod: Cursor<PodSpec>, claimNames: ReadonlySet<string>): void {
  const { resources = {}, os, containers } = pod.value;
  const { requests = {}, limits = {} } = resources;
  const at = pod.field("resources").as(resources);
  if (os?.name === "windows") {
    at.forbidden("may not be set for a windows pod");
    return;
  }
  at.on("claims", (at) => at.forbidden("claims may not be set for Resources at pod-level"));
  validateRequirements(at, "pod", claimNames);
  const holdAtLeast = (part: "requests" | "limits", name: string, needed: string): void => {
    const has = own(part === "requests" ? requests : limits, name);
    if (has === undefined || compareQuantities(needed, has) <= 0) return;
    const detail = `must be greater than or equal to aggregate container ${part} of ${needed}`;
    at.field(part).key(name, has).invalid(detail);
  };
  for (const [name, needed] of Object.entries(containerTotal(pod.value, "requests"))) {
    holdAtLeast("requests", name, needed);
  }
  for (const [name, needed] of Object.entries(containerTotal(pod.value, "limits"))) {
    if (isHugePages(name)) holdAtLeast("limits", name, needed);
  }
  for (const [index, container] of containers.entries()) {
    for (const [name, limit] of Object.entries(container.resources.limits ?? {})) {
      const whole = own(limits, name);
      if (whole === undefined || compareQuantities(limit, whole) <= 0) continue;
      const place = at.under("containers").key(index, container).key(name, limit).under("limits");
      place.invalid(`must be less than or equal to pod limits of ${whole}`);
    }
  }
}

/** What a pod shares with its node. */
function validateHost(at: Cursor<PodSpec>, isPod: boolean): void {
  const { hostNetwork, hostUsers, hostPID, hostIPC } = at.value;
  validatePodSecurityContext(at.field("securityContext"), at.value);
  if (hostNetwork) validateHostNetworkPorts(at, isPod);
  if (hostUsers === false) {
    const detail = "when `hostUsers` is false";
    if (hostNetwork) at.field("hostNetwork").forbidden(detail);
    if (hostPID) at.under("HostPID").forbidden(detail);
    if (hostIPC) at.under("HostIPC").forbidden(detail);
  }
  at.each("hostAliases", (at) => {
    validateIp(at.field("ip"));
    at.each("hostnames", (at) => at.rule(dns1123Subdomain));
  });
}

function validateHostNetworkPorts(pod: Cursor<PodSpec>, isPod: boolean): void {
  pod.each("containers", (at) =>
    at.each("ports", (at) => {
      const { hostPort = 0, containerPort } = at.value;
      if (hostPort === containerPort || (hostPort === 0 && !isPod)) return;
      at.field("hostPort").invalid("must match `containerPort` when `hostNetwork` is true", hostPort);
    }),
  );
}

const maxInt32 = 2 ** 31 - 1;

function validateNames(at: Cursor<PodSpec>): void {
  const { activeDeadlineSeconds: deadline } = at.value;
  for (const name of ["serviceAccountName", "nodeName"] as const) at.set(name)?.rule(dns1123Subdomain);
  for (const name of ["hostname", "subdomain"] as const) at.set(name)?.rule(dns1123Label);
  at.set("priorityClassName")?.rule(dns1123Subdomain);
  at.field("runtimeClassName").rule(dns1123Subdomain);
  at.on("hostnameOverride", (name) => validateHostnameOverride(name, at.value));
  if (deadline !== undefined && (deadline < 1 || deadline > maxInt32)) {
    at.field("activeDeadlineSeconds").invalid(inclusiveRange(1, maxInt32));
  }
}

function validateHostnameOverride(at: Cursor<string>, { setHostnameAsFQDN, hostNetwork }: PodSpec): void {
  if (setHostnameAsFQDN) at.forbidden("may not be specified when setHostnameAsFQDN is true");
  if (hostNetwork) at.forbidden("may not be specified when hostNetwork is true");
  if (at.value.length > 64) at.tooLong(64);
  at.rule(dns1123Subdomain);
}

function validateDns(at: Cursor<PodSpec>): void {
  const { dnsPolicy, dnsConfig } = at.value;
  if (dnsPolicy === "None" && !dnsConfig) {
    at.field("dnsConfig").missing("must provide `dnsConfig` when `dnsPolicy` is None");
  } else if (dnsPolicy === "None" && !dnsConfig?.nameservers?.length) {
    const detail = "must provide at least one DNS nameserver when `dnsPolicy` is None";
    at.under("dnsConfig", "nameservers").missing(detail);
  } else at.on("dnsConfig", validateDnsConfig);
}

const maxNameservers = 3;
const maxSearches = 32;
const maxSearchLength = 2048;

function validateDnsConfig(at: Cursor<PodDNSConfig>): void {
  const { nameservers = [], searches = [] } = at.value;
  if (nameservers.length > maxNameservers) {
    at.field("nameservers").invalid(`must not have more than ${maxNameservers} nameservers`);
  }
  at.each("nameservers", validateIp);
  if (searches.length > maxSearches) {
    at.field("searches").invalid(`must not have more than ${maxSearches} search paths`);
  }
  if (searches.join(" ").length > maxSearchLength) {
    const detail = `must not have more than ${maxSearchLength} characters (including spaces) in the search list`;
    at.field("searches").invalid(detail);
  }
  at.each("searches", (at) => {
    if (at.value !== ".") at.rule(dns1123SubdomainWithUnderscore, at.value.replace(/\.$/, ""));
  });
  at.each("options", (at) => {
    if (!at.value.name) at.missing("must not be empty");
  });
}

function validateGates(pod: Cursor<PodSpec>): void {
  pod.each("readinessGates", (at) => at.field("conditionType").rule(qualifiedName));
  const seen = new Set<string>();
  pod.each("schedulingGates", (at) => {
    at.as(at.value.name).rule(qualifiedName);
    at.as(at.value.name).unique(seen);
  });
}
