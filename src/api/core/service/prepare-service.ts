import { equal } from "#lib/data/equal.ts";
import type { Service, ServiceSpec } from "../service.ts";

export function prepareServiceForCreate({ spec }: Service): void {
  if (spec.clusterIP && !spec.clusterIPs?.length) spec.clusterIPs = [spec.clusterIP];
}

/** Keeps what was allocated if the client left it out, and drops what the new type has no use for. */
export function prepareServiceForUpdate(service: Service, old: Service): void {
  if (service.spec.type !== "LoadBalancer") service.status = { ...old.status, loadBalancer: {} };
  keepAllocated(service.spec, old.spec);
  alignClusterIps(service.spec, old.spec);
  dropUnused(service.spec, old.spec);
}

const needsClusterIp = ({ type }: ServiceSpec): boolean => type !== "ExternalName";
const needsNodePort = ({ type }: ServiceSpec): boolean => type === "NodePort" || type === "LoadBalancer";

/** Whether load balancers ask the nodes for this service's health. */
export const needsHealthCheckPort = ({ type, externalTrafficPolicy }: ServiceSpec): boolean =>
  type === "LoadBalancer" && externalTrafficPolicy === "Local";

/** Whether the service can be reached from outside of the cluster. */
export const isExternallyReachable = (spec: ServiceSpec): boolean =>
  needsNodePort(spec) || (spec.type === "ClusterIP" && (spec.externalIPs ?? []).length > 0);

function keepAllocated(spec: ServiceSpec, old: ServiceSpec): void {
  if (needsClusterIp(old) && needsClusterIp(spec)) {
    if (!spec.clusterIP && old.clusterIP) spec.clusterIP = old.clusterIP;
    if (!spec.clusterIPs?.length && old.clusterIPs?.length) spec.clusterIPs = old.clusterIPs;
    if (spec.ipFamilyPolicy === undefined && old.ipFamilyPolicy) spec.ipFamilyPolicy = old.ipFamilyPolicy;
  }
  if (needsNodePort(old) && needsNodePort(spec)) keepNodePorts(spec, old);
  if (needsHealthCheckPort(old) && needsHealthCheckPort(spec) && old.healthCheckNodePort) {
    spec.healthCheckNodePort ||= old.healthCheckNodePort;
  }
}

/** A port without a node port gets the one it had under the same name, unless another port has it now. */
function keepNodePorts(spec: ServiceSpec, old: ServiceSpec): void {
  const taken = new Set((spec.ports ?? []).map(({ nodePort }) => nodePort));
  const before = new Map((old.ports ?? []).map(({ name, nodePort }) => [name ?? "", nodePort]));
  for (const port of spec.ports ?? []) {
    const nodePort = before.get(port.name ?? "");
    if (!port.nodePort && nodePort && !taken.has(nodePort)) port.nodePort = nodePort;
  }
}

/** Clients may know only one of clusterIP and clusterIPs: the other follows. */
function alignClusterIps(spec: ServiceSpec, old: ServiceSpec): void {
  if (spec.clusterIP === old.clusterIP) {
    if (!spec.clusterIPs?.length && old.clusterIPs?.length) spec.clusterIPs = old.clusterIPs;
  } else if (equal(spec.clusterIPs ?? [], old.clusterIPs ?? [])) {
    if (spec.clusterIP) spec.clusterIPs = [spec.clusterIP];
    else delete spec.clusterIPs;
  }
}

/** Drops fields of the old type that the client did not change. */
function dropUnused(spec: ServiceSpec, old: ServiceSpec): void {
  if (needsClusterIp(old) && !needsClusterIp(spec)) {
    dropClusterIps(spec, old);
    if (spec.internalTrafficPolicy === old.internalTrafficPolicy) delete spec.internalTrafficPolicy;
  }
  if (needsNodePort(old) && !needsNodePort(spec)) {
    const before = new Set((old.ports ?? []).map(({ nodePort }) => nodePort));
    const ports = spec.ports ?? [];
    if (ports.every(({ nodePort }) => !nodePort || before.has(nodePort)))
      for (const port of ports) delete port.nodePort;
  }
  const isSame = (name: keyof ServiceSpec): boolean => spec[name] === old[name];
  if (needsHealthCheckPort(old) && !needsHealthCheckPort(spec) && isSame("healthCheckNodePort")) {
    delete spec.healthCheckNodePort;
  }
  if (old.type === "LoadBalancer" && spec.type !== "LoadBalancer") {
    if (isSame("allocateLoadBalancerNodePorts")) delete spec.allocateLoadBalancerNodePorts;
    if (isSame("loadBalancerClass")) delete spec.loadBalancerClass;
  }
  if (isExternallyReachable(old) && !isExternallyReachable(spec) && isSame("externalTrafficPolicy")) {
    delete spec.externalTrafficPolicy;
  }
}

function dropClusterIps(spec: ServiceSpec, old: ServiceSpec): void {
  if (spec.clusterIP === old.clusterIP && equal(spec.clusterIPs ?? [], old.clusterIPs ?? [])) {
    delete spec.clusterIP;
    delete spec.clusterIPs;
  }
  if (equal(spec.ipFamilies ?? [], old.ipFamilies ?? [])) delete spec.ipFamilies;
  if (spec.ipFamilyPolicy === old.ipFamilyPolicy) delete spec.ipFamilyPolicy;
}
