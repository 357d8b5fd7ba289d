import { type Endpoints } from "#api/core/service/endpoints.ts";

export type EndpointSubset = NonNullable<Endpoints["subsets"]>[number];
export type EndpointAddress = NonNullable<EndpointSubset["addresses"]>[number];
export type EndpointPort = NonNullable<EndpointSubset["ports"]>[number];

/** An address with ports that it offers. */
export interface Offer {
  readonly address: EndpointAddress;
  readonly ready: boolean;
  readonly ports: readonly EndpointPort[];
}

/** A port of an address; without a port number if the service has no ports. */
interface Offered {
  readonly key: string;
  readonly port: EndpointPort | undefined;
  ready: boolean;
}

/** Addresses that offer the same ports, each as ready as the others. */
interface Alike {
  readonly offered: readonly Offered[];
  readonly addresses: EndpointAddress[];
}

/**
 * The canonical subsets: ports that the same addresses offer, equally ready, are in one subset. An address that is ready
 * and not ready for the same port is not ready. The order depends on the content only.
 */
export function packSubsets(offers: Iterable<Offer>): EndpointSubset[] {
  const alike = groupAlike(offers);
  /** By port: the groups that offer it. */
  const byPort = new Map<string, { port: EndpointPort | undefined; groups: { group: Alike; ready: boolean }[] }>();
  for (const group of alike) {
    for (const { key, port, ready } of group.offered) {
      const entry = byPort.get(key) ?? { port, groups: [] };
      entry.groups.push({ group, ready });
      byPort.set(key, entry);
    }
  }
  const ids = new Map(alike.map((group, id) => [group, id]));
  const bySet = Map.groupBy([...byPort.entries()].sort(byKey), ([, { groups }]) =>
    groups.map(({ group, ready }) => `${ids.get(group)} ${ready}`).join(),
  );
  return [...bySet.values()].map((same) => {
    const [, { groups = [] } = {}] = same[0] ?? [];
    const of = (wanted: boolean) =>
      groups.flatMap(({ group, ready }) => (ready === wanted ? group.addresses : [])).sort(byAddress);
    return subsetOf(
      of(true),
      of(false),
      same.flatMap(([, { port }]) => port ?? []),
    );
  });
}

function groupAlike(offers: Iterable<Offer>): Alike[] {
  const byAddress = new Map<string, { address: EndpointAddress; offered: Map<string, Offered> }>();
  for (const { address, ready, ports } of offers) {
    const key = JSON.stringify([address.ip, address.targetRef?.uid ?? ""]);
    const entry = byAddress.get(key) ?? { address, offered: new Map() };
    byAddress.set(key, entry);
    for (const port of ports.length > 0 ? ports : [undefined]) {
      const portKey = port ? JSON.stringify([port.name ?? "", port.port, port.protocol, port.appProtocol ?? ""]) : "";
      const known = entry.offered.get(portKey);
      if (known) known.ready &&= ready;
      else entry.offered.set(portKey, { key: portKey, port, ready });
    }
  }
  const groups = new Map<string, Alike>();
  for (const { address, offered } of byAddress.values()) {
    const sorted = [...offered.values()].sort((a, b) => compare(a.key, b.key));
    const key = sorted.map(({ key: portKey, ready }) => `${portKey} ${ready}`).join();
    const group = groups.get(key) ?? { offered: sorted, addresses: [] };
    group.addresses.push(address);
    groups.set(key, group);
  }
  return [...groups.entries()].sort(byKey).map(([, group]) => group);
}

const subsetOf = (
  addresses: EndpointAddress[],
  notReadyAddresses: EndpointAddress[],
  ports: EndpointPort[],
): EndpointSubset => ({
  ...(addresses.length > 0 ? { addresses } : {}),
  ...(notReadyAddresses.length > 0 ? { notReadyAddresses } : {}),
  ...(ports.length > 0 ? { ports } : {}),
});

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
const byKey = <V>([a]: readonly [string, V], [b]: readonly [string, V]): number => compare(a, b);
const byAddress = (a: EndpointAddress, b: EndpointAddress): number =>
  compare(a.ip, b.ip) || compare(a.targetRef?.uid ?? "", b.targetRef?.uid ?? "");
