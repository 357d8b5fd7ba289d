import { type Service, type ServicePort } from "#api/core/service.ts";
import { type EndpointSlice } from "#api/discovery/endpoint-slice.ts";
import { canonicalAddress } from "#api/meta/ip-address.ts";
import { serviceNameLabel } from "#api/well-known.ts";
import { labelsOf } from "./domain-name.ts";
import { addressData, type DnsRecord, recordTypes } from "./message.ts";

/** The objects that names are derived from. */
export interface ClusterView {
  hasNamespace(name: string): boolean;
  service(namespace: string, name: string): Service | undefined;
  slices(namespace: string, name: string): readonly EndpointSlice[];
  /** The services with this cluster address. */
  servicesAt(address: string): readonly Service[];
  /** The slices with an endpoint at this address. */
  slicesAt(address: string): readonly EndpointSlice[];
}

export interface Zone {
  /** `cluster.local` */
  readonly domain: string;
  /** The address of the cluster's DNS, for `ns.dns.<domain>`. */
  readonly serverAddress: string | undefined;
  readonly ttl: number;
  readonly serial: number;
  /** Whether the address can only belong to this cluster, so that no other server is asked for its name. */
  isOwnAddress(address: string): boolean;
}

export type Reply =
  /** `chase` is a name outside the zone to which the last record points. */
  | {
      readonly kind: "records";
      readonly answers: readonly DnsRecord[];
      readonly additional: readonly DnsRecord[];
      readonly chase: string | undefined;
    }
  /** The name exists, but has no record of the type. */
  | { readonly kind: "empty" }
  /** The name does not exist. */
  | { readonly kind: "missing" }
  /** The name is outside the zone. */
  | { readonly kind: "foreign" };

const empty: Reply = { kind: "empty" };
const missing: Reply = { kind: "missing" };
const foreign: Reply = { kind: "foreign" };
const dnsVersion = "1.1.0";
/** How many aliases are followed, which also ends a cycle. */
const maxAliases = 8;
/** No message has room for more records, so no answer considers more endpoints. */
const maxRecords = 4_096;
const maxLooked = 20_000;
const maxSlices = 100;

interface Asked {
  readonly view: ClusterView;
  readonly zone: Zone;
  /** As asked, because the answer must repeat it. */
  readonly name: string;
  readonly type: number;
}

/** The cluster's answer for a name, by the DNS specification of Kubernetes. */
export function answerQuestion(view: ClusterView, zone: Zone, question: { name: string; type: number }): Reply {
  const labels = labelsOf(question.name.toLowerCase());
  const asked = { view, zone, name: question.name, type: question.type };
  const address = reverseAddress(labels);
  if (address) return answerPointer(asked, address);
  const path = pathIn(zone, labels);
  return path ? answerPath(asked, path) : foreign;
}

/** The SOA record for a negative answer. */
export function startOfAuthority({ domain, serial, ttl }: Zone): DnsRecord {
  const times = { refresh: 7200, retry: 1800, expire: 86400, minimum: ttl };
  const data = { type: "SOA", primary: `ns.dns.${domain}`, admin: `hostmaster.${domain}`, serial, ...times } as const;
  return { name: domain, ttl, data };
}

/** The labels before the zone's own, in reverse order: `svc`, namespace, service. */
function pathIn({ domain }: Zone, labels: readonly string[]): string[] | undefined {
  const own = labelsOf(domain);
  const start = labels.length - own.length;
  if (start < 0 || own.some((label, index) => labels[start + index] !== label)) return undefined;
  return labels.slice(0, start).reverse();
}

function answerPath(asked: Asked, path: readonly string[]): Reply {
  const [first, ...rest] = path;
  if (first === undefined) return answerApex(asked);
  if (first === "svc") return answerService(asked, rest);
  if (first === "pod") return answerPod(asked, rest);
  if (first === "dns-version" && rest.length === 0) {
    return only(asked, [{ name: asked.name, ttl: asked.zone.ttl, data: { type: "TXT", texts: [dnsVersion] } }]);
  }
  if (first === "dns") return answerServer(asked, rest);
  return missing;
}

function answerApex(asked: Asked): Reply {
  const { zone } = asked;
  const data = { type: "NS", target: `ns.dns.${zone.domain}` } as const;
  return only(asked, [startOfAuthority(zone), { name: asked.name, ttl: zone.ttl, data }]);
}

function answerServer(asked: Asked, path: readonly string[]): Reply {
  if (path.length === 0) return empty;
  if (path.length > 1 || path[0] !== "ns") return missing;
  return only(asked, addressRecords(asked, asked.name, asked.zone.serverAddress ? [asked.zone.serverAddress] : []));
}

