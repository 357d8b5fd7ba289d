import { ageColumn, column, wide } from "#api/meta/columns.ts";
import { Condition } from "#api/meta/condition.ts";
import { formatLabels } from "#api/meta/label-selector.ts";
import { dns1123Label } from "#api/meta/names.ts";
import { defaulted, embedded, nullable, optional, present, stated } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import {
  atomicList,
  boolean,
  int32,
  intOrString,
  known,
  listByKey,
  listing,
  map,
  oneOf,
  string,
} from "#schema/types.ts";
import { type Column, defineResource, type NamespacedObject, proxied } from "../resource.ts";
import { prepareServiceForCreate, prepareServiceForUpdate } from "./service/prepare-service.ts";
import {
  serviceWarnings,
  validateService,
  validateServiceStatus,
  validateServiceUpdate,
} from "./service/validate-service.ts";

const object = inPackage("core/v1");

export const ServicePort = object.filledBy(setTargetPort, "ServicePort", "A port of a service.", {
  name: optional(1, string(dns1123Label), "Name of the port. Required if the service has several ports."),
  protocol: stated(defaulted(2, oneOf("SCTP", "TCP", "UDP"), "TCP", "Protocol of the port: TCP, UDP or SCTP.")),
  appProtocol: nullable(6, string(), "Application protocol of the port, such as http or kubernetes.io/h2c."),
  port: present(3, int32({ min: 1, max: 65535 }), "Number of the port of the service."),
  targetPort: optional(4, intOrString(), "Number or name of the port of the pods; the same number as port by default."),
  nodePort: optional(5, int32(), "Port on every node, for NodePort and LoadBalancer. Allocated if 0."),
});
export interface ServicePort extends Infer<typeof ServicePort> {}

function setTargetPort(port: { port: number; targetPort?: number | string }): void {
  if (!port.targetPort) port.targetPort = port.port;
}

const stacks = oneOf("PreferDualStack", "RequireDualStack", "SingleStack");
export const ipFamily = listing(["", "IPv4", "IPv6"], oneOf("IPv4", "IPv6"));
const ServiceSpec = object("ServiceSpec", "How a service is reached and which pods receive its traffic.", {
  ports: optional(1, listByKey(["port", "protocol"], ServicePort), "Ports of the service."),
  selector: optional(2, map(string(), { atomic: true }), "Labels of the pods that receive the traffic."),
  clusterIP: optional(3, string(), "IP address within the cluster, or None for a headless service."),
  clusterIPs: optional(18, atomicList(string()), "IP addresses within the cluster, one for each IP family."),
  type: defaulted(4, oneOf("ClusterIP", "ExternalName", "LoadBalancer", "NodePort"), "ClusterIP", "Type of service."),
  externalIPs: optional(5, atomicList(string()), "Further IP addresses for which the nodes accept traffic."),
  sessionAffinity: defaulted(7, oneOf("ClientIP", "None"), "None", "Whether a client keeps its pod: ClientIP or None."),
  loadBalancerIP: optional(8, string(), "Deprecated: IP address that the load balancer should have."),
  loadBalancerSourceRanges: optional(9, atomicList(string()), "IP ranges of clients that the load balancer accepts."),
  externalName: optional(10, string(), "DNS name that a service of type ExternalName is an alias for."),
  externalTrafficPolicy: optional(
    11,
    known("Cluster", "Local"),
    "Which pods receive external traffic: Cluster for all, or Local.",
  ),
  healthCheckNodePort: optional(12, int32(), "Port on which nodes tell load balancers whether they have ready pods."),
  publishNotReadyAddresses: optional(13, boolean(), "Whether DNS returns addresses of pods that are not ready."),
  sessionAffinityConfig: object.nullable(14, "SessionAffinityConfig", "Settings of session affinity.", {
    clientIP: object.nullable(1, "ClientIPConfig", "Settings of session affinity by the client's IP address.", {
      timeoutSeconds: nullable(1, int32(), "Seconds for which a client keeps its pod, from 1 to 86400."),
    }),
  }),
  ipFamilyPolicy: nullable(17, stacks, "Whether the service has one IP family (SingleStack) or two."),
  ipFamilies: optional(19, atomicList(ipFamily), "IP families of the service, the primary one first."),
  allocateLoadBalancerNodePorts: nullable(20, boolean(), "Whether a LoadBalancer gets node ports; true by default."),
  loadBalancerClass: nullable(21, string(), "Class of the load balancer that serves the service. Cannot be changed."),
  internalTrafficPolicy: nullable(22, oneOf("Cluster", "Local"), "Which pods receive traffic from inside the cluster."),
  trafficDistribution: nullable(23, string(), "Which endpoints are preferred: PreferSameZone or PreferSameNode."),
});
export interface ServiceSpec extends Infer<typeof ServiceSpec> {}

