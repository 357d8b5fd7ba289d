import { parseCidr6 } from "#lib/net/dual-range.ts";
import { parseCidr } from "#lib/net/ip.ts";
import { runCommand } from "#lib/process/processes.ts";
import { type Link, type Route, type RoutePlan, type Tunnel } from "./plan-routes.ts";

/** Marks the kernel's routes as ours. */
const protocol = "151";
const port = "4789";

/** What the kernel has of ours now. */
export interface KernelState {
  readonly routes: readonly Route[];
  /** Far ends of the tunnel, by MAC address. */
  readonly forwards: readonly { readonly mac: string; readonly node: string }[];
  readonly neighbours: readonly { readonly gateway: string; readonly mac: string }[];
  /** Undefined if there is none. */
  readonly tunnel: KernelTunnel | undefined;
}

/** Our end of the tunnel, as it is. An earlier process may have ended while it made it. */
export interface KernelTunnel extends Pick<Tunnel, "vni" | "local" | "mac" | "mtu"> {
  readonly addresses: readonly string[];
  readonly isUp: boolean;
}

/** One call of a program. */
export type Call = readonly [program: "ip" | "bridge", ...args: string[]];

/** The calls that turn what the kernel has into what is planned. */
export function planCalls(plan: RoutePlan, state: KernelState, tunnelName: string): Call[] {
  const calls: Call[] = [];
  const isWanted = (route: Route) => plan.routes.some((one) => one.to === route.to);
  for (const { to, via } of state.routes.filter((route) => !isWanted(route))) {
    calls.push(["ip", ...familyOf(to), "route", "del", to, "via", via, "proto", protocol]);
  }
  if (plan.tunnel) calls.push(...tunnelCalls(plan.tunnel, state));
  else if (state.tunnel) calls.push(["ip", "link", "del", tunnelName]);
  for (const route of plan.routes) {
    const { to, via, link } = route;
    if (state.routes.some((one) => one.to === to && one.via === via && one.link === link)) continue;
    // The first address of the other's range is no neighbour by any address of ours.
    const how = link === tunnelName ? ["onlink"] : [];
    calls.push(["ip", ...familyOf(to), "route", "replace", to, "via", via, "dev", link, "proto", protocol, ...how]);
  }
  return calls;
}

const familyOf = (address: string): readonly string[] => (address.includes(":") ? ["-6"] : []);
const alone = (address: string): string => `${address}/${address.includes(":") ? 128 : 32}`;

function tunnelCalls(tunnel: Tunnel, state: KernelState): Call[] {
  const { name } = tunnel;
  if (!state.tunnel) return [...newTunnelCalls(tunnel), ...peerCalls(tunnel, { forwards: [], neighbours: [] })];
  const { vni, local, mac, mtu, addresses, isUp } = state.tunnel;
  // These cannot be changed while it exists.
  if (vni !== tunnel.vni || local !== tunnel.local || mac !== tunnel.mac) {
    return [["ip", "link", "del", name], ...tunnelCalls(tunnel, { ...state, tunnel: undefined })];
  }
  const calls: Call[] = [];
  if (mtu !== tunnel.mtu) calls.push(["ip", "link", "set", name, "mtu", `${tunnel.mtu}`]);
  for (const old of addresses.filter((one) => !tunnel.addresses.includes(one))) {
    calls.push(["ip", "address", "del", alone(old), "dev", name]);
  }
  for (const address of tunnel.addresses) if (!addresses.includes(address)) calls.push(addressCall(name, address));
  if (!isUp) calls.push(["ip", "link", "set", name, "up"]);
  return [...calls, ...peerCalls(tunnel, state)];
}

const addressCall = (name: string, address: string): Call => ["ip", "address", "replace", alone(address), "dev", name];

function newTunnelCalls({ name, vni, local, mac, addresses, mtu }: Tunnel): Call[] {
  const how = ["id", `${vni}`, "local", local, "dstport", port, "nolearning"];
  return [
    ["ip", "link", "add", name, "address", mac, "mtu", `${mtu}`, "type", "vxlan", ...how],
    ...addresses.map((address) => addressCall(name, address)),
    ["ip", "link", "set", name, "up"],
  ];
}

function peerCalls({ name, peers }: Tunnel, state: Pick<KernelState, "forwards" | "neighbours">): Call[] {
  const calls: Call[] = [];
  for (const { mac: known, node } of state.forwards) {
    if (peers.some((peer) => peer.mac === known && peer.node === node)) continue;
    calls.push(["bridge", "fdb", "del", known, "dev", name, "dst", node]);
  }
  for (const { gateway } of state.neighbours) {
    if (!peers.some((peer) => peer.gateways.includes(gateway)))
      calls.push(["ip", "neigh", "del", gateway, "dev", name]);
  }
  for (const peer of peers) {
    const { node, gateways } = peer;
    if (!state.forwards.some((one) => one.mac === peer.mac && one.node === node))
      calls.push(["bridge", "fdb", "append", peer.mac, "dev", name, "dst", node]);
    for (const gateway of gateways) {
      if (!state.neighbours.some((one) => one.mac === peer.mac && one.gateway === gateway))
        calls.push(["ip", "neigh", "replace", gateway, "lladdr", peer.mac, "dev", name, "nud", "permanent"]);
    }
  }
  return calls;
}

