import { type Node } from "#api/core/node.ts";
import { type Service } from "#api/core/service.ts";
import { type Endpoint } from "#api/discovery/endpoint-slice.ts";
import { isConditionTrue } from "#api/meta/condition.ts";
import { quantityMilliValue } from "#api/meta/quantity.ts";
import { zoneLabel } from "#api/well-known.ts";

/** The share of each zone in the CPU of the cluster; undefined if it is not known, or if there is one zone only. */
export type ZoneShares = ReadonlyMap<string, number> | undefined;

/** The most by which an endpoint may be loaded above the average. */
const overload = 0.2;

/** Whether the service asks for hints in proportion to the CPU of the zones. */
export function wantsZoneHints({ metadata: { annotations = {} } }: Service): boolean {
  const mode =
    annotations["service.kubernetes.io/topology-aware-hints"] ?? annotations["service.kubernetes.io/topology-mode"];
  return mode === "Auto" || mode === "auto";
}

const excluded = ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"];

/** What a node counts for: `a 4000`; "" if it counts for nothing. */
export function zoneCapacityOf({ metadata: { labels = {} }, status }: Node): string {
  if (excluded.some((label) => Object.hasOwn(labels, label)) || !isConditionTrue(status.conditions, "Ready")) return "";
  return `${labels[zoneLabel] ?? ""} ${quantityMilliValue(status.allocatable?.cpu ?? "0")}`;
}

export function zoneSharesOf(nodes: readonly Node[]): ZoneShares {
  const byZone = new Map<string, number>();
  let total = 0;
  for (const node of nodes) {
    const capacity = zoneCapacityOf(node);
    if (!capacity) continue;
    const [zone = "", milli = "0"] = capacity.split(" ");
    // One node that cannot be placed makes all shares wrong.
    if (!zone || Number(milli) === 0) return undefined;
    byZone.set(zone, (byZone.get(zone) ?? 0) + Number(milli));
    total += Number(milli);
  }
  return byZone.size < 2 ? undefined : new Map([...byZone].map(([zone, milli]) => [zone, milli / total]));
}

export type HintPlan =
  /** The zone that each ready endpoint is for, by its key. */
  { readonly zones: ReadonlyMap<string, string> } | { readonly problem: string };

/** An endpoint that is ready. `hint` is the zone that it is for now. */
export interface HintedEndpoint {
  readonly key: string;
  readonly endpoint: Endpoint;
  readonly hint: string | undefined;
}

/**
 * Decides which zone uses which endpoint: its own, unless the zone has more endpoints than its share of the CPU. As few
 * endpoints as possible change. The problems are upstream's words.
 */
export function planHints(endpoints: readonly HintedEndpoint[], shares: ZoneShares): HintPlan {
  if (!shares) {
    return { problem: "Insufficient Node information: allocatable CPU or zone not specified on one or more nodes" };
  }
  const counts = `(${endpoints.length} endpoints, ${shares.size} zones)`;
  if (shares.size > endpoints.length) return { problem: `Insufficient number of endpoints ${counts}` };
  const wanted = wantedByZone(shares, endpoints.length);
  if (!wanted) {
    const why = "Unable to allocate minimum required endpoints to each zone without exceeding overload threshold";
    return { problem: `${why} ${counts}` };
  }
  if (endpoints.some(({ endpoint }) => !endpoint.zone)) {
    return { problem: "One or more endpoints do not have a zone specified" };
  }
  return { zones: moved(endpoints, wanted) };
}

/** How many endpoints each zone should have; undefined if there are too few for the smallest tolerable numbers. */
function wantedByZone(shares: ReadonlyMap<string, number>, count: number): Map<string, number> | undefined {
  const wanted = new Map<string, number>();
  let left = count;
  for (const [zone, share] of shares) {
    const minimum = Math.ceil((share * count) / (1 + overload));
    wanted.set(zone, Math.max(share * count, minimum));
    left -= minimum;
  }
  return left < 0 ? undefined : wanted;
}

function moved(endpoints: readonly HintedEndpoint[], wanted: ReadonlyMap<string, number>): Map<string, string> {
  const zones = new Map(endpoints.map(({ key, endpoint }) => [key, endpoint.zone ?? ""]));
  const { giving, receiving } = exchange(zones, wanted);
  const give = (zone: string, to: string, key: string): void => {
    giving.set(zone, (giving.get(zone) ?? 0) - 1);
    receiving.set(to, (receiving.get(to) ?? 0) - 1);
    zones.set(key, to);
  };
  // Those that are lent already come first, so that they stay where they are.
  for (const { key, endpoint, hint } of endpoints) {
    const { zone = "" } = endpoint;
    if (hint && hint !== zone && giving.get(zone) && receiving.get(hint)) give(zone, hint, key);
  }
  for (const { key, endpoint } of endpoints) {
    const { zone = "" } = endpoint;
    const [to] = [...receiving].find(([, count]) => count > 0) ?? [];
    if (to && giving.get(zone) && zones.get(key) === zone) give(zone, to, key);
  }
  return zones;
}

/** How many endpoints each zone gives away and gets, in whole numbers. */
function exchange(zones: ReadonlyMap<string, string>, wanted: ReadonlyMap<string, number>) {
  const has = new Map<string, number>();
  for (const zone of zones.values()) has.set(zone, (has.get(zone) ?? 0) + 1);
  const surplus = new Map([...wanted].map(([zone, count]) => [zone, (has.get(zone) ?? 0) - count]));
  const giving = new Map<string, number>();
  const receiving = new Map<string, number>();
  for (;;) {
    const byMost = [...surplus].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
    const [from, most = 0] = byMost[0] ?? [];
    const [to, least = 0] = byMost.at(-1) ?? [];
    if (from === undefined || to === undefined || most < 0.5 || least > -0.5 || (most < 1 && least > -1)) break;
    giving.set(from, (giving.get(from) ?? 0) + 1);
    receiving.set(to, (receiving.get(to) ?? 0) + 1);
    surplus.set(from, most - 1);
    surplus.set(to, least + 1);
  }
  return { giving, receiving };
}
