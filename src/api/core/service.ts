import { ageColumn, column, wide } from "#api/meta/columns.ts";
import { Condition } from "#api/meta/condition.ts";
import { formatLabels } from "#api/meta/label-selector.ts";
import { dns1123Label } from "#api/meta/names.ts";
import { defaulted, embedded, nullable, optional, present } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { atomicList, boolean, int32, intOrString, list, listByKey, map, oneOf, string } from "#schema/types.ts";
import { type Column, defineResource, type NamespacedObject, proxied } from "../resource.ts";
import { prepareServiceForCreate, prepareServiceForUpdate } from "./service/prepare-service.ts";
import {
  serviceWarnings,
  validateService,
  validateServiceStatus,
  validateServiceUpdate,
} from "./service/validate-service.ts";

const object = inPackage("core/v1");

export const ServicePort = object(
  "ServicePort",
  { doc: "A port that a service listens on.", defaults: setTargetPort },
  {
    name: optional(1, string(), "Its name; needed where there are several."),
    protocol: defaulted(2, oneOf("SCTP", "TCP", "UDP"), "TCP", "TCP, UDP or SCTP."),
    appProtocol: nullable(6, string(), "The application protocol, such as http or kubernetes.io/h2c."),
    port: present(3, int32({ min: 1, max: 65535 }), "Its number."),
    targetPort: optional(4, intOrString(), "The port of the pods, by number or name; without it the same number."),
    nodePort: optional(5, int32(), "The port on each node, for NodePort and LoadBalancer; allocated if empty."),
  },
);
export interface ServicePort extends Infer<typeof ServicePort> {}

function setTargetPort(port: { port: number; targetPort?: number | string }): void {
  if (!port.targetPort) port.targetPort = port.port;
}

export const ClientIPConfig = object("ClientIPConfig", "How long a client stays with one pod.", {
  timeoutSeconds: nullable(1, int32(), "Seconds that a client stays with its pod, at most a day."),
});

export const SessionAffinityConfig = object("SessionAffinityConfig", "How clients stay with one pod.", {
  clientIP: nullable(1, ClientIPConfig, "For affinity by the client's address."),
});

export const ServiceSpec = object("ServiceSpec", "How a service is reached and where its traffic goes.", {
  ports: optional(
    1,
    list(ServicePort, { list: "map", keys: ["port", "protocol"], patch: "merge", mergeKey: "port" }),
    "The ports that the service listens on.",
  ),
  selector: optional(2, map(string(), { atomic: true }), "Labels of the pods that get the traffic."),
  clusterIP: optional(3, string(), "Its address within the cluster; None for a headless service."),
  clusterIPs: optional(18, atomicList(string()), "All of its addresses, one for each IP family."),
  type: defaulted(4, oneOf("ClusterIP", "ExternalName", "LoadBalancer", "NodePort"), "ClusterIP", "Type of service."),
  externalIPs: optional(5, atomicList(string()), "Addresses outside of it that nodes also take traffic for."),
  sessionAffinity: defaulted(7, oneOf("ClientIP", "None"), "None", "ClientIP keeps a client with one pod."),
  loadBalancerIP: optional(8, string(), "The address wanted from the load balancer; no longer advised."),
  loadBalancerSourceRanges: optional(9, atomicList(string()), "Client addresses that the balancer admits."),
  externalName: optional(10, string(), "The name that DNS answers with, for the type ExternalName."),
  externalTrafficPolicy: optional(11, string(), "How nodes route external traffic: Cluster or Local."),
  healthCheckNodePort: optional(12, int32(), "The port on which nodes tell load balancers whether they have pods."),
  publishNotReadyAddresses: optional(13, boolean(), "DNS also names pods that are not ready."),
  sessionAffinityConfig: nullable(14, SessionAffinityConfig, "How clients stay with one pod."),
  ipFamilyPolicy: nullable(17, oneOf("PreferDualStack", "RequireDualStack", "SingleStack"), "Single or dual stack."),
  ipFamilies: optional(19, atomicList(oneOf("IPv4", "IPv6")), "The IP families, the first one being the main one."),
  allocateLoadBalancerNodePorts: nullable(20, boolean(), "Whether a LoadBalancer also gets ports on the nodes."),
  loadBalancerClass: nullable(21, string(), "Which load balancer is to serve it. Cannot be changed."),
  internalTrafficPolicy: nullable(22, oneOf("Cluster", "Local"), "How cluster traffic is routed."),
  trafficDistribution: nullable(23, string(), "Preferred endpoints: PreferSameZone or PreferSameNode."),
});
export interface ServiceSpec extends Infer<typeof ServiceSpec> {}

export const PortStatus = object("PortStatus", "What became of a port at the load balancer.", {
  port: present(1, int32(), "Number of the port."),
  protocol: present(2, string(), "TCP, UDP or SCTP."),
  error: nullable(3, string(), "What went wrong with it."),
});

export const LoadBalancerIngress = object("LoadBalancerIngress", "One place where a load balancer takes traffic.", {
  ip: optional(1, string(), "Its address."),
  hostname: optional(2, string(), "Its name, where it has no address."),
  ipMode: nullable(3, string(), "VIP if the address reaches the node as it is, Proxy if it does not."),
  ports: optional(4, atomicList(PortStatus), "What became of the ports."),
});

export const LoadBalancerStatus = object("LoadBalancerStatus", "Where a load balancer takes traffic.", {
  ingress: optional(1, atomicList(LoadBalancerIngress), "The places where it takes traffic."),
});

export const ServiceStatus = object("ServiceStatus", "What became of a service.", {
  loadBalancer: embedded(1, LoadBalancerStatus, "Where its load balancer takes traffic."),
  conditions: optional(2, listByKey("type", Condition), "Aspects of its present state."),
});

const columns: readonly Column<Service>[] = [
  column("Type", "How the service can be reached.", ({ spec }) => spec.type),
  column("Cluster-IP", "Its address within the cluster.", ({ spec }) => spec.clusterIPs?.[0] ?? "<none>"),
  column("External-IP", "Its addresses outside of it.", externalAddress),
  column("Port(s)", "The ports that it listens on.", portList),
  ageColumn,
  wide(
    column(
      "Selector",
      "Labels of the pods that get the traffic.",
      ({ spec }) => formatLabels(spec.selector ?? {}) || "<none>",
    ),
  ),
];

const fields = {
  spec: embedded(2, ServiceSpec),
  status: embedded(3, ServiceStatus),
};
export interface Service extends NamespacedObject<typeof fields> {}

export const Service = defineResource("v1.Service", fields, {
  shortNames: ["svc"],
  categories: ["all"],
  createOnUpdate: true,
  returnsDeleted: true,
  storagePrefix: "services/specs",
  doc: "One address and name for a changing set of pods.",
  withStatus: () => ({ loadBalancer: {} }),
  subresources: [proxied("ServiceProxyOptions")],
  columns,
  selectableFields: { "spec.clusterIP": ({ spec }) => spec.clusterIP, "spec.type": ({ spec }) => spec.type },
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
