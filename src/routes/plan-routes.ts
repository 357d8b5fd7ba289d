import { createHash } from "node:crypto";
import { type Cidr6, formatIPv6, parseCidr6 } from "#lib/net/dual-range.ts";
import { formatIPv4, parseCidr, parseIPv4 } from "#lib/net/ip.ts";

/** Another node, as its Node object describes it. None of it is checked. */
export interface Peer {
  readonly name: string;
  readonly address: string;
  readonly podCidr: string;
  /** Its second range, of IPv6; "" if it has none. */
  readonly podCidr6?: string | undefined;
  /** Orders nodes that claim the same range: the oldest has it. */
  readonly createdAt: string;
}

/** An address of this machine with its range, such as `10.0.0.5/24`. */
export interface Link {
  readonly name: string;
  readonly cidr: string;
  readonly mtu: number;
}

export interface RouteInput {
  readonly address: string;
  readonly podCidr: string;
  readonly clusterCidr: string;
  /** The ranges of IPv6, if the cluster has both families. */
  readonly podCidr6?: string | undefined;
  readonly clusterCidr6?: string | undefined;
  /** The name of the tunnel, if there is one. */
  readonly tunnelName: string;
  readonly links: readonly Link[];
  readonly peers: readonly Peer[];
}

export interface Route {
  readonly to: string;
  readonly via: string;
  readonly link: string;
}

/** The far end of the tunnel to one node. */
export interface TunnelPeer {
  /** The node's own address, to which packets are sent. */
  readonly node: string;
  readonly mac: string;
  /** The addresses of its end of the tunnel: the first of each of its pod ranges, which no pod gets. */
  readonly gateways: readonly string[];
}

export interface Tunnel {
  readonly name: string;
  readonly vni: number;
  readonly local: string;
  readonly mac: string;
  readonly addresses: readonly string[];
  /** The largest packet that fits: one of the link, without the headers around it. */
  readonly mtu: number;
  readonly peers: readonly TunnelPeer[];
}

export interface RoutePlan {
  readonly routes: readonly Route[];
  /** Absent if every node is on a link of this machine. */
  readonly tunnel: Tunnel | undefined;
}

/**
 * How packets reach the pods of the other nodes: by a plain route if the node is a neighbour on our link, otherwise
 * through a VXLAN tunnel, for which every node derives the other's settings from its Node object. A node whose range is not in
 * the cluster's, or is ours or an older node's, gets no route: it could take over the traffic of others. Nor does a second node
 * on this machine: the kernel has a route to its bridge, which ours would replace.
 * Packets of IPv6 always take the tunnel, because a node need not have an address of that family.
 */
export function planRoutes(input: RouteInput): RoutePlan {
  const { tunnelName } = input;
  const own = input.links.filter(({ cidr }) => cidr.startsWith(`${input.address}/`));
  const routes: Route[] = [];
  const peers: TunnelPeer[] = [];
  const accepted = acceptedPeers(input);
  const seconds = acceptedSeconds(input, accepted);
  for (const { name, address, podCidr } of accepted) {
    const link = linkTo(address, own);
    if (link) routes.push({ to: podCidr, via: address, link: link.name });
    const second = seconds.get(name);
    const gateways = [...(link ? [] : [firstAddress(podCidr)]), ...(second ? [formatIPv6(second.base)] : [])];
    if (!link) routes.push({ to: podCidr, via: firstAddress(podCidr), link: tunnelName });
    if (second) routes.push({ to: second.text, via: formatIPv6(second.base), link: tunnelName });
    if (gateways.length > 0) peers.push({ node: address, mac: macOf(address), gateways });
  }
  return { routes, tunnel: peers.length > 0 ? tunnelOf(input, own, peers) : undefined };
}

const usualMtu = 1500;
/** Of Ethernet, IPv4, UDP and VXLAN. */
const headerBytes = 50;

