import { ObjectReference } from "#api/core/references.ts";
import { ageColumn, column, fewOf } from "#api/meta/columns.ts";
import { ipFamily, validateCanonicalIp, validateEndpointIp, validateIp, warnOfIp } from "#api/meta/ip-address.ts";
import { validateLabels } from "#api/meta/label-selector.ts";
import { dns1123Label, dns1123Subdomain, labelValue, qualifiedName, type Rule } from "#api/meta/names.ts";
import { equal } from "#lib/data/equal.ts";
import { defaulted, immutable, inGo, nullable, optional, present, required, written } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { atomicList, boolean, int32, map, oneOf, setOf, string } from "#schema/types.ts";
import { type Cursor } from "../cursor.ts";
import { defineResource, type NamespacedObject, type ObjectOf } from "../resource.ts";
import { managedByLabel, serviceNameLabel, zoneLabel } from "../well-known.ts";

const object = inPackage("discovery/v1");

const ForZone = object("ForZone", "A zone whose clients should use an endpoint.", {
  name: present(1, string(), "Name of the zone."),
});
const ForNode = object("ForNode", "A node whose clients should use an endpoint.", {
  name: present(1, string(), "Name of the node."),
});
const EndpointHints = object("EndpointHints", "Which clients should use an endpoint.", {
  forZones: optional(1, atomicList(ForZone), "Zones whose clients should use the endpoint."),
  forNodes: optional(2, atomicList(ForNode), "Nodes whose clients should use the endpoint."),
});
interface EndpointHints extends Infer<typeof EndpointHints> {}

export const Endpoint = object("Endpoint", "One backend of a service.", {
  addresses: present(1, setOf(string()), "Addresses of the endpoint, of the slice's type. The first one is used."),
  conditions: object.embedded(2, "EndpointConditions", "Whether the endpoint should receive traffic.", {
    ready: nullable(1, boolean(), "Whether the endpoint is serving and not terminating; true if absent."),
    serving: nullable(2, boolean(), "Whether the endpoint accepts connections, even while it is terminating."),
    terminating: nullable(3, boolean(), "Whether the endpoint is terminating."),
  }),
  hostname: nullable(3, string(), "Host name of the endpoint within the domain of the service."),
  targetRef: nullable(4, ObjectReference, "Object behind the endpoint, usually a pod."),
  deprecatedTopology: optional(5, map(string()), "Deprecated: topology labels of the v1beta1 API."),
  nodeName: nullable(6, string(), "Node that the endpoint is on."),
  zone: nullable(7, string(), "Zone that the endpoint is in."),
  hints: nullable(8, EndpointHints, "Which clients should use the endpoint."),
});
export interface Endpoint extends Infer<typeof Endpoint> {}

export const EndpointPort = object.atomic("EndpointPort", "A port of every endpoint of a slice.", {
  name: defaulted(1, string(dns1123Label), "", "Name of the port, the same as that of the service port."),
  protocol: inGo(
    { isPointer: true },
    defaulted(2, oneOf("SCTP", "TCP", "UDP"), "TCP", "Protocol of the port: TCP, UDP or SCTP."),
  ),
  port: nullable(3, int32(), "Number of the port; all ports if absent."),
  appProtocol: nullable(4, string(), "Application protocol of the port, such as http or kubernetes.io/h2c."),
});
export interface EndpointPort extends Infer<typeof EndpointPort> {}

const managers = ["endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io"];

const fields = {
  addressType: immutable(required(4, oneOf("FQDN", "IPv4", "IPv6"), "Type of all addresses. Cannot be changed.")),
  endpoints: written(defaulted(2, atomicList(Endpoint), [], "Endpoints of the slice, at most 1000.")),
  ports: written(optional(3, atomicList(EndpointPort), "Ports that every endpoint of the slice has.")),
};
export interface EndpointSlice extends NamespacedObject<typeof fields> {}

