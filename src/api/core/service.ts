import {
  boolean,
  defaulted,
  embedded,
  type Infer,
  int32,
  intOrString,
  list,
  listByKey,
  map,
  nullable,
  object,
  oneOf,
  optional,
  present,
  string,
} from "#schema/schema.ts";
import { ageColumn } from "../meta/columns.ts";
import { Condition } from "../meta/condition.ts";
import { formatLabels } from "../meta/label-selector.ts";
import { dns1123Label } from "../meta/names.ts";
import { type Column, defineResource, type ObjectOf } from "../resource.ts";
import { prepareServiceForCreate, prepareServiceForUpdate } from "./prepare-service.ts";
import { serviceWarnings, validateService, validateServiceStatus, validateServiceUpdate } from "./validate-service.ts";

export const ServicePort = object(
  "core/v1.ServicePort",
  {
    name: optional(1, string(), "Its name; needed where there are several."),
    protocol: defaulted(2, oneOf("SCTP", "TCP", "UDP"), "TCP", "TCP, UDP or SCTP."),
    appProtocol: nullable(6, string(), "The application protocol, such as http or kubernetes.io/h2c."),
    port: present(3, int32({ min: 1, max: 65535 }), "Its number."),
    targetPort: optional(4, intOrString(), "The port of the pods, by number or name; without it the same number."),
    nodePort: optional(
      5,
      int32(),
      "The port on every node, for the types NodePort and LoadBalancer; without it the server chooses one.",
    ),
  },
  { doc: "A port that a service listens on.", defaults: setTargetPort },
);
export interface ServicePort extends Infer<typeof ServicePort> {}

function setTargetPort(port: { port: number; targetPort?: number | string }): void {
  if (!port.targetPort) port.targetPort = port.port;
}

export const ClientIPConfig = object(
  "core/v1.ClientIPConfig",
  {
    timeoutSeconds: nullable(1, int32(), "Seconds that a client stays with its pod, at most a day."),
  },
  { doc: "How long a client stays with one pod." },
);
export interface ClientIPConfig extends Infer<typeof ClientIPConfig> {}

export const SessionAffinityConfig = object(
  "core/v1.SessionAffinityConfig",
  {
    clientIP: nullable(1, ClientIPConfig, "For affinity by the client's address."),
  },
  { doc: "How clients stay with one pod." },
);
export interface SessionAffinityConfig extends Infer<typeof SessionAffinityConfig> {}

export const ServiceSpec = object(
  "core/v1.ServiceSpec",
  {
    ports: optional(
      1,
      list(ServicePort, { list: "map", keys: ["port", "protocol"], patch: "merge", mergeKey: "port" }),
      "The ports that the service listens on.",
    ),
    selector: optional(2, map(string(), { atomic: true }), "Labels of the pods that get the traffic."),
    clusterIP: optional(3, string(), "Its address within the cluster; None for a headless service."),
    clusterIPs: optional(18, list(string(), { list: "atomic" }), "All of its addresses, one for each IP family."),
    type: defaulted(
      4,
      oneOf("ClusterIP", "ExternalName", "LoadBalancer", "NodePort"),
      "ClusterIP",
      "How the service can be reached: ClusterIP, NodePort, LoadBalancer or ExternalName.",
    ),
    externalIPs: optional(
      5,
      list(string(), { list: "atomic" }),
      "Addresses outside of it that nodes also take traffic for.",
    ),
    sessionAffinity: defaulted(7, oneOf("ClientIP", "None"), "None", "ClientIP keeps a client with one pod."),
    loadBalancerIP: optional(8, string(), "The address wanted from the load balancer; no longer advised."),
    loadBalancerSourceRanges: optional(
      9,
      list(string(), { list: "atomic" }),
      "The only client addresses that the load balancer lets through.",
    ),
    externalName: optional(10, string(), "The name that DNS answers with, for the type ExternalName."),
    externalTrafficPolicy: optional(
      11,
      string(),
      "Cluster sends outside traffic to any pod, Local only to those on the node it came to.",
    ),
    healthCheckNodePort: optional(12, int32(), "The port on which nodes tell load balancers whether they have pods."),
    publishNotReadyAddresses: optional(13, boolean(), "DNS also names pods that are not ready."),
    sessionAffinityConfig: nullable(14, SessionAffinityConfig, "How clients stay with one pod."),
    ipFamilyPolicy: nullable(
      17,
      oneOf("PreferDualStack", "RequireDualStack", "SingleStack"),
      "Whether the service has addresses of one IP family or of both.",
    ),
    ipFamilies: optional(
      19,
      list(oneOf("IPv4", "IPv6"), { list: "atomic" }),
      "The IP families, the first one being the main one.",
    ),
    allocateLoadBalancerNodePorts: nullable(20, boolean(), "Whether a LoadBalancer also gets ports on the nodes."),
    loadBalancerClass: nullable(21, string(), "Which load balancer is to serve it. Cannot be changed."),
    internalTrafficPolicy: nullable(
      22,
      oneOf("Cluster", "Local"),
      "Cluster sends traffic to any pod, Local only to those on the client's node.",
    ),
    trafficDistribution: nullable(
      23,
      string(),
      "Which pods are preferred: PreferSameZone, PreferSameNode or PreferClose.",
    ),
  },
  { doc: "How a service is reached and where its traffic goes." },
);
export interface ServiceSpec extends Infer<typeof ServiceSpec> {}

