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
import { ipFamily, ipWarnings, validateCidr, validateEndpointIp, validateIp } from "../meta/ip-address.ts";
import { validateLabels } from "../meta/label-selector.ts";
import { dns1123Label, dns1123Subdomain, portName, portNumber, qualifiedName } from "../meta/names.ts";
import { faultsOf } from "./faults.ts";
import { isExternallyReachable, needsHealthCheckPort } from "./prepare-service.ts";
import type { Service, ServicePort, ServiceSpec } from "./service.ts";
import { validateClusterIpChange, validateClusterIps, validateFamilyChange } from "./validate-cluster-ips.ts";

const specPath = root.child("spec");
const onlyLoadBalancer = "may only be used when `type` is 'LoadBalancer'";
const topologyHints = "service.kubernetes.io/topology-aware-hints";
const topologyMode = "service.kubernetes.io/topology-mode";
const sourceRanges = "service.beta.kubernetes.io/load-balancer-source-ranges";
const maxAffinitySeconds = 86400;
const distributions = ["PreferClose", "PreferSameZone", "PreferSameNode"];

/** A headless service has no address of its own: DNS names its pods. */
export const isHeadless = ({ clusterIPs = [] }: ServiceSpec): boolean =>
  clusterIPs.length === 1 && clusterIPs[0] === "None";

export function* validateService({ metadata: { annotations = {} }, spec }: Service): Iterable<FieldError> {
  yield* validateTopology(annotations);
  yield* validateType(spec);
  yield* validatePorts(spec);
  yield* validateLabels(spec.selector, specPath.child("selector"));
  yield* validateAffinity(spec);
  yield* validateClusterIps(spec);
  yield* validateExternalIps(spec);
  yield* validateUniquePorts(spec);
  yield* validateSourceRanges(spec, annotations);
  yield* validateLoadBalancer(spec);
  yield* validateTraffic(spec);
}

type Annotations = Readonly<Record<string, string>>;

function* validateTopology(annotations: Annotations): Iterable<FieldError> {
  const hints = annotations[topologyHints];
  const mode = annotations[topologyMode];
  if (mode === undefined || hints === undefined || mode === hints) return;
  const path = root.child("metadata", "annotations").key(topologyMode);
  yield invalidValue(path, mode, `must match annotations[${topologyHints}] when both are specified`);
}

function* validateType(spec: ServiceSpec): Iterable<FieldError> {
  const { type, ports = [], clusterIPs = [], ipFamilies = [], ipFamilyPolicy } = spec;
  const headless = isHeadless(spec);
  if (ports.length === 0 && !headless && type !== "ExternalName") yield requiredValue(specPath.child("ports"));
  if (headless && (type === "LoadBalancer" || type === "NodePort")) {
    yield invalidValue(specPath.child("clusterIPs").index(0), "None", `may not be set to 'None' for ${type} services`);
  }
  if (type !== "ExternalName") return;
  const forbidden = "may not be set for ExternalName services";
  if (clusterIPs.length > 0) yield forbiddenValue(specPath.child("clusterIPs"), forbidden);
  if (ipFamilies.length > 0) yield forbiddenValue(specPath.child("ipFamilies"), forbidden);
  if (ipFamilyPolicy !== undefined) yield forbiddenValue(specPath.child("ipFamilyPolicy"), forbidden);
  const name = (spec.externalName ?? "").replace(/\.$/, "");
  if (name === "") yield requiredValue(specPath.child("externalName"));
  else yield* faultsOf(dns1123Subdomain, name, specPath.child("externalName"));
}

function* validatePorts({ ports = [] }: ServiceSpec): Iterable<FieldError> {
  const names = new Set<string>();
  for (const [index, port] of ports.entries()) {
    const path = specPath.child("ports").index(index);
    const { name = "" } = port;
    if (name) yield* faultsOf(dns1123Label, name, path.child("name"));
    else if (ports.length > 1) yield requiredValue(path.child("name"));
    if (name && names.has(name)) yield duplicateValue(path.child("name"), name);
    names.add(name);
    yield* validateTarget(port, path);
  }
}

function* validateTarget({ targetPort = 0, appProtocol }: ServicePort, path: FieldPath): Iterable<FieldError> {
  if (typeof targetPort === "string") {
    yield* faultsOf(portName, targetPort, path.child("targetPort"));
  } else {
    const fault = portNumber(targetPort);
    if (fault) yield invalidValue(path.child("targetPort"), targetPort, fault);
  }
  if (appProtocol !== undefined) yield* faultsOf(qualifiedName, appProtocol, path.child("appProtocol"));
}