function tunnelOf(
  { address, podCidr, podCidr6, clusterCidr, tunnelName }: RouteInput,
  own: readonly Link[],
  peers: readonly TunnelPeer[],
): Tunnel {
  return {
    name: tunnelName,
    vni: vniOf(clusterCidr),
    local: address,
    mac: macOf(address),
    addresses: [firstAddress(podCidr), ...(podCidr6 ? [formatIPv6(parseCidr6(podCidr6).base)] : [])],
    mtu: (own[0]?.mtu ?? usualMtu) - headerBytes,
    peers,
  };
}

/** The peers with proper values, in canonical form. */
function acceptedPeers({ address: own, podCidr, clusterCidr, links, peers }: RouteInput): Peer[] {
  const here = new Set([own, ...links.map(({ cidr }) => cidr.split("/")[0])]);
  const cluster = parseCidr(clusterCidr);
  const taken = [parseCidr(podCidr)];
  const accepted: Peer[] = [];
  for (const peer of peers.toSorted(byAge)) {
    const range = rangeOf(peer.podCidr);
    if (!range || here.has(peer.address) || parseIPv4(peer.address) === undefined) continue;
    const isInside = range.base >= cluster.base && range.base + range.size <= cluster.base + cluster.size;
    if (!isInside || taken.some((other) => overlaps(other, range)) || cluster.contains(peer.address)) continue;
    taken.push(range);
    accepted.push({ ...peer, podCidr: `${formatIPv4(range.base)}/${range.bits}` });
  }
  return accepted;
}

/** The second ranges of accepted peers, by name, under the same conditions. */
function acceptedSeconds({ podCidr6, clusterCidr6 }: RouteInput, peers: readonly Peer[]): Map<string, Cidr6> {
  const accepted = new Map<string, Cidr6>();
  if (!podCidr6 || !clusterCidr6) return accepted;
  const cluster = parseCidr6(clusterCidr6);
  const taken = [parseCidr6(podCidr6)];
  for (const { name, podCidr6: text } of peers) {
    const range = text ? rangeOf6(text) : undefined;
    if (!range || range.bits < cluster.bits || !range.overlaps(cluster)) continue;
    if (taken.some((other) => other.overlaps(range))) continue;
    taken.push(range);
    accepted.set(name, range);
  }
  return accepted;
}

function rangeOf6(text: string): Cidr6 | undefined {
  try {
    return parseCidr6(text);
  } catch {
    return undefined; // Not a range of IPv6 addresses.
  }
}

const byAge = (a: Peer, b: Peer): number => (ageOf(a) < ageOf(b) ? -1 : 1);
const ageOf = ({ createdAt, name }: Peer): string => `${createdAt} ${name}`;

type Range = ReturnType<typeof parseCidr>;

function rangeOf(text: string): Range | undefined {
  try {
    return parseCidr(text);
  } catch {
    return undefined; // Not a range of IPv4 addresses.
  }
}

const overlaps = (a: Range, b: Range): boolean => a.base < b.base + b.size && b.base < a.base + a.size;

/**
 * The link by which a node is a neighbour. Only the link with our own address counts, because then the other node comes to
 * the same conclusion, and packets go the same way in both directions.
 */
const linkTo = (address: string, links: readonly Link[]): Link | undefined =>
  links.find(({ cidr }) => rangeOf(cidr)?.contains(address));

const firstAddress = (cidr: string): string => formatIPv4(parseCidr(cidr).base);

/** A locally administered address that both ends can derive. */
function macOf(address: string): string {
  const hex = (byte: string) => Number(byte).toString(16).padStart(2, "0");
  return `0a:58:${address.split(".").map(hex).join(":")}`;
}

/** Clusters that share a network rarely have the same; all nodes of one do. */
const vniOf = (clusterCidr: string): number => createHash("sha256").update(clusterCidr).digest().readUIntBE(0, 3) || 1;