export const PortStatus = object(
  "core/v1.PortStatus",
  {
    port: present(1, int32(), "Number of the port."),
    protocol: present(2, string(), "TCP, UDP or SCTP."),
    error: nullable(3, string(), "What went wrong with it."),
  },
  { doc: "What became of a port at the load balancer." },
);
export interface PortStatus extends Infer<typeof PortStatus> {}

export const LoadBalancerIngress = object(
  "core/v1.LoadBalancerIngress",
  {
    ip: optional(1, string(), "Its address."),
    hostname: optional(2, string(), "Its name, where it has no address."),
    ipMode: nullable(3, string(), "VIP if the address reaches the node as it is, Proxy if it does not."),
    ports: optional(4, list(PortStatus, { list: "atomic" }), "What became of the ports."),
  },
  { doc: "One place where a load balancer takes traffic." },
);
export interface LoadBalancerIngress extends Infer<typeof LoadBalancerIngress> {}

export const LoadBalancerStatus = object(
  "core/v1.LoadBalancerStatus",
  {
    ingress: optional(1, list(LoadBalancerIngress, { list: "atomic" }), "The places where it takes traffic."),
  },
  { doc: "Where a load balancer takes traffic." },
);
export interface LoadBalancerStatus extends Infer<typeof LoadBalancerStatus> {}

export const ServiceStatus = object(
  "core/v1.ServiceStatus",
  {
    loadBalancer: embedded(1, LoadBalancerStatus, "Where its load balancer takes traffic."),
    conditions: optional(2, listByKey("type", Condition), "Aspects of its present state."),
  },
  { doc: "What became of a service." },
);
export interface ServiceStatus extends Infer<typeof ServiceStatus> {}

const columns: readonly Column<Service>[] = [
  { name: "Type", type: "string", description: "How the service can be reached.", value: ({ spec }) => spec.type },
  {
    name: "Cluster-IP",
    type: "string",
    description: "Its address within the cluster.",
    value: ({ spec }) => spec.clusterIPs?.[0] ?? "<none>",
  },
  { name: "External-IP", type: "string", description: "Its addresses outside of it.", value: externalAddress },
  { name: "Port(s)", type: "string", description: "The ports that it listens on.", value: portList },
  ageColumn,
  {
    name: "Selector",
    type: "string",
    priority: 1,
    description: "Labels of the pods that get the traffic.",
    value: ({ spec }) => formatLabels(spec.selector ?? {}) || "<none>",
  },
];

const fields = {
  spec: embedded(2, ServiceSpec, "How the service is reached and where its traffic goes."),
  status: embedded(3, ServiceStatus, "What became of the service."),
};
export interface Service extends ObjectOf<typeof fields> {}

/** One address and name for a changing set of pods. */
export const Service = defineResource({
  group: "",
  version: "v1",
  kind: "Service",
  plural: "services",
  package: "core/v1",
  shortNames: ["svc"],
  categories: ["all"],
  scope: "Namespaced",
  createOnUpdate: true,
  returnsDeleted: true,
  storagePrefix: "services/specs",
  doc: "One address and name for a changing set of pods.",
  fields,
  subresources: [
    {
      name: "proxy",
      verbs: ["create", "delete", "get", "patch", "update"],
      body: { group: "", version: "v1", kind: "ServiceProxyOptions" },
    },
    { name: "status", verbs: ["get", "patch", "update"] },
  ],
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