/** Every address has a name of this form in every existing namespace. */
function answerPod(asked: Asked, path: readonly string[]): Reply {
  const [namespace, dashed, ...more] = path;
  if (namespace === undefined) return empty;
  if (!asked.view.hasNamespace(namespace)) return missing;
  if (dashed === undefined) return empty;
  const address = [dashed.replaceAll("-", "."), dashed.replaceAll("-", ":")].find((text) => addressData(text));
  return more.length > 0 || !address ? missing : only(asked, addressRecords(asked, asked.name, [address]));
}

/** Answers `svc`, `<namespace>.svc`, `<service>.<namespace>.svc`, and names below a service. */
function answerService(asked: Asked, path: readonly string[]): Reply {
  const [namespace, name, ...below] = path;
  if (namespace === undefined) return empty;
  if (!asked.view.hasNamespace(namespace)) return missing;
  if (name === undefined) return empty;
  const service = asked.view.service(namespace, name);
  if (!service) return missing;
  if (service.spec.type === "ExternalName") return below.length > 0 ? missing : answerAlias(asked, service);
  if (below.length === 0) return answerServiceName(asked, service);
  const [first = "", second, ...more] = below;
  if (more.length > 0) return missing;
  if (/^_(tcp|udp|sctp)$/.test(first)) return answerPort(asked, service, { protocol: first, port: second });
  return second === undefined ? answerHost(asked, service, first) : missing;
}

function answerServiceName(asked: Asked, service: Service): Reply {
  if (asked.type === recordTypes.SRV) return answerPorts(asked, service, service.spec.ports ?? []);
  const addresses = isHeadless(service)
    ? hostsOf(asked.view, service).map(({ address }) => address)
    : clusterAddresses(service);
  return only(asked, addressRecords(asked, asked.name, addresses));
}

/** Answers for one endpoint by its host name. */
function answerHost(asked: Asked, service: Service, hostname: string): Reply {
  const hosts = hostsOf(asked.view, service).filter((host) => host.hostname === hostname);
  if (hosts.length === 0) return missing;
  return only(
    asked,
    addressRecords(
      asked,
      asked.name,
      hosts.map(({ address }) => address),
    ),
  );
}

/** Answers `_http._tcp`; `_tcp` alone is an empty name above it. */
function answerPort(asked: Asked, service: Service, at: { protocol: string; port: string | undefined }): Reply {
  const ports = (service.spec.ports ?? []).filter(({ protocol }) => `_${protocol.toLowerCase()}` === at.protocol);
  const named = ports.filter(({ name }) => at.port === undefined || (name && `_${name}` === at.port));
  if (named.length === 0) return missing;
  return at.port === undefined ? empty : answerPorts(asked, service, named);
}

/** SRV records of the ports, with the addresses that a client would ask for next. */
function answerPorts(asked: Asked, service: Service, ports: readonly ServicePort[]): Reply {
  if (asked.type !== recordTypes.SRV && asked.type !== recordTypes.ANY) return empty;
  const { ttl } = asked.zone;
  const places = isHeadless(service)
    ? hostPlaces(asked, service, ports)
    : ports.slice(0, maxRecords).map(({ port }) => ({
        target: serviceName(asked.zone, service),
        port,
        addresses: clusterAddresses(service),
      }));
  if (places.length === 0) return empty;
  const weight = Math.max(1, Math.floor((100 * Math.max(ports.length, 1)) / places.length));
  const answers = places.map(({ target, port }) => ({
    name: asked.name,
    ttl,
    data: { type: "SRV", priority: 0, weight: Math.min(weight, 100), port, target } as const,
  }));
  const targets = new Map(places.map(({ target, addresses }) => [target, addresses]));
  const additional = [...targets].flatMap(([target, addresses]) => anyAddressRecords(target, addresses, ttl));
  return { kind: "records", answers, additional, chase: undefined };
}

function hostPlaces(asked: Asked, service: Service, wanted: readonly ServicePort[]) {
  const places: { target: string; port: number; addresses: string[] }[] = [];
  const hosts = hostsOf(asked.view, service);
  for (const { name = "", protocol } of wanted) {
    for (const { address, hostname, ports = [] } of hosts) {
      const found = ports.find((port) => port.name === name && port.protocol === protocol);
      if (found?.port === undefined) continue;
      if (places.length >= maxRecords) return places;
      const target = `${hostname}.${serviceName(asked.zone, service)}`;
      places.push({ target, port: found.port, addresses: [address] });
    }
  }
  return places;
}

