import { equal } from "#lib/equal.ts";
import {
  duplicateValue,
  type FieldError,
  type FieldPath,
  invalidValue,
  requiredValue,
  root,
  tooMany,
} from "#schema/field-error.ts";
import {
  boolean,
  defaulted,
  embedded,
  type Infer,
  int32,
  list,
  map,
  nullable,
  object,
  oneOf,
  optional,
  present,
  required,
  string,
} from "#schema/schema.ts";
import { faultsOf } from "../core/faults.ts";
import { ObjectReference } from "../core/references.ts";
import { ageColumn, fewOf } from "../meta/columns.ts";
import { ipFamily, ipWarnings, validateCanonicalIp, validateEndpointIp, validateIp } from "../meta/ip-address.ts";
import { validateLabels } from "../meta/label-selector.ts";
import { dns1123Label, dns1123Subdomain, labelValue, qualifiedName, type Rule } from "../meta/names.ts";
import { defineResource, type ObjectOf } from "../resource.ts";
import { managedByLabel, serviceNameLabel, zoneLabel } from "../well-known.ts";

export const EndpointConditions = object(
  "discovery/v1.EndpointConditions",
  {
    ready: nullable(1, boolean(), "It accepts connections and is not on its way out; absent counts as true."),
    serving: nullable(2, boolean(), "It accepts connections, even if it is on its way out."),
    terminating: nullable(3, boolean(), "It is on its way out."),
  },
  { doc: "Whether an endpoint should get traffic." },
);
export interface EndpointConditions extends Infer<typeof EndpointConditions> {}

export const ForZone = object(
  "discovery/v1.ForZone",
  {
    name: present(1, string(), "Name of the zone."),
  },
  { doc: "A zone whose clients should use an endpoint." },
);
export interface ForZone extends Infer<typeof ForZone> {}

export const ForNode = object(
  "discovery/v1.ForNode",
  {
    name: present(1, string(), "Name of the node."),
  },
  { doc: "A node whose clients should use an endpoint." },
);
export interface ForNode extends Infer<typeof ForNode> {}

export const EndpointHints = object(
  "discovery/v1.EndpointHints",
  {
    forZones: optional(1, list(ForZone, { list: "atomic" }), "Zones whose clients should use it."),
    forNodes: optional(2, list(ForNode, { list: "atomic" }), "Nodes whose clients should use it."),
  },
  { doc: "Who should use an endpoint." },
);
export interface EndpointHints extends Infer<typeof EndpointHints> {}

export const Endpoint = object(
  "discovery/v1.Endpoint",
  {
    addresses: present(
      1,
      list(string(), { list: "set" }),
      "Its addresses, all of the slice's type; the first one is used.",
    ),
    conditions: embedded(2, EndpointConditions, "Whether it should get traffic."),
    hostname: nullable(3, string(), "Its host name within the service."),
    targetRef: nullable(4, ObjectReference, "The pod behind it."),
    deprecatedTopology: optional(5, map(string()), "Labels that an older form had; no longer written."),
    nodeName: nullable(6, string(), "The node that it is on."),
    zone: nullable(7, string(), "The zone that it is in."),
    hints: nullable(8, EndpointHints, "Who should use it."),
  },
  { doc: "One place that a service's traffic can go to." },
);
export interface Endpoint extends Infer<typeof Endpoint> {}

export const EndpointPort = object(
  "discovery/v1.EndpointPort",
  {
    name: defaulted(1, string(), "", "Its name, the same as the service port's."),
    protocol: defaulted(2, oneOf("SCTP", "TCP", "UDP"), "TCP", "TCP, UDP or SCTP."),
    port: nullable(3, int32(), "Its number; absent means all ports."),
    appProtocol: nullable(4, string(), "The application protocol, such as http or kubernetes.io/h2c."),
  },
  { atomic: true, doc: "A port that all endpoints of a slice have." },
);
export interface EndpointPort extends Infer<typeof EndpointPort> {}

const managers = ["endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io"];

const fields = {
  addressType: required(4, oneOf("FQDN", "IPv4", "IPv6"), "IPv4, IPv6 or FQDN. Cannot be changed."),
  endpoints: defaulted(2, list(Endpoint, { list: "atomic" }), [], "The endpoints, at most a thousand."),
  ports: optional(3, list(EndpointPort, { list: "atomic" }), "The ports that each endpoint has."),
};
export interface EndpointSlice extends ObjectOf<typeof fields> {}

/** Some of the endpoints of a service. */
export const EndpointSlice = defineResource({
  group: "discovery.k8s.io",
  version: "v1",
  kind: "EndpointSlice",
  plural: "endpointslices",
  package: "discovery/v1",
  scope: "Namespaced",
  hasGeneration: true,
  doc: "Some of the places that a service's traffic can go to.",
  fields,
  columns: [
    {
      name: "AddressType",
      type: "string",
      description: "What the addresses are.",
      value: (slice) => slice.addressType,
    },
    {
      name: "Ports",
      type: "string",
      description: "The ports that each endpoint has.",
      value: ({ ports = [] }) => fewOf(ports.map(({ port, name }) => (port === undefined ? name : String(port)))),
    },
    {
      name: "Endpoints",
      type: "string",
      description: "The addresses.",
      value: ({ endpoints }) => fewOf(endpoints.flatMap(({ addresses }) => addresses)),
    },
    ageColumn,
  ],
  indexes: {
    service: ({ metadata: { namespace, labels } }) => {
      const name = labels?.[serviceNameLabel];
      return name ? [`${namespace}/${name}`] : [];
    },
  },
  nameRule: dns1123Subdomain,

  prepareForCreate: dropTopology,
  prepareForUpdate(slice, old) {
    if (!equal(slice.endpoints, old.endpoints)) dropTopology(slice);
    const { metadata } = slice;
    if (!equal(metadata.labels ?? {}, old.metadata.labels ?? {})) {
      metadata.generation = (old.metadata.generation ?? 0) + 1;
    }
  },
  validate: validateSlice,
  *validateUpdate({ addressType }, old) {
    if (addressType !== old.addressType)
      yield invalidValue(root.child("addressType"), addressType, "field is immutable");
  },
  *warnings({ metadata, addressType, endpoints }, old) {
    if (!old && addressType === "FQDN") yield "spec.addressType: FQDN endpoints are deprecated";
    if (managers.includes(metadata.labels?.[managedByLabel] ?? "")) return;
    for (const [index, { addresses }] of endpoints.entries()) {
      const path = root.child("endpoints").index(index).child("addresses");
      for (const [place, address] of addresses.entries()) yield* ipWarnings(address, path.index(place));
    }
  },
});

