import { validatePort } from "#api/core/pod/validate/validate-probe.ts";
import { type Cursor } from "#api/cursor.ts";
import { ipFamily, validateCidr, validateEndpointIp, validateIp, warnOfIp } from "#api/meta/ip-address.ts";
import { validateLabels } from "#api/meta/label-selector.ts";
import { dns1123Label, dns1123Subdomain, portNumber, qualifiedName } from "#api/meta/names.ts";
import { maxAnnotationBytes } from "#api/meta/validate-meta.ts";
import type { Service, ServiceSpec } from "../service.ts";
import { isExternallyReachable, needsHealthCheckPort } from "./prepare-service.ts";
import { validateClusterIpChange, validateClusterIps, validateFamilyChange } from "./validate-cluster-ips.ts";

const onlyLoadBalancer = "may only be used when `type` is 'LoadBalancer'";
const topologyHints = "service.kubernetes.io/topology-aware-hints";
const topologyMode = "service.kubernetes.io/topology-mode";
const sourceRanges = "service.beta.kubernetes.io/load-balancer-source-ranges";
const maxAffinitySeconds = 86400;
const maxLabelLength = 63;
const distributions = ["PreferClose", "PreferSameZone", "PreferSameNode"];

/** A headless service has no address of its own: DNS names its pods. */
export const isHeadless = ({ clusterIPs = [] }: ServiceSpec): boolean =>
  clusterIPs.length === 1 && clusterIPs[0] === "None";

export function validateService(service: Cursor<Service>): void {
  const at = service.field("spec");
  const annotations = service.under("metadata", "annotations").as(service.value.metadata.annotations ?? {});
  validateTopology(annotations);
  validateType(at);
  validatePorts(at);
  at.on("selector", validateLabels);
  validateAffinity(at);
  validateClusterIps(at);
  at.each("externalIPs", (at) => {
    const { faultCount } = at;
    validateIp(at);
    if (at.faultCount === faultCount) validateEndpointIp(at);
  });
  validateUniquePorts(at);
  validateSourceRanges(at, annotations);
  validateLoadBalancer(at, service);
  validateTraffic(at);
}

type Annotations = Readonly<Record<string, string>>;

function validateTopology(at: Cursor<Annotations>): void {
  const { [topologyHints]: hints, [topologyMode]: mode } = at.value;
  if (mode === undefined || hints === undefined || mode === hints) return;
  at.key(topologyMode, mode).invalid(`must match annotations[${topologyHints}] when both are specified`);
}

function validateType(at: Cursor<ServiceSpec>): void {
  const { type, ports = [], clusterIPs = [], ipFamilies = [], ipFamilyPolicy, externalName = "" } = at.value;
  const headless = isHeadless(at.value);
  if (ports.length === 0 && !headless && type !== "ExternalName") at.field("ports").missing();
  if (headless && (type === "LoadBalancer" || type === "NodePort")) {
    at.field("clusterIPs").key(0, "None").invalid(`may not be set to 'None' for ${type} services`);
  }
  if (type !== "ExternalName") return;
  const forbidden = "may not be set for ExternalName services";
  if (clusterIPs.length > 0) at.field("clusterIPs").forbidden(forbidden);
  if (ipFamilies.length > 0) at.field("ipFamilies").forbidden(forbidden);
  if (ipFamilyPolicy !== undefined) at.field("ipFamilyPolicy").forbidden(forbidden);
  const name = at.field("externalName").as(externalName.replace(/\.$/, ""));
  if (name.required()) validateExternalName(name);
}

/** Checks each label too: DNS cannot encode a label of more than 63 characters. */
function validateExternalName(at: Cursor<string>): void {
  const { faultCount } = at;
  at.rule(dns1123Subdomain);
  const long = at.value.split(".").find((label) => label.length > maxLabelLength);
  if (at.faultCount === faultCount && long) at.rule(dns1123Label, long);
}

