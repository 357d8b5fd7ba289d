import { type Service } from "#api/core/service.ts";
import { canonicalAddress } from "#api/meta/ip-address.ts";

/** Something that one service at most can have: `ip 10.96.0.7`, `port 30080`. */
export type Key = `ip ${string}` | `port ${number}`;

export const ipKey = (address: string): Key => `ip ${address}`;
export const portKey = (port: number): Key => `port ${port}`;
export const isIpKey = (key: Key): boolean => key.startsWith("ip ");
/** The address or the port itself. */
export const nameOfClaim = (key: Key): string => key.slice(key.indexOf(" ") + 1);

/** Everything that a service holds, each once. TCP and UDP of a node port count as one. */
export function heldBy(service: Pick<Service, "spec">): Set<Key> {
  return new Set([...addressesOf(service).map(ipKey), ...nodePortsOf(service).map(portKey)]);
}

/** The cluster addresses of a service, in their usual form. */
export const addressesOf = ({ spec }: Pick<Service, "spec">): string[] =>
  (spec.clusterIPs ?? []).flatMap((ip) => (ip === "None" ? [] : (canonicalAddress(ip) ?? [])));

export function nodePortsOf({ spec }: Pick<Service, "spec">): number[] {
  const ports = new Set<number>();
  for (const { nodePort } of spec.ports ?? []) if (nodePort) ports.add(nodePort);
  if (spec.healthCheckNodePort) ports.add(spec.healthCheckNodePort);
  return [...ports];
}
