import { BlockList } from "node:net";
import { Pod } from "#api/core/pod.ts";
import { Service } from "#api/core/service.ts";
import { EndpointSlice } from "#api/discovery/endpoint-slice.ts";
import { badRequest, serviceUnavailable } from "#api/status.ts";
import { serviceNameLabel } from "#api/well-known.ts";
import { versionOfIP } from "#lib/net/ip.ts";
import { type Objects } from "#server/objects/objects.ts";
import { type Context } from "#server/request/pipeline.ts";

/** `NAME`, `NAME:PORT` or `SCHEME:NAME:PORT`: the name in a proxy request. */
export interface ProxyName {
  readonly scheme: ProxyScheme;
  readonly name: string;
  /** A number, the name of a port, or "" for the default. */
  readonly port: number | string;
}
export type ProxyScheme = "http" | "https";

const maxPort = 65_535;
/** The rule for port names of containers and services; services may have longer ones. */
const portName = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** Parses the whole text into parts: it is never pasted into an address. */
export function parseProxyName(kind: "pod" | "service" | "node", text: string): ProxyName {
  const parts = text.split(":");
  const [scheme = "", name = "", portText = ""] = parts.length === 3 ? parts : ["", ...parts];
  const port = parsePort(portText);
  if (parts.length <= 3 && name && port !== undefined) {
    if (scheme === "" || scheme === "http") return { scheme: "http", name, port };
    if (scheme === "https") return { scheme, name, port };
  }
  throw badRequest(`invalid ${kind} request ${JSON.stringify(text)}`);
}

function parsePort(text: string): ProxyName["port"] | undefined {
  if (/^\d+$/.test(text)) {
    const number = Number(text);
    return number >= 1 && number <= maxPort ? number : undefined;
  }
  return text === "" || portName.test(text) ? text : undefined;
}

/** The target of a proxied request. Built from checked parts, never from text. */
export interface ProxyTarget {
  readonly scheme: ProxyScheme;
  readonly host: string;
  readonly port: number;
}

/** The address at which the pod itself listens. */
export async function podTarget(objects: Objects, { info }: Context): Promise<ProxyTarget> {
  const { scheme, name, port } = parseProxyName("pod", info.name);
  const { object: pod } = await objects.get(Pod, info.namespace, name);
  const declared = pod.spec.containers.find(({ ports }) => (ports?.length ?? 0) > 0)?.ports?.[0]?.containerPort;
  const host = pod.status.podIPs?.[0]?.ip ?? pod.status.podIP ?? "";
  if (!isGlobalUnicast(host)) throw badRequest("address not allowed");
  return { scheme, host, port: port === "" ? (declared ?? schemePorts[scheme]) : portNumber(port) };
}

const schemePorts: Readonly<Record<ProxyScheme, number>> = { http: 80, https: 443 };

/** Port names are those of protocols, as Go's dialer knows them, not those that a pod declares. */
export function portNumber(port: number | string): number {
  if (typeof port === "number") return port;
  if (port === "http" || port === "https") return schemePorts[port];
  throw serviceUnavailable(`error trying to reach service: dial tcp: lookup tcp/${port}: unknown port`);
}

/** One of the service's pods; a different one each time, if there are several. */
export async function serviceTarget(objects: Objects, { info }: Context, turn: number): Promise<ProxyTarget> {
  const { scheme, name, port } = parseProxyName("service", info.name);
  const service = { namespace: info.namespace, name, port };
  return { scheme, ...(await serviceEndpoint(objects, service, turn)) };
}

/** The address of a pod of a service that is ready; a different one each time, if there are several. */
export async function serviceEndpoint(
  objects: Objects,
  { namespace, name, port: wanted }: { namespace: string; name: string; port: number | string },
  turn: number,
): Promise<Pick<ProxyTarget, "host" | "port">> {
  const { object: service } = await objects.get(Service, namespace, name);
  const portName = typeof wanted === "number" ? portNameOf(service, wanted) : wanted;
  const slices = (await objects.cache(EndpointSlice)).list(namespace);
  const own = slices.filter(({ metadata }) => metadata.labels?.[serviceNameLabel] === name);
  const pods = await objects.cache(Pod);
  const found = own.flatMap((slice) => {
    const port = slice.ports?.find((one) => one.name === portName)?.port;
    if (!port) return [];
    const ready = slice.endpoints.filter(({ conditions }) => conditions?.ready !== false);
    return ready.flatMap(({ addresses, targetRef }) => {
      const [host = ""] = addresses;
      // Only to pods: otherwise anyone who may write endpoints could make the server call any address.
      const pod = targetRef?.kind === "Pod" ? pods.get({ namespace, name: targetRef.name ?? "" }) : undefined;
      const isOwn = pod?.status.podIPs?.some(({ ip }) => ip === host) ?? false;
      return isOwn && isGlobalUnicast(host) ? [{ host, port }] : [];
    });
  });
  const chosen = found[turn % found.length];
  if (!chosen) throw serviceUnavailable(`no endpoints available for service ${JSON.stringify(name)}`);
  return chosen;
}

function portNameOf({ metadata, spec }: Service, number: number): string {
  const port = spec.ports?.find((one) => one.port === number);
  if (port) return port.name ?? "";
  throw serviceUnavailable(`no service port ${number} found for service ${JSON.stringify(metadata.name)}`);
}

/** Neither this machine nor the whole link. IPv4 addresses written as IPv6 are treated as IPv4. */
export function isGlobalUnicast(address: string): boolean {
  const family = versionOfIP(address);
  if (family === 0 || address.includes("%")) return false;
  return !notGlobal.check(address, family === 4 ? "ipv4" : "ipv6");
}

const notGlobal = new BlockList();
notGlobal.addAddress("0.0.0.0", "ipv4");
notGlobal.addAddress("255.255.255.255", "ipv4");
notGlobal.addSubnet("127.0.0.0", 8, "ipv4");
notGlobal.addSubnet("169.254.0.0", 16, "ipv4");
notGlobal.addSubnet("224.0.0.0", 4, "ipv4");
notGlobal.addSubnet("::", 127, "ipv6");
notGlobal.addSubnet("fe80::", 10, "ipv6");
notGlobal.addSubnet("ff00::", 8, "ipv6");
