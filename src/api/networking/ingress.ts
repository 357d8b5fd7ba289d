import { TypedLocalObjectReference } from "#api/core/references.ts";
import { ageColumn, column } from "#api/meta/columns.ts";
import { ipFamily, validateIp } from "#api/meta/ip-address.ts";
import { dns1123Subdomain, wildcardSubdomain } from "#api/meta/names.ts";
import { demanded, embedded, inline, nullable, optional, present } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { atomicList, int32, known, string } from "#schema/types.ts";
import { type Cursor } from "../cursor.ts";
import { defineResource, type NamespacedObject, type ObjectOf } from "../resource.ts";
import { ingressClassAnnotation } from "../well-known.ts";
import { validateBackend, validatePaths } from "./validate-ingress-paths.ts";

const object = inPackage("networking/v1");

const ServiceBackendPort = object.atomic("ServiceBackendPort", "A port of a service, by its name or its number.", {
  name: optional(1, string(), "Name of the service port. Cannot be combined with number."),
  number: optional(2, int32(), "Number of the service port. Cannot be combined with name."),
});

const IngressServiceBackend = object("IngressServiceBackend", "The service that receives traffic of an ingress.", {
  name: present(1, string(), "Name of the service, in the namespace of the ingress."),
  port: embedded(2, ServiceBackendPort, "Port of the service that receives the traffic."),
});

export const IngressBackend = object("IngressBackend", "Where traffic of an ingress goes: a service or a resource.", {
  service: nullable(4, IngressServiceBackend, "Service that receives the traffic. Cannot be combined with resource."),
  resource: nullable(3, TypedLocalObjectReference, "Object that receives the traffic, instead of a service."),
});
export interface IngressBackend extends Infer<typeof IngressBackend> {}

export const HTTPIngressPath = object("HTTPIngressPath", "Where requests for a path go.", {
  path: optional(1, string(), "Path of the requests, such as /shop. Must begin with a slash."),
  pathType: demanded(
    nullable(
      3,
      known("Exact", "ImplementationSpecific", "Prefix"),
      "How path is compared: Exact, Prefix or ImplementationSpecific.",
    ),
  ),
  backend: present(2, IngressBackend, "Where requests for the path go."),
});
export interface HTTPIngressPath extends Infer<typeof HTTPIngressPath> {}

const HTTPIngressRuleValue = object("HTTPIngressRuleValue", "Where HTTP requests for a host go.", {
  paths: present(1, atomicList(HTTPIngressPath), "Paths, each with the backend of its requests."),
});
export interface HTTPIngressRuleValue extends Infer<typeof HTTPIngressRuleValue> {}

const IngressRule = object("IngressRule", "Where requests for a host go.", {
  host: optional(1, string(), "Host of the requests, which may begin with *.; every host if empty."),
  ...inline(2, {
    http: nullable(1, HTTPIngressRuleValue, "Where HTTP requests for the host go; to the default backend if absent."),
  }),
});
interface IngressRule extends Infer<typeof IngressRule> {}

const IngressTLS = object("IngressTLS", "The certificate of some hosts of an ingress.", {
  hosts: optional(1, atomicList(string()), "Hosts that the certificate is for."),
  secretName: optional(2, string(), "Name of the Secret that holds the certificate and its key."),
});
interface IngressTLS extends Infer<typeof IngressTLS> {}

const IngressPortStatus = object("IngressPortStatus", "The state of a port of a load balancer.", {
  port: present(1, int32(), "Number of the port of the load balancer."),
  protocol: present(2, known("SCTP", "TCP", "UDP"), "Protocol of the port of the load balancer: TCP, UDP or SCTP."),
  error: nullable(3, string(), "Error of the load balancer with this port, as one CamelCase word."),
});

const entry = "A point at which the load balancer of an ingress receives traffic.";
const IngressLoadBalancerIngress = object("IngressLoadBalancerIngress", entry, {
  ip: optional(1, string(), "IP address at which the load balancer receives traffic."),
  hostname: optional(2, string(), "DNS name at which the load balancer receives traffic."),
  ports: optional(4, atomicList(IngressPortStatus), "State of the ports of the load balancer."),
});
interface IngressLoadBalancerIngress extends Infer<typeof IngressLoadBalancerIngress> {}