function validatePorts(spec: Cursor<ServiceSpec>): void {
  const { ports = [] } = spec.value;
  const names = new Set<string>();
  spec.each("ports", (at) => {
    const { name = "", targetPort = 0 } = at.value;
    if (name) at.field("name").unique(names);
    else if (ports.length > 1) at.field("name").missing();
    validatePort(at.field("targetPort").as(targetPort));
    at.field("appProtocol").rule(qualifiedName);
  });
}

function validateAffinity(at: Cursor<ServiceSpec>): void {
  const { sessionAffinity, sessionAffinityConfig: config } = at.value;
  const place = at.field("sessionAffinityConfig");
  if (sessionAffinity === "None" && config) place.forbidden("must not be set when session affinity is None");
  if (sessionAffinity !== "ClientIP") return;
  const detail = "when session affinity type is ClientIP";
  const seconds = config?.clientIP?.timeoutSeconds;
  if (!config) place.missing(detail);
  else if (!config.clientIP) place.under("clientIP").missing(detail);
  else if (seconds === undefined) place.under("clientIP", "timeoutSeconds").missing(detail);
  else if (seconds <= 0 || seconds > maxAffinitySeconds) {
    const range = `must be greater than 0 and less than ${maxAffinitySeconds}`;
    place.under("clientIP", "timeoutSeconds").invalid(range, seconds);
  }
}

function validateUniquePorts(spec: Cursor<ServiceSpec>): void {
  if (spec.value.type === "ClusterIP") {
    spec.each("ports", (at) => at.set("nodePort")?.forbidden("may not be used when `type` is 'ClusterIP'"));
  }
  const nodePorts = new Set<string>();
  spec.each("ports", (at) => {
    const { protocol, nodePort } = at.value;
    if (!nodePort) return;
    const key = `${protocol}/${nodePort}`;
    if (nodePorts.has(key)) at.field("nodePort").duplicate();
    nodePorts.add(key);
  });
  const numbers = new Set<string>();
  spec.each("ports", (at) => {
    const { protocol, port } = at.value;
    const key = `${protocol}/${port}`;
    const shown = { Name: "", Protocol: protocol, AppProtocol: null, Port: port, TargetPort: 0, NodePort: 0 };
    if (numbers.has(key)) at.duplicate(shown);
    numbers.add(key);
  });
}

function validateSourceRanges(at: Cursor<ServiceSpec>, annotations: Cursor<Annotations>): void {
  const { type, loadBalancerSourceRanges: ranges = [] } = at.value;
  const annotation = annotations.value[sourceRanges];
  if (ranges.length > 0) {
    const place = at.under("LoadBalancerSourceRanges");
    if (type !== "LoadBalancer") place.forbidden(onlyLoadBalancer);
    for (const [index, range] of ranges.entries()) validateCidr(place.key(index, range.trim()));
  } else if (annotation !== undefined) {
    const place = annotations.key(sourceRanges, annotation);
    if (type !== "LoadBalancer") place.forbidden(onlyLoadBalancer);
    // The rules of metadata refuse a longer one. To read all of its ranges would take long.
    if (annotation.length > maxAnnotationBytes || annotation.trim() === "") return;
    for (const range of annotation.split(",")) {
      if (place.isFull) return;
      validateCidr(place.as(range.trim()));
    }
  }
}

function validateLoadBalancer(at: Cursor<ServiceSpec>, service: Cursor): void {
  const { type, allocateLoadBalancerNodePorts } = at.value;
  if (type === "LoadBalancer") {
    if (allocateLoadBalancerNodePorts === undefined) service.under("allocateLoadBalancerNodePorts").missing();
    at.field("loadBalancerClass").rule(qualifiedName);
  } else {
    at.on("allocateLoadBalancerNodePorts", (at) => at.forbidden(onlyLoadBalancer));
    at.on("loadBalancerClass", (at) => at.forbidden(onlyLoadBalancer));
  }
}

