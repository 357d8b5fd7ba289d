import { type EndpointSlice } from "#api/discovery/endpoint-slice.ts";
import { type AddressType, endpointKey, type PortGroup } from "./endpoints-of.ts";
import { type HintedEndpoint, planHints, type ZoneShares } from "./zone-hints.ts";

/** What users are told about the hints of a service. */
export interface HintNews {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

interface HintWorld {
  readonly type: AddressType;
  readonly slices: readonly EndpointSlice[];
  readonly shares: ZoneShares;
}

/** Puts zone hints on the endpoints of one address type, or on none of them. Returns what there is to tell. */
export function addHints(
  groups: ReadonlyMap<string, PortGroup>,
  { type, slices, shares }: HintWorld,
): HintNews | undefined {
  const current = new Map<string, string>();
  for (const endpoint of slices.flatMap(({ endpoints }) => endpoints)) {
    const zone = endpoint.hints?.forZones?.[0]?.name;
    if (zone) current.set(endpointKey(endpoint), zone);
  }
  const ready: HintedEndpoint[] = [];
  for (const [index, { endpoints }] of [...groups.values()].entries()) {
    for (const [key, endpoint] of endpoints) {
      if (endpoint.conditions.ready) ready.push({ key: `${index} ${key}`, endpoint, hint: current.get(key) });
    }
  }
  const plan = planHints(ready, shares);
  const suffix = `, addressType: ${type}`;
  if ("problem" in plan) {
    return { type: "Warning", reason: "TopologyAwareHintsDisabled", message: plan.problem + suffix };
  }
  for (const [index, { endpoints }] of [...groups.values()].entries()) {
    for (const [key, endpoint] of endpoints) {
      const name = plan.zones.get(`${index} ${key}`);
      if (name) endpoints.set(key, { ...endpoint, hints: { forZones: [{ name }] } });
    }
  }
  if (current.size > 0) return undefined;
  return {
    type: "Normal",
    reason: "TopologyAwareHintsEnabled",
    message: `Topology Aware Hints has been enabled${suffix}`,
  };
}
