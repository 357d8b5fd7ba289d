import { ObjectReference } from "#api/core/references.ts";
import { type Cursor } from "#api/cursor.ts";
import { ageColumn, column } from "#api/meta/columns.ts";
import { validateEndpointIp, validateIp, warnOfIp } from "#api/meta/ip-address.ts";
import { dns1123Label, dns1123Subdomain, portNumber, qualifiedName } from "#api/meta/names.ts";
import { defineResource, type NamespacedObject } from "#api/resource.ts";
import { endpointsManagedByLabel } from "#api/well-known.ts";
import { equal } from "#lib/data/equal.ts";
import { hostInUrl } from "#lib/net/ip.ts";
import { defaulted, nullable, optional, present } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { atomicList, int32, known, string } from "#schema/types.ts";

const object = inPackage("core/v1");

const EndpointAddress = object.atomic("EndpointAddress", "One address of a service's backends.", {
  ip: present(1, string(), "IP address of the endpoint. It cannot be a loopback, link-local or unspecified address."),
  hostname: optional(3, string(), "Host name of the endpoint within the domain of the service."),
  nodeName: nullable(4, string(), "Node that the endpoint is on."),
  targetRef: nullable(2, ObjectReference, "Object behind the endpoint, usually a pod."),
});
interface EndpointAddress extends Infer<typeof EndpointAddress> {}

const EndpointPort = object.atomic("EndpointPort", "A port of every address of a subset.", {
  name: optional(1, string(), "Name of the port, the same as that of the service port. Needed if there are several."),
  port: present(2, int32(), "Number of the port."),
  protocol: defaulted(3, known("SCTP", "TCP", "UDP"), "TCP", "Protocol of the port: TCP, UDP or SCTP."),
  appProtocol: nullable(4, string(), "Application protocol of the port, such as http or kubernetes.io/h2c."),
});
interface EndpointPort extends Infer<typeof EndpointPort> {}

const EndpointSubset = object("EndpointSubset", "Addresses that all have the same ports.", {
  addresses: optional(1, atomicList(EndpointAddress), "Addresses that are ready for traffic, each with all ports."),
  notReadyAddresses: optional(2, atomicList(EndpointAddress), "Addresses that are not ready for traffic yet."),
  ports: optional(3, atomicList(EndpointPort), "Ports that every address of the subset has."),
});
interface EndpointSubset extends Infer<typeof EndpointSubset> {}

const fields = {
  subsets: optional(2, atomicList(EndpointSubset), "Endpoints of the service, grouped by the ports that they have."),
};
export interface Endpoints extends NamespacedObject<typeof fields> {}

export const Endpoints = defineResource("v1.Endpoints", fields, {
  doc: "The endpoints of a service in one object. Deprecated: EndpointSlice has replaced it.",
  plural: "endpoints",
  shortNames: ["ep"],
  createOnUpdate: true,
  deprecated: { since: "v1.33", use: "discovery.k8s.io/v1 EndpointSlice" },
  columns: [column("Endpoints", "Addresses that are ready, with their ports.", formatSubsets), ageColumn],

  validateCreate: validateSubsets,
  validateUpdate(endpoints, old) {
    // What has not changed was valid for an earlier release.
    if (!equal(endpoints.value.subsets ?? [], old.subsets ?? [])) validateSubsets(endpoints);
  },
  warnings(endpoints) {
    if (endpoints.value.metadata.labels?.[endpointsManagedByLabel] === "endpoint-controller") return;
    endpoints.each("subsets", (at) => {
      at.each("addresses", (at) => warnOfIp(at.field("ip")));
      at.each("notReadyAddresses", (at) => warnOfIp(at.field("ip")));
    });
  },
});

const maxShown = 3;

/** The first addresses with their ports, and how many more there are. */
function formatSubsets({ subsets = [] }: { subsets?: readonly EndpointSubset[] }): string {
  if (subsets.length === 0) return "<none>";
  const shown: string[] = [];
  let count = 0;
  for (const { addresses = [], ports = [] } of subsets) {
    count += addresses.length * Math.max(ports.length, 1);
    const suffixes = ports.length > 0 ? ports.slice(0, maxShown).map(({ port }) => `:${port}`) : [""];
    for (const suffix of suffixes) {
      for (const { ip } of addresses.slice(0, maxShown - shown.length)) {
        shown.push(suffix ? hostInUrl(ip) + suffix : ip);
      }
    }
  }
  const text = shown.join(",");
  return count > maxShown ? `${text} + ${count - maxShown} more...` : text;
}

function validateSubsets(endpoints: Cursor<{ subsets?: EndpointSubset[] }>): void {
  endpoints.each("subsets", (at) => {
    const { addresses = [], notReadyAddresses = [], ports = [] } = at.value;
    if (addresses.length + notReadyAddresses.length === 0)
      at.missing("must specify `addresses` or `notReadyAddresses`");
    at.each("addresses", validateAddress);
    at.each("notReadyAddresses", validateAddress);
    at.each("ports", (at) => validatePort(at, ports.length > 1));
  });
}

function validateAddress(at: Cursor<EndpointAddress>): void {
  validateIp(at.field("ip"));
  at.set("hostname")?.rule(dns1123Label);
  at.field("nodeName").rule(dns1123Subdomain);
  validateEndpointIp(at.field("ip"));
}

function validatePort(at: Cursor<EndpointPort>, needsName: boolean): void {
  if (at.value.name) at.field("name").rule(dns1123Label);
  else if (needsName) at.field("name").missing();
  at.field("port").invalid(portNumber(at.value.port));
  at.field("protocol").oneOf(["SCTP", "TCP", "UDP"]);
  at.field("appProtocol").rule(qualifiedName);
}