function* validateAffinity({ sessionAffinity, sessionAffinityConfig }: ServiceSpec): Iterable<FieldError> {
  const path = specPath.child("sessionAffinityConfig");
  if (sessionAffinity === "None") {
    if (sessionAffinityConfig) yield forbiddenValue(path, "must not be set when session affinity is None");
    return;
  }
  if (sessionAffinity !== "ClientIP") return;
  const detail = "when session affinity type is ClientIP";
  const seconds = sessionAffinityConfig?.clientIP?.timeoutSeconds;
  if (!sessionAffinityConfig) yield requiredValue(path, detail);
  else if (!sessionAffinityConfig.clientIP) yield requiredValue(path.child("clientIP"), detail);
  else if (seconds === undefined) yield requiredValue(path.child("clientIP", "timeoutSeconds"), detail);
  else if (seconds <= 0 || seconds > maxAffinitySeconds) {
    const range = `must be greater than 0 and less than ${maxAffinitySeconds}`;
    yield invalidValue(path.child("clientIP", "timeoutSeconds"), seconds, range);
  }
}

function* validateExternalIps({ externalIPs = [] }: ServiceSpec): Iterable<FieldError> {
  for (const [index, ip] of externalIPs.entries()) {
    const path = specPath.child("externalIPs").index(index);
    const faults = [...validateIp(ip, path)];
    yield* faults.length > 0 ? faults : validateEndpointIp(ip, path);
  }
}

function* validateUniquePorts({ type, ports = [] }: ServiceSpec): Iterable<FieldError> {
  const path = specPath.child("ports");
  if (type === "ClusterIP") {
    for (const [index, { nodePort }] of ports.entries()) {
      if (nodePort)
        yield forbiddenValue(path.index(index).child("nodePort"), "may not be used when `type` is 'ClusterIP'");
    }
  }
  const nodePorts = new Set<string>();
  for (const [index, { protocol, nodePort }] of ports.entries()) {
    if (!nodePort) continue;
    const key = `${protocol}/${nodePort}`;
    if (nodePorts.has(key)) yield duplicateValue(path.index(index).child("nodePort"), nodePort);
    nodePorts.add(key);
  }
  const numbers = new Set<string>();
  for (const [index, { protocol, port }] of ports.entries()) {
    const key = `${protocol}/${port}`;
    if (numbers.has(key)) {
      const shown = { Name: "", Protocol: protocol, AppProtocol: null, Port: port, TargetPort: 0, NodePort: 0 };
      yield duplicateValue(path.index(index), shown);
    }
    numbers.add(key);
  }
}

function* validateSourceRanges(
  { type, loadBalancerSourceRanges: ranges = [] }: ServiceSpec,
  annotations: Annotations,
): Iterable<FieldError> {
  if (ranges.length > 0) {
    const path = specPath.child("LoadBalancerSourceRanges");
    if (type !== "LoadBalancer") yield forbiddenValue(path, onlyLoadBalancer);
    for (const [index, range] of ranges.entries()) yield* validateCidr(range.trim(), path.index(index));
    return;
  }
  const annotation = annotations[sourceRanges];
  if (annotation === undefined) return;
  const path = root.child("metadata", "annotations").key(sourceRanges);
  if (type !== "LoadBalancer") yield forbiddenValue(path, onlyLoadBalancer);
  if (annotation.trim() === "") return;
  for (const range of annotation.split(",")) yield* validateCidr(range.trim(), path);
}

function* validateLoadBalancer(spec: ServiceSpec): Iterable<FieldError> {
  const { allocateLoadBalancerNodePorts, loadBalancerClass } = spec;
  if (spec.type === "LoadBalancer") {
    if (allocateLoadBalancerNodePorts === undefined) yield requiredValue(root.child("allocateLoadBalancerNodePorts"));
    if (loadBalancerClass !== undefined) {
      yield* faultsOf(qualifiedName, loadBalancerClass, specPath.child("loadBalancerClass"));
    }
    return;
  }
  if (allocateLoadBalancerNodePorts !== undefined) {
    yield forbiddenValue(specPath.child("allocateLoadBalancerNodePorts"), onlyLoadBalancer);
  }
  if (loadBalancerClass !== undefined) yield forbiddenValue(specPath.child("loadBalancerClass"), onlyLoadBalancer);
}