const PortStatus = object("PortStatus", "The state of a service port at a load balancer.", {
  port: present(1, int32(), "Number of the service port."),
  protocol: present(2, known("SCTP", "TCP", "UDP"), "Protocol of the service port: TCP, UDP or SCTP."),
  error: nullable(3, string(), "Error of the load balancer with this port."),
});

const LoadBalancerIngress = object("LoadBalancerIngress", "A point at which a load balancer receives traffic.", {
  ip: optional(1, string(), "IP address of the ingress point."),
  hostname: optional(2, string(), "DNS name of the ingress point, if it has no fixed IP address."),
  ipMode: nullable(3, string(), "VIP if traffic reaches nodes with this IP as its destination, else Proxy."),
  ports: optional(4, atomicList(PortStatus), "State of the service ports at the load balancer."),
});

const columns: readonly Column<Service>[] = [
  column("Type", "Type of service.", ({ spec }) => spec.type),
  column("Cluster-IP", "Address within the cluster.", ({ spec }) => spec.clusterIPs?.[0] ?? "<none>"),
  column("External-IP", "Addresses outside of the cluster.", externalAddress),
  column("Port(s)", "Ports of the service.", portList),
  ageColumn,
  wide(column("Selector", "Labels of the pods.", ({ spec }) => formatLabels(spec.selector) || "<none>")),
];

const fields = {
  spec: embedded(2, ServiceSpec),
  status: object.embedded(3, "ServiceStatus", "The observed state of a service.", {
    loadBalancer: object.embedded(1, "LoadBalancerStatus", "State of the service's load balancer.", {
      ingress: optional(1, atomicList(LoadBalancerIngress), "Points at which the load balancer receives traffic."),
    }),
    conditions: optional(2, listByKey("type", Condition), "Conditions of the service, one for each type."),
  }),
};
export interface Service extends NamespacedObject<typeof fields> {}

export const Service = defineResource("v1.Service", fields, {
  shortNames: ["svc"],
  categories: ["all"],
  createOnUpdate: true,
  returnsDeleted: true,
  storagePrefix: "services/specs",
  doc: "A stable address and DNS name for a changing set of pods.",
  withStatus: () => ({ loadBalancer: {} }),
  subresources: [proxied("ServiceProxyOptions")],
  columns,
  selectableFields: { "spec.clusterIP": ({ spec }) => spec.clusterIP, "spec.type": ({ spec }) => spec.type },
  indexes: { clusterIP: ({ spec }) => (spec.clusterIPs ?? []).filter((ip) => ip !== "None") },
  nameRule: dns1123Label,

  defaults: setDefaults,
  prepareForCreate: prepareServiceForCreate,
  prepareForUpdate: prepareServiceForUpdate,
  validate: validateService,
  validateUpdate: validateServiceUpdate,
  validateStatusUpdate: validateServiceStatus,
  warnings: serviceWarnings,
});

const defaultAffinitySeconds = 10800;

function setDefaults({ spec, status }: Service): void {
  if (spec.sessionAffinity === "None") delete spec.sessionAffinityConfig;
  if (spec.sessionAffinity === "ClientIP" && spec.sessionAffinityConfig?.clientIP?.timeoutSeconds === undefined) {
    spec.sessionAffinityConfig = { clientIP: { timeoutSeconds: defaultAffinitySeconds } };
  }
  const isReachable = spec.type === "LoadBalancer" || spec.type === "NodePort" || (spec.externalIPs ?? []).length > 0;
  if (spec.type !== "ExternalName") {
    if (isReachable) spec.externalTrafficPolicy ??= "Cluster";
    spec.internalTrafficPolicy ??= "Cluster";
  }
  if (spec.type !== "LoadBalancer") return;
  spec.allocateLoadBalancerNodePorts ??= true;
  for (const ingress of status.loadBalancer.ingress ?? []) if (ingress.ip) ingress.ipMode ??= "VIP";
}

function externalAddress({ spec, status }: Service): string {
  if (spec.type === "ExternalName") return spec.externalName ?? "";
  const external = spec.externalIPs ?? [];
  if (spec.type !== "LoadBalancer") return external.join(",") || "<none>";
  const balanced = new Set((status.loadBalancer.ingress ?? []).map(({ ip, hostname }) => ip || hostname || ""));
  balanced.delete("");
  return [...[...balanced].sort(), ...external].join(",") || "<pending>";
}

function portList({ spec: { ports = [] } }: Service): string {
  const texts = ports.map(({ port, nodePort, protocol }) =>
    nodePort ? `${port}:${nodePort}/${protocol}` : `${port}/${protocol}`,
  );
  return texts.join(",") || "<none>";
}
