import { connect, createServer } from "node:net";
import { networkInterfaces } from "node:os";
import { parseArgs } from "node:util";
import { isPodLink } from "#cluster/node-names.ts";
import { parseCidr } from "#lib/net/ip.ts";
import { listProcesses, type RunningProcess } from "#lib/process/processes.ts";
import { UserError } from "./command.ts";

/** An address of this machine with its range, such as `10.0.0.5/24`. */
export interface LocalAddress {
  readonly link: string;
  readonly cidr: string;
}

export interface WantedRange {
  readonly flag: string;
  readonly cidr: string;
}

export interface Wanted {
  readonly ports: readonly { readonly flag: string; readonly port: number }[];
  readonly ranges: readonly WantedRange[];
  /** The bridges that an earlier start of this cluster left. */
  readonly ownLinks: readonly string[];
  /** The pod range of an earlier start of this cluster, whose pods may be running. */
  readonly ownRange?: string | undefined;
}

/** Throws if the machine already uses what the cluster needs. Runs before anything is started, so a failure leaves nothing. */
export async function checkMachine({ ports, ranges, ownLinks, ownRange }: Wanted): Promise<void> {
  const isOwn = ({ link, cidr }: LocalAddress): boolean =>
    ownLinks.includes(link) || (ownRange !== undefined && isPodLink(link, cidr, ownRange));
  const addresses = localAddresses().filter((each) => !isOwn(each));
  const others = (await listProcesses()).flatMap(rangesOfCluster);
  const fault = findOverlap(ranges, [...addresses, ...others]);
  if (fault) throw new UserError(fault);
  for (const { flag, port } of ports) {
    if (await isFree(port)) continue;
    throw new UserError(
      `port ${port} is in use: stop the program that listens there, or choose another port with --${flag}`,
    );
  }
}

/** Describes the first overlap between two of the ranges, or between one and a range that the machine uses. */
export function findOverlap(ranges: readonly WantedRange[], addresses: readonly LocalAddress[]): string | undefined {
  for (const [index, { flag, cidr }] of ranges.entries()) {
    const other = ranges.slice(index + 1).find((each) => overlaps(each.cidr, cidr));
    if (other) return `--${flag} ${cidr} and --${other.flag} ${other.cidr} overlap: choose ranges that do not`;
    const taken = addresses.find((each) => collides(each.cidr, cidr));
    if (taken)
      return `--${flag} ${cidr} is in use on this machine (${taken.link} has ${taken.cidr}): choose another range with --${flag}`;
  }
  return undefined;
}

/** Part of a larger network may be used if the machine itself is not in that part: the narrower route wins. */
function collides(local: string, wanted: string): boolean {
  const [address = ""] = local.split("/");
  const ours = parseCidr(wanted);
  return ours.contains(address) || (overlaps(local, wanted) && parseCidr(local).bits >= ours.bits);
}

function overlaps(one: string, other: string): boolean {
  const [a, b] = [parseCidr(one), parseCidr(other)];
  return a.base < b.base + b.size && b.base < a.base + a.size;
}

/** Another cluster's ranges. Its command line has them even before its bridge has an address; services never have a link. */
export function rangesOfCluster({ pid, args }: RunningProcess): LocalAddress[] {
  const at = args.indexOf("--foreground");
  if (at < 1 || args[at - 1] !== "up" || !/orlop\.[jt]s$/.test(args[at - 2] ?? "")) return [];
  const link = `the cluster of process ${pid}`;
  const options = { ...rangeFlags, nodes: { type: "string", default: "1" } } as const;
  const { nodes, "node-cidr": ofNodes, ...ranges } = parseArgs({ args: args.slice(at), options, strict: false }).values;
  const all = [...Object.values(ranges), ...(nodes === "1" ? [] : [ofNodes])];
  return all.flatMap((cidr) => (typeof cidr === "string" ? [{ link, cidr: cidr.split(",")[0] ?? "" }] : []));
}

/** The flags of `up` that name ranges. */
export const rangeFlags = {
  "cluster-cidr": {
    type: "string",
    value: "RANGE",
    default: "10.244.0.0/16",
    help: "range of pod addresses; with IPv6: RANGE,RANGE",
  },
  "service-cidr": {
    type: "string",
    value: "RANGE",
    default: "10.96.0.0/16",
    help: "range of service addresses; with IPv6: RANGE,RANGE",
  },
  "node-cidr": {
    type: "string",
    value: "RANGE",
    default: "10.245.0.0/24",
    help: "range of the nodes' own addresses, with --nodes",
  },
} as const;

const localAddresses = (): LocalAddress[] =>
  Object.entries(networkInterfaces()).flatMap(([link, addresses = []]) =>
    addresses.flatMap(({ family, cidr }) => (family === "IPv4" && cidr ? [{ link, cidr }] : [])),
  );

/** Only "in use" counts here. Any other fault is reported by the server that listens for real. */
function isFree(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const server = createServer();
  server.on("error", (error) => resolve(!("code" in error && error.code === "EADDRINUSE")));
  server.listen({ port, host: "0.0.0.0" }, () => server.close(() => resolve(true)));
  return promise;
}

/** Whether something listens at the address. */
export function isServing(url: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  if (!URL.canParse(url)) return Promise.resolve(false);
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port || 443), timeout: 1000 });
  for (const [event, answer] of [
    ["connect", true],
    ["error", false],
    ["timeout", false],
  ] as const) {
    socket.on(event, () => {
      socket.destroy();
      resolve(answer);
    });
  }
  return promise;
}