/** The health check port may still be missing: it is allocated after this. */
function validateTraffic(at: Cursor<ServiceSpec>): void {
  const { externalTrafficPolicy, healthCheckNodePort, internalTrafficPolicy, type } = at.value;
  const policy = at.field("externalTrafficPolicy");
  if (!isExternallyReachable(at.value)) {
    if (externalTrafficPolicy) policy.invalid("may only be set for externally-accessible services");
  } else if (policy.required()) policy.oneOf(["Cluster", "Local"]);
  if (healthCheckNodePort && !needsHealthCheckPort(at.value)) {
    const detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
    at.field("healthCheckNodePort").invalid(detail);
  } else if (healthCheckNodePort) at.field("healthCheckNodePort").invalid(portNumber(healthCheckNodePort));
  if (internalTrafficPolicy === undefined && type !== "ExternalName") at.field("internalTrafficPolicy").missing();
  at.on("trafficDistribution", (at) => at.oneOf(distributions));
}

export function validateServiceUpdate(service: Cursor<Service>, { spec: old }: Service): void {
  const at = service.field("spec");
  const { type, loadBalancerClass, healthCheckNodePort } = at.value;
  if (type !== "ExternalName" && old.type !== "ExternalName") {
    validateClusterIpChange(at, old);
    validateFamilyChange(at, old);
  }
  const bothBalanced = type === "LoadBalancer" && old.type === "LoadBalancer";
  if (bothBalanced && loadBalancerClass !== old.loadBalancerClass) {
    at.field("loadBalancerClass").invalid("may not change once set");
  }
  const bothChecked = needsHealthCheckPort(at.value) && needsHealthCheckPort(old);
  if (bothChecked && healthCheckNodePort !== old.healthCheckNodePort) {
    at.field("healthCheckNodePort").forbidden("field is immutable");
  }
}

export function validateServiceStatus(service: Cursor<Service>): void {
  const at = service.field("status").field("loadBalancer");
  if (service.value.spec.type !== "LoadBalancer" && at.value.ingress?.length) {
    at.field("ingress").forbidden("may only be used when `spec.type` is 'LoadBalancer'");
    return;
  }
  at.each("ingress", (at) => {
    const { ip, ipMode, hostname = "" } = at.value;
    const mode = at.field("ipMode");
    if (ip) validateIp(at.field("ip").as(ip));
    if (ip && ipMode === undefined) mode.missing("must be specified when `ip` is set");
    else if (!ip && ipMode !== undefined) mode.forbidden("may not be specified when `ip` is not set");
    else if (ipMode !== undefined) mode.oneOf(["Proxy", "VIP"]);
    at.set("hostname")?.rule(dns1123Subdomain);
    if (ipFamily(hostname)) at.field("hostname").invalid("must be a DNS name, not an IP address");
  });
}

export function serviceWarnings(service: Cursor<Service>): void {
  const at = service.field("spec");
  const { externalIPs = [], type, clusterIP, loadBalancerIP, sessionAffinity, externalName } = at.value;
  if (service.value.metadata.annotations?.[topologyHints] !== undefined) {
    service.note(`annotation ${topologyHints} is deprecated, please use ${topologyMode} instead`);
  }
  const headless = type === "ClusterIP" && clusterIP === "None";
  at.each("clusterIPs", warnOfIp);
  if (headless) {
    if (loadBalancerIP) service.note("spec.loadBalancerIP is ignored for headless services");
    if (externalIPs.length > 0) service.note("spec.externalIPs is ignored for headless services");
    if (sessionAffinity !== "None") service.note("spec.SessionAffinity is ignored for headless services");
  }
  at.each("externalIPs", warnOfIp);
  if (externalIPs.length > 0 && !headless && type !== "ExternalName") {
    service.note("spec.externalIPs is deprecated and may no longer be implemented in some clusters");
  }
  if (loadBalancerIP) warnOfIp(at.field("loadBalancerIP").as(loadBalancerIP));
  if (externalIPs.length > 0 && type === "ExternalName") {
    service.note('spec.externalIPs is ignored when spec.type is "ExternalName"');
  }
  if (externalName && type !== "ExternalName") {
    service.note('spec.externalName is ignored when spec.type is not "ExternalName"');
  }
  if (at.value.trafficDistribution === "PreferClose") {
    service.note('spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"');
  }
}