function dropTopology({ endpoints }: EndpointSlice): void {
  for (const endpoint of endpoints) delete endpoint.deprecatedTopology;
}

function* validateSlice({ addressType, endpoints, ports = [] }: EndpointSlice): Iterable<FieldError> {
  yield* validatePorts(ports, root.child("ports"));
  const path = root.child("endpoints");
  if (endpoints.length > 1000) {
    yield tooMany(path, endpoints.length, 1000);
    return;
  }
  for (const [index, endpoint] of endpoints.entries())
    yield* validateEndpoint(endpoint, addressType, path.index(index));
}

function* validatePorts(ports: readonly EndpointPort[], path: FieldPath): Iterable<FieldError> {
  if (ports.length > 20000) {
    yield tooMany(path, ports.length, 20000);
    return;
  }
  const seen = new Set<string>();
  for (const [index, { name, appProtocol }] of ports.entries()) {
    const at = path.index(index);
    if (name) yield* faultsOf(dns1123Label, name, at.child("name"));
    if (seen.has(name)) yield duplicateValue(at.child("name"), name);
    seen.add(name);
    if (appProtocol !== undefined) yield* faultsOf(qualifiedName, appProtocol, at.child("appProtocol"));
  }
}

function* validateEndpoint(endpoint: Endpoint, addressType: string, path: FieldPath): Iterable<FieldError> {
  const { addresses, nodeName, hostname, hints, deprecatedTopology = {} } = endpoint;
  const at = path.child("addresses");
  if (addresses.length === 0) yield requiredValue(at, "must contain at least 1 address");
  else if (addresses.length > 100) yield tooMany(at, addresses.length, 100);
  for (const [index, address] of addresses.entries()) yield* validateAddress(address, addressType, { at, index });
  if (nodeName !== undefined) yield* faultsOf(dns1123Subdomain, nodeName, path.child("nodeName"));
  const topology = path.child("deprecatedTopology");
  const labels = Object.keys(deprecatedTopology).length;
  if (labels > 16) yield tooMany(topology, labels, 16);
  const { [zoneLabel]: _, ...others } = deprecatedTopology;
  yield* validateLabels(others, topology);
  if (hostname !== undefined) yield* faultsOf(dns1123Label, hostname, path.child("hostname"));
  if (hints) yield* validateHints(hints, path.child("hints"));
}

function* validateAddress(
  address: string,
  type: string,
  { at, index }: { at: FieldPath; index: number },
): Iterable<FieldError> {
  const path = at.index(index);
  if (type === "FQDN") {
    yield* validateDomain(address, path);
  } else if (type === "IPv4" || type === "IPv6") {
    const faults = [...(type === "IPv4" ? validateIp(address, path) : validateCanonicalIp(address, path))];
    yield* faults;
    if (faults.length > 0) return;
    if (ipFamily(address) !== type) yield invalidValue(at, address, `must be an ${type} address`);
    yield* validateEndpointIp(address, path);
  }
}

function* validateDomain(address: string, path: FieldPath): Iterable<FieldError> {
  const name = address.replace(/\.$/, "");
  const faults = dns1123Subdomain.all(name);
  const labels = name.split(".");
  if (address === "") yield requiredValue(path);
  else if (faults.length > 0) yield invalidValue(path, name, faults.join(","));
  else if (labels.length < 2) {
    yield invalidValue(path, name, "should be a domain with at least two segments separated by dots");
  } else {
    const bad = labels.find((label) => dns1123Label(label));
    if (bad !== undefined) yield invalidValue(path, bad, dns1123Label.all(bad).join(","));
  }
}

function* validateHints({ forZones = [], forNodes = [] }: EndpointHints, path: FieldPath): Iterable<FieldError> {
  if (forZones.length > 8) {
    yield tooMany(path.child("forZones"), forZones.length, 8);
    return;
  }
  yield* validateNames(forZones, labelValue, path.child("forZones"));
  if (forNodes.length > 8) yield tooMany(path.child("forNodes"), forNodes.length, 8);
  else yield* validateNames(forNodes, dns1123Subdomain, path.child("forNodes"));
}

function* validateNames(items: readonly { name: string }[], rule: Rule, path: FieldPath): Iterable<FieldError> {
  const seen = new Set<string>();
  for (const [index, { name }] of items.entries()) {
    const at = path.index(index).child("name");
    if (seen.has(name)) yield duplicateValue(at, name);
    seen.add(name);
    yield* faultsOf(rule, name, at);
  }
}
