import { type PortPlan, type ServicePlan } from "../service-map.ts";

/** UDP flows that the kernel would keep sending to their old destination. */
export interface StaleFlow {
  /** The service's address; undefined for a port of every node. */
  readonly address: string | undefined;
  readonly port: number;
  /** The endpoint that is gone; undefined for flows that had none. */
  readonly target: string | undefined;
}

/** Decides which UDP flows are stale after a change of a service. */
export function planStaleFlows(old: ServicePlan | undefined, now: ServicePlan | undefined): StaleFlow[] {
  const stale: StaleFlow[] = [];
  for (const before of old?.ports ?? []) {
    if (before.protocol !== "udp") continue;
    const after = now?.ports.find(({ protocol, port }) => protocol === "udp" && port === before.port);
    const kept = new Set(after ? addressesOf(after) : []);
    const gone = addressesOf(before).filter((address) => !kept.has(address));
    for (const target of new Set(gone)) stale.push(...placesOf(before).map((place) => ({ ...place, target })));
  }
  for (const after of now?.ports ?? []) {
    if (after.protocol !== "udp" || addressesOf(after).length === 0) continue;
    const before = old?.ports.find(({ protocol, port }) => protocol === "udp" && port === after.port);
    const known = new Set(before && addressesOf(before).length > 0 ? placesOf(before).map(placeKey) : []);
    const fresh = placesOf(after).filter((place) => !known.has(placeKey(place)));
    stale.push(...fresh.map((place) => ({ ...place, target: undefined })));
  }
  return stale;
}

const addressesOf = ({ cluster, local }: PortPlan): string[] => [...cluster, ...local].map(({ address }) => address);

function placesOf({ clusterIPs, externalIPs, loadBalancerIPs, port, nodePort }: PortPlan) {
  const addresses: (string | undefined)[] = [...clusterIPs, ...externalIPs, ...loadBalancerIPs];
  const places = addresses.map((address) => ({ address, port }));
  return nodePort > 0 ? [...places, { address: undefined, port: nodePort }] : places;
}

const placeKey = ({ address, port }: { address: string | undefined; port: number }): string => `${address} ${port}`;