export const EndpointSlice = defineResource("discovery.k8s.io/v1.EndpointSlice", fields, {
  hasGeneration: true,
  doc: "Some of the endpoints of a service.",
  columns: [
    column("AddressType", "Type of the addresses.", (slice) => slice.addressType),
    column("Ports", "Ports of every endpoint.", ({ ports = [] }) =>
      fewOf(ports.map(({ port, name }) => (port === undefined ? name : String(port)))),
    ),
    column("Endpoints", "Addresses of the endpoints.", ({ endpoints }) =>
      fewOf(endpoints.flatMap(({ addresses }) => addresses)),
    ),
    ageColumn,
  ],
  indexes: {
    service: ({ metadata: { namespace, labels } }) => {
      const name = labels?.[serviceNameLabel];
      return name ? [`${namespace}/${name}`] : [];
    },
  },

  prepareForCreate: dropTopology,
  prepareForUpdate(slice, old) {
    if (!equal(slice.endpoints, old.endpoints)) dropTopology(slice);
    const { metadata } = slice;
    if (!equal(metadata.labels ?? {}, old.metadata.labels ?? {})) {
      metadata.generation = (old.metadata.generation ?? 0) + 1;
    }
  },
  validate: validateSlice,
  warnings(slice, old) {
    const { metadata, addressType } = slice.value;
    if (!old && addressType === "FQDN") slice.note("spec.addressType: FQDN endpoints are deprecated");
    if (managers.includes(metadata.labels?.[managedByLabel] ?? "")) return;
    slice.each("endpoints", (at) => at.each("addresses", warnOfIp));
  },
});

function dropTopology({ endpoints }: ObjectOf<typeof fields>): void {
  for (const endpoint of endpoints) delete endpoint.deprecatedTopology;
}

function validateSlice(slice: Cursor<EndpointSlice>): void {
  const { addressType, endpoints, ports = [] } = slice.value;
  if (ports.length > 20000) slice.field("ports").tooMany(ports.length, 20000);
  else validatePorts(slice);
  if (endpoints.length > 1000) slice.field("endpoints").tooMany(endpoints.length, 1000);
  else slice.each("endpoints", (at) => validateEndpoint(at, addressType));
}

function validatePorts(slice: Cursor<EndpointSlice>): void {
  const seen = new Set<string>();
  slice.each("ports", (at) => {
    at.field("name").unique(seen);
    at.field("appProtocol").rule(qualifiedName);
  });
}

function validateEndpoint(at: Cursor<Endpoint>, addressType: string): void {
  const { addresses, deprecatedTopology = {} } = at.value;
  at.field("addresses").required("must contain at least 1 address");
  if (addresses.length > 100) at.field("addresses").tooMany(addresses.length, 100);
  at.each("addresses", (address) => validateAddress(address, addressType, at.field("addresses")));
  at.field("nodeName").rule(dns1123Subdomain);
  const topology = at.field("deprecatedTopology");
  const labels = Object.keys(deprecatedTopology).length;
  if (labels > 16) topology.tooMany(labels, 16);
  const { [zoneLabel]: _, ...others } = deprecatedTopology;
  validateLabels(topology.as(others));
  at.field("hostname").rule(dns1123Label);
  at.on("hints", validateHints);
}

function validateAddress(at: Cursor<string>, type: string, list: Cursor): void {
  if (type === "FQDN") validateDomain(at);
  else if (type === "IPv4" || type === "IPv6") {
    const { faultCount } = at;
    if (type === "IPv4") validateIp(at);
    else validateCanonicalIp(at);
    if (at.faultCount > faultCount) return;
    if (ipFamily(at.value) !== type) list.invalid(`must be an ${type} address`, at.value);
    validateEndpointIp(at);
  }
}

function validateDomain(at: Cursor<string>): void {
  const name = at.value.replace(/\.$/, "");
  const faults = dns1123Subdomain.all(name);
  const labels = name.split(".");
  if (at.value === "") at.missing();
  else if (faults.length > 0) at.invalid(faults.join(","), name);
  else if (labels.length < 2) at.invalid("should be a domain with at least two segments separated by dots", name);
  else {
    const bad = labels.find((label) => dns1123Label(label));
    if (bad !== undefined) at.invalid(dns1123Label.all(bad).join(","), bad);
  }
}

function validateHints(at: Cursor<EndpointHints>): void {
  const { forZones = [], forNodes = [] } = at.value;
  if (forZones.length > 8) {
    at.field("forZones").tooMany(forZones.length, 8);
    return;
  }
  const zones = new Set<string>();
  at.each("forZones", (at) => validateName(at.field("name"), labelValue, zones));
  const nodes = new Set<string>();
  if (forNodes.length > 8) at.field("forNodes").tooMany(forNodes.length, 8);
  else at.each("forNodes", (at) => validateName(at.field("name"), dns1123Subdomain, nodes));
}

function validateName(at: Cursor<string>, rule: Rule, seen: Set<string>): void {
  at.unique(seen);
  at.rule(rule);
}