/** Answers with a CNAME. One within the cluster is followed immediately. */
function answerAlias(asked: Asked, service: Service): Reply {
  const answers: DnsRecord[] = [];
  let target = (service.spec.externalName ?? "").replace(/\.$/, "");
  const { ttl } = asked.zone;
  answers.push({ name: asked.name, ttl, data: { type: "CNAME", target } });
  const done = (): Reply => ({ kind: "records", answers, additional: [], chase: undefined });
  if (asked.type === recordTypes.CNAME) return done();
  for (let count = 0; count < maxAliases; count++) {
    const path = pathIn(asked.zone, labelsOf(target.toLowerCase()));
    if (!path) return { kind: "records", answers, additional: [], chase: target };
    const next = aliasAt(asked.view, path);
    if (next === undefined) {
      const reply = answerPath({ ...asked, name: target }, path);
      if (reply.kind === "records") answers.push(...reply.answers);
      return done();
    }
    answers.push({ name: target, ttl, data: { type: "CNAME", target: next } });
    target = next;
  }
  return done();
}

/** The target, if the path is that of an ExternalName service. */
function aliasAt(view: ClusterView, [kind, namespace, name, ...more]: readonly string[]): string | undefined {
  if (kind !== "svc" || !namespace || !name || more.length > 0) return undefined;
  const spec = view.service(namespace, name)?.spec;
  return spec?.type === "ExternalName" ? (spec.externalName ?? "").replace(/\.$/, "") : undefined;
}

/** The names of an address: services with it, and endpoints of headless services. */
function answerPointer(asked: Asked, address: string): Reply {
  const { view, zone } = asked;
  const names = view.servicesAt(address).map((service) => serviceName(zone, service));
  for (const { metadata } of names.length > 0 ? [] : view.slicesAt(address).slice(0, maxSlices)) {
    const name = metadata.labels?.[serviceNameLabel] ?? "";
    const service = view.service(metadata.namespace, name);
    if (!service || !isHeadless(service)) continue;
    for (const host of hostsOf(view, service)) {
      if (host.address === address) names.push(`${host.hostname}.${serviceName(zone, service)}`);
    }
  }
  if (names.length === 0) return zone.isOwnAddress(address) ? missing : foreign;
  const {
    name,
    zone: { ttl },
  } = asked;
  return only(
    asked,
    Array.from(new Set(names), (target) => ({ name, ttl, data: { type: "PTR", target } as const })),
  );
}

/** The address in a name like `1.0.96.10.in-addr.arpa`. */
function reverseAddress(labels: readonly string[]): string | undefined {
  const [zone, arpa] = labels.slice(-2);
  if (arpa !== "arpa") return undefined;
  const digits = labels.slice(0, -2).reverse();
  if (zone === "in-addr" && digits.length === 4) {
    const address = digits.join(".");
    return addressData(address)?.type === "A" ? address : undefined;
  }
  if (zone !== "ip6" || digits.length !== 32) return undefined;
  const groups = digits.join("").match(/[0-9a-f]{4}/g) ?? [];
  return groups.length === 8 ? canonicalAddress(groups.join(":")) : undefined;
}

interface Host {
  readonly address: string;
  readonly hostname: string;
  readonly ports: EndpointSlice["ports"];
}

/** Endpoints that have names: ready ones, and all if the service publishes unready addresses. */
function hostsOf(view: ClusterView, service: Service): Host[] {
  const { metadata, spec } = service;
  const found = new Map<string, Host>();
  let looked = 0;
  for (const { endpoints, ports, addressType } of view.slices(metadata.namespace, metadata.name)) {
    if (addressType === "FQDN") continue;
    for (const { addresses, conditions, hostname } of endpoints) {
      if (++looked > maxLooked || found.size >= maxRecords) return [...found.values()];
      if (conditions.ready === false && !spec.publishNotReadyAddresses) continue;
      for (const address of addresses) {
        const host = { address, hostname: hostname || address.replaceAll(/[.:]/g, "-"), ports };
        if (!found.has(`${address} ${host.hostname}`)) found.set(`${address} ${host.hostname}`, host);
      }
    }
  }
  return [...found.values()];
}

const isHeadless = ({ spec }: Service): boolean => spec.clusterIP === "None" || !spec.clusterIP;
const clusterAddresses = ({ spec }: Service): readonly string[] =>
  spec.clusterIPs?.length ? spec.clusterIPs : spec.clusterIP ? [spec.clusterIP] : [];
const serviceName = ({ domain }: Zone, { metadata }: Service): string =>
  `${metadata.name}.${metadata.namespace}.svc.${domain}`;

/** The records of the requested type. */
function only(asked: Asked, records: readonly DnsRecord[]): Reply {
  const { type } = asked;
  const answers = type === recordTypes.ANY ? records : records.filter(({ data }) => recordTypes[data.type] === type);
  return answers.length > 0 ? { kind: "records", answers, additional: [], chase: undefined } : empty;
}

const addressRecords = ({ zone }: Asked, name: string, addresses: readonly string[]): DnsRecord[] =>
  anyAddressRecords(name, [...new Set(addresses)], zone.ttl);

const anyAddressRecords = (name: string, addresses: readonly string[], ttl: number): DnsRecord[] =>
  addresses.flatMap((address) => {
    const data = addressData(address);
    return data ? [{ name, ttl, data }] : [];
  });