/** The health check port may still be missing: it is allocated after this. */
function* validateTraffic(spec: ServiceSpec): Iterable<FieldError> {
  const { externalTrafficPolicy = "", healthCheckNodePort = 0, internalTrafficPolicy, trafficDistribution } = spec;
  const path = specPath.child("externalTrafficPolicy");
  if (!isExternallyReachable(spec)) {
    if (externalTrafficPolicy) {
      yield invalidValue(path, externalTrafficPolicy, "may only be set for externally-accessible services");
    }
  } else if (externalTrafficPolicy === "") {
    yield requiredValue(path);
  } else if (externalTrafficPolicy !== "Cluster" && externalTrafficPolicy !== "Local") {
    yield unsupportedValue(path, externalTrafficPolicy, ["Cluster", "Local"]);
  }
  const portPath = specPath.child("healthCheckNodePort");
  const fault = portNumber(healthCheckNodePort);
  if (healthCheckNodePort !== 0 && !needsHealthCheckPort(spec)) {
    const detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
    yield invalidValue(portPath, healthCheckNodePort, detail);
  } else if (healthCheckNodePort !== 0 && fault) {
    yield invalidValue(portPath, healthCheckNodePort, fault);
  }
  if (internalTrafficPolicy === undefined && spec.type !== "ExternalName") {
    yield requiredValue(specPath.child("internalTrafficPolicy"));
  }
  if (trafficDistribution !== undefined && !distributions.includes(trafficDistribution)) {
    yield unsupportedValue(specPath.child("trafficDistribution"), trafficDistribution, distributions);
  }
}

export function* validateServiceUpdate({ spec }: Service, { spec: old }: Service): Iterable<FieldError> {
  if (spec.type !== "ExternalName" && old.type !== "ExternalName") {
    yield* validateClusterIpChange(spec, old);
    yield* validateFamilyChange(spec, old);
  }
  const bothBalanced = spec.type === "LoadBalancer" && old.type === "LoadBalancer";
  if (bothBalanced && spec.loadBalancerClass !== old.loadBalancerClass) {
    yield invalidValue(specPath.child("loadBalancerClass"), spec.loadBalancerClass, "may not change once set");
  }
  const bothChecked = needsHealthCheckPort(spec) && needsHealthCheckPort(old);
  if (bothChecked && spec.healthCheckNodePort !== old.healthCheckNodePort) {
    yield forbiddenValue(specPath.child("healthCheckNodePort"), "field is immutable");
  }
}

export function* validateServiceStatus({ spec, status }: Service): Iterable<FieldError> {
  const path = root.child("status", "loadBalancer", "ingress");
  const ingresses = status.loadBalancer.ingress ?? [];
  if (spec.type !== "LoadBalancer" && ingresses.length > 0) {
    yield forbiddenValue(path, "may only be used when `spec.type` is 'LoadBalancer'");
    return;
  }
  for (const [index, { ip = "", ipMode, hostname = "" }] of ingresses.entries()) {
    const at = path.index(index);
    if (ip) yield* validateIp(ip, at.child("ip"));
    const modePath = at.child("ipMode");
    if (ip && ipMode === undefined) yield requiredValue(modePath, "must be specified when `ip` is set");
    else if (!ip && ipMode !== undefined) yield forbiddenValue(modePath, "may not be specified when `ip` is not set");
    else if (ipMode !== undefined && ipMode !== "VIP" && ipMode !== "Proxy") {
      yield unsupportedValue(modePath, ipMode, ["Proxy", "VIP"]);
    }
    if (hostname) yield* faultsOf(dns1123Subdomain, hostname, at.child("hostname"));
    if (ipFamily(hostname)) {
      yield invalidValue(at.child("hostname"), hostname, "must be a DNS name, not an IP address");
    }
  }
}

export function* serviceWarnings({ metadata: { annotations = {} }, spec }: Service): Iterable<string> {
  if (annotations[topologyHints] !== undefined) {
    yield `annotation ${topologyHints} is deprecated, please use ${topologyMode} instead`;
  }
  const { externalIPs = [], type } = spec;
  const headless = type === "ClusterIP" && spec.clusterIP === "None";
  for (const [index, ip] of (spec.clusterIPs ?? []).entries())
    yield* ipWarnings(ip, specPath.child("clusterIPs").index(index));
  if (headless) {
    if (spec.loadBalancerIP) yield "spec.loadBalancerIP is ignored for headless services";
    if (externalIPs.length > 0) yield "spec.externalIPs is ignored for headless services";
    if (spec.sessionAffinity !== "None") yield "spec.SessionAffinity is ignored for headless services";
  }
  for (const [index, ip] of externalIPs.entries()) yield* ipWarnings(ip, specPath.child("externalIPs").index(index));
  if (externalIPs.length > 0 && !headless && type !== "ExternalName") {
    yield "spec.externalIPs is deprecated and may no longer be implemented in some clusters";
  }
  if (spec.loadBalancerIP) yield* ipWarnings(spec.loadBalancerIP, specPath.child("loadBalancerIP"));
  if (externalIPs.length > 0 && type === "ExternalName") {
    yield 'spec.externalIPs is ignored when spec.type is "ExternalName"';
  }
  if (spec.externalName && type !== "ExternalName") {
    yield 'spec.externalName is ignored when spec.type is not "ExternalName"';
  }
  if (spec.trafficDistribution === "PreferClose") {
    yield 'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"';
  }
}
