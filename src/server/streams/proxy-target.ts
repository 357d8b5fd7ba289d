import { isIP } from "node:net";
import { Pod } from "#api/core/pod.ts";
import { Service } from "#api/core/service.ts";
import { EndpointSlice } from "#api/discovery/endpoint-slice.ts";
import { badRequest, serviceUnavailable } from "#api/status.ts";
import { serviceNameLabel } from "#api/well-known.ts";
import { hostInUrl } from "#lib/ip.ts";
import { type Objects } from "../objects/objects.ts";
import { type Context } from "../pipeline.ts";

/** `NAME`, `NAME:PORT` or `SCHEME:NAME:PORT`, as names of what is proxied are written. */
export interface ProxyName {
  readonly scheme: "http" | "https" | "";
  readonly name: string;
  readonly port: string;
}

export function parseProxyName(kind: string, text: string): ProxyName {
  const parts = text.split(":");
  const [scheme = "", name = "", port = ""] = parts.length === 3 ? parts : ["", ...parts];
  if (parts.length <= 3 && name && (scheme === "" || scheme === "http" || scheme === "https")) {
    return { scheme, name, port };
  }
  throw badRequest(`invalid ${kind} request ${JSON.stringify(text)}`);
}

/** Where the pod itself listens. */
export async function podTarget(objects: Objects, { info }: Context): Promise<URL> {
  const { scheme, name, port } = parseProxyName("pod", info.name);
  const { object: pod } = await objects.get(Pod, info.namespace, name);
  const declared = pod.spec.containers.find(({ ports }) => (ports?.length ?? 0) > 0)?.ports?.[0]?.containerPort;
  const address = pod.status.podIPs?.[0]?.ip ?? pod.status.podIP ?? "";
  if (!isGlobalUnicast(address)) throw badRequest("address not allowed");
  return addressUrl(scheme, address, port || (declared === undefined ? "" : String(declared)));
}

export function addressUrl(scheme: string, address: string, port: string): URL {
  const text = `${scheme || "http"}://${hostInUrl(address)}${port ? `:${port}` : ""}/`;
  if (!URL.canParse(text)) throw badRequest(`${JSON.stringify(port)} is not a port`);
  return new URL(text);
}

/** One of the service's pods; another one each time, as far as there are several. */
export async function serviceTarget(objects: Objects, { info }: Context, turn: number): Promise<URL> {
  const { scheme, name, port } = parseProxyName("service", info.name);
  const { object: service } = await objects.get(Service, info.namespace, name);
  const portName = /^\d+$/.test(port) ? portNameOf(service, Number(port)) : port;
  const slices = (await objects.cache(EndpointSlice)).list(info.namespace);
  const own = slices.filter(({ metadata }) => metadata.labels?.[serviceNameLabel] === name);
  const pods = await objects.cache(Pod);
  const found = own.flatMap((slice) => {
    const number = slice.ports?.find((one) => (one.name ?? "") === portName)?.port;
    if (!number) return [];
    const ready = slice.endpoints.filter(({ conditions }) => conditions?.ready !== false);
    return ready.flatMap(({ addresses, targetRef }) => {
      const [address = ""] = addresses;
      // Only to pods: whoever may write endpoints could make the server call anybody else.
      const ref = { namespace: info.namespace, name: targetRef?.name ?? "" };
      const pod = targetRef?.kind === "Pod" ? pods.get(ref) : undefined;
      const isOwn = pod?.status.podIPs?.some(({ ip }) => ip === address) ?? false;
      return isOwn && isGlobalUnicast(address) ? [addressUrl(scheme, address, String(number))] : [];
    });
  });
  const chosen = found[turn % found.length];
  if (!chosen) throw serviceUnavailable(`no endpoints available for service ${JSON.stringify(info.name)}`);
  return chosen;
}

function portNameOf({ metadata, spec }: Service, number: number): string {
  const port = spec.ports?.find((one) => one.port === number);
  if (port) return port.name ?? "";
  throw serviceUnavailable(`no service port ${number} found for service ${JSON.stringify(metadata.name)}`);
}

/** Not this machine, not everybody on the link. */
export function isGlobalUnicast(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return !/^(0\.0\.0\.0$|127\.|169\.254\.|2(2[4-9]|3\d)\.|255\.255\.255\.255$)/.test(address);
  return family === 6 && !/^(::1?$|fe[89ab].:|ff..:|::ffff:127\.)/i.test(address);
}