/** Whose routes these are. */
export interface RoutesPlace {
  readonly clusterCidr: string;
  readonly clusterCidr6?: string | undefined;
  readonly tunnelName: string;
}

/** Brings the kernel in line with the plan. Returns how many calls that took. */
export async function applyRoutes(plan: RoutePlan, { tunnelName, ...ranges }: RoutesPlace): Promise<number> {
  const calls = planCalls(plan, await readKernel(ranges, tunnelName), tunnelName);
  for (const [program, ...args] of calls) await runCommand(program, args);
  return calls.length;
}

/** Removes our routes to the cluster's pods, and the tunnel. */
export async function removeRoutes(at: RoutesPlace): Promise<void> {
  await applyRoutes({ routes: [], tunnel: undefined }, at);
}

/** Several clusters may share a machine, so only routes into this one's range are ours. */
export async function readKernel(
  { clusterCidr, clusterCidr6 }: Omit<RoutesPlace, "tunnelName">,
  tunnelName: string,
): Promise<KernelState> {
  const [cluster, cluster6] = [parseCidr(clusterCidr), clusterCidr6 ? parseCidr6(clusterCidr6) : undefined];
  const show = (...family: string[]) =>
    json<{ dst: string; gateway?: string; dev: string }>("ip", [...family, "route", "show", "proto", protocol]);
  const found = [...(await show()), ...(cluster6 ? await show("-6") : [])];
  const isOurs = (dst: string): boolean => cluster.contains(dst) || (cluster6?.contains(dst) ?? false);
  const routes = found
    .filter(({ dst, gateway }) => gateway && isOurs(dst.split("/")[0] ?? ""))
    .map(({ dst, gateway = "", dev }) => ({ to: dst.includes("/") ? dst : alone(dst), via: gateway, link: dev }));
  const tunnel = await readTunnel(tunnelName);
  if (!tunnel) return { routes, forwards: [], neighbours: [], tunnel };
  const [forwards, neighbours] = await Promise.all([
    json<{ mac: string; dst?: string }>("bridge", ["fdb", "show", "dev", tunnelName]),
    json<{ dst: string; lladdr?: string }>("ip", ["neigh", "show", "dev", tunnelName, "nud", "permanent"]),
  ]);
  return {
    routes,
    forwards: forwards.flatMap(({ mac, dst }) => (dst ? [{ mac, node: dst }] : [])),
    neighbours: neighbours.flatMap(({ dst, lladdr }) => (lladdr ? [{ gateway: dst, mac: lladdr }] : [])),
    tunnel,
  };
}

interface FoundTunnel extends FoundLink {
  readonly address: string;
  readonly flags: readonly string[];
  readonly linkinfo?: { readonly info_data?: { readonly id?: number; readonly local?: string } };
}

async function readTunnel(name: string): Promise<KernelTunnel | undefined> {
  const found = await json<FoundTunnel>("ip", ["-details", "address", "show", "type", "vxlan"]);
  const link = found.find(({ ifname }) => ifname === name);
  if (!link) return undefined;
  const { id: vni = 0, local = "" } = link.linkinfo?.info_data ?? {};
  const addresses = (link.addr_info ?? []).filter(({ scope }) => scope !== "link").map((one) => one.local);
  return { vni, local, mac: link.address, mtu: link.mtu, addresses, isUp: link.flags.includes("UP") };
}

interface FoundLink {
  readonly ifname: string;
  readonly mtu: number;
  readonly addr_info?: readonly {
    readonly family: string;
    readonly local: string;
    readonly prefixlen: number;
    readonly scope?: string;
  }[];
}

/** The links of this machine with IPv4 addresses. */
export async function readLinks(): Promise<Link[]> {
  const found = await json<FoundLink>("ip", ["-4", "address", "show"]);
  return found.flatMap(({ ifname, mtu, addr_info = [] }) =>
    addr_info
      .filter(({ family }) => family === "inet")
      .map(({ local, prefixlen }) => ({ name: ifname, cidr: `${local}/${prefixlen}`, mtu })),
  );
}

async function json<T>(program: "ip" | "bridge", args: readonly string[]): Promise<T[]> {
  const { stdout } = await runCommand(program, ["-json", ...args]);
  return stdout.trim() === "" ? [] : (JSON.parse(stdout) as T[]).filter((one) => Object.keys(one as object).length > 0);
}