const fields = {
  spec: object.embedded(2, "IngressSpec", "Which requests from outside of the cluster go to which services.", {
    ingressClassName: nullable(4, string(), "Name of the IngressClass whose controller implements the ingress."),
    defaultBackend: nullable(1, IngressBackend, "Where requests go that no rule matches."),
    tls: optional(2, atomicList(IngressTLS), "Certificates of the hosts of the ingress."),
    rules: optional(3, atomicList(IngressRule), "Rules by host and path. Without them, defaultBackend must be set."),
  }),
  status: object.embedded(3, "IngressStatus", "The observed state of an ingress.", {
    loadBalancer: object.embedded(1, "IngressLoadBalancerStatus", "The load balancer of an ingress.", {
      ingress: optional(1, atomicList(IngressLoadBalancerIngress), "Points at which the load balancer gets traffic."),
    }),
  }),
};
export interface Ingress extends NamespacedObject<typeof fields> {}
interface SentIngress extends ObjectOf<typeof fields> {}

export const Ingress = defineResource("networking.k8s.io/v1.Ingress", fields, {
  doc: "Leads HTTP requests from outside of the cluster to services.",
  shortNames: ["ing"],
  storagePrefix: "ingress",
  hasGeneration: true,
  withStatus: () => ({ loadBalancer: {} }),
  columns: [
    column("Class", "Name of the IngressClass.", ({ spec }) => spec.ingressClassName ?? "<none>"),
    column("Hosts", "Hosts of the rules.", hostsOf),
    column("Address", "Where the load balancer receives traffic.", addressesOf),
    column("Ports", "Ports at which traffic is received.", ({ spec }) => (spec.tls ? "80, 443" : "80")),
    ageColumn,
  ],

  validate: validateIngress,
  validateCreate(ingress) {
    const { metadata, spec } = ingress.value;
    const annotation = metadata.annotations?.[ingressClassAnnotation];
    if (annotation === undefined || spec.ingressClassName === undefined) return;
    const at = ingress.under("annotations", ingressClassAnnotation).as(annotation);
    if (annotation !== spec.ingressClassName) at.invalid("must match `ingressClassName` when both are specified");
  },
  validateStatusUpdate: (ingress) =>
    ingress.field("status").field("loadBalancer").each("ingress", validateIngressPoint),
  warnings(ingress, old) {
    const { metadata, spec } = ingress.value;
    if (old || metadata.annotations?.[ingressClassAnnotation] === undefined) return;
    if (spec.ingressClassName !== undefined) return;
    ingress.note(`annotation "${ingressClassAnnotation}" is deprecated, please use 'spec.ingressClassName' instead`);
  },
});

const maxHosts = 3;

/** The first hosts, and how many rules there are besides. */
function hostsOf({ spec: { rules = [] } }: SentIngress): string {
  const shown: string[] = [];
  let index = 0;
  for (; index < rules.length && shown.length < maxHosts; index++) {
    const { host } = rules[index] as IngressRule;
    if (host) shown.push(host);
  }
  if (shown.length === 0) return "*";
  return index < rules.length ? `${shown.join(",")} + ${rules.length - maxHosts} more...` : shown.join(",");
}

function addressesOf({ status: { loadBalancer } }: SentIngress): string {
  const addresses = (loadBalancer.ingress ?? []).map(({ ip, hostname }) => ip || hostname || "");
  return [...new Set(addresses.filter(Boolean))].sort().join(",");
}

function validateIngress(ingress: Cursor<SentIngress>): void {
  const at = ingress.field("spec");
  const { rules, defaultBackend } = at.value;
  if (!rules && !defaultBackend) at.invalid("either `defaultBackend` or `rules` must be specified", null);
  at.on("defaultBackend", validateBackend);
  at.each("rules", validateRule);
  at.each("tls", validateTls);
  at.field("ingressClassName").rule(dns1123Subdomain);
}

function validateRule(at: Cursor<IngressRule>): void {
  const host = at.set("host");
  if (host && ipFamily(host.value)) host.invalid("must be a DNS name, not an IP address");
  if (host) validateHost(host);
  at.on("http", validatePaths);
}

function validateTls(at: Cursor<IngressTLS>): void {
  at.each("hosts", validateHost);
  at.set("secretName")?.rule(dns1123Subdomain);
}

const validateHost = (at: Cursor<string>): void =>
  at.rule(at.value.includes("*") ? wildcardSubdomain : dns1123Subdomain);

function validateIngressPoint(at: Cursor<IngressLoadBalancerIngress>): void {
  const ip = at.set("ip");
  const hostname = at.set("hostname");
  if (ip) validateIp(ip);
  hostname?.rule(dns1123Subdomain);
  if (hostname && ipFamily(hostname.value)) hostname.invalid("must be a DNS name, not an IP address");
}
