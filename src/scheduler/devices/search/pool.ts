import { type Node } from "#api/core/node.ts";
import { termMatches } from "#api/core/node-match.ts";
import { type Device } from "#api/devices/device.ts";
import { type ResourceSlice } from "#api/devices/resource-slice.ts";
import { parseQuantity } from "#api/meta/quantity.ts";
import { compareText } from "#lib/data/compare-text.ts";

/** A device that a node can use, and where it comes from. */
export interface PoolDevice {
  /** Unique in the cluster. */
  readonly key: string;
  readonly driver: string;
  readonly pool: Pool;
  readonly device: Device;
  readonly slice: ResourceSlice;
}

/** The devices of one driver that belong together, as one node sees them. */
export interface Pool {
  readonly key: string;
  readonly driver: string;
  readonly name: string;
  /** Why its devices cannot be allocated now. */
  readonly problem?: "incomplete" | "invalid" | undefined;
  /** Those that the node can use. */
  readonly devices: readonly PoolDevice[];
  /** All devices of the pool that take from counters, also on other nodes. */
  readonly counting: readonly Device[];
  /** Counter set → counter → amount. */
  readonly counters: Counters;
}
export type Counters = ReadonlyMap<string, ReadonlyMap<string, bigint>>;

export const poolKey = (driver: string, pool: string): string => `${driver}/${pool}`;
/** Names of devices have no slash. */
export const deviceKeyOf = (pool: string, device: string): string => `${pool}/${device}`;

/** What holds for a pool on every node. */
export interface PoolFacts {
  /** The newest one. Slices of older ones do not count. */
  readonly generation: number;
  readonly problem: Pool["problem"];
  readonly counting: readonly Device[];
  readonly counters: Counters;
}

export interface PoolSlices {
  /** The slices that may be about the node. */
  readonly near: Iterable<ResourceSlice>;
  factsOf(pool: string): PoolFacts;
}

/** The pools that a node can use, in the order in which they are tried. Those whose devices have to be waited for come last. */
export function gatherPools(node: Node, { near, factsOf }: PoolSlices): Pool[] {
  const found = new Map<string, ResourceSlice[]>();
  for (const slice of near) {
    const key = poolKey(slice.spec.driver, slice.spec.pool.name);
    if (slice.spec.pool.generation !== factsOf(key).generation || !isOnNode(slice, node)) continue;
    const others = found.get(key);
    if (others) others.push(slice);
    else found.set(key, [slice]);
  }
  const pools = Array.from(found, ([key, slices]) => poolOf(node, slices, factsOf(key)));
  const rank = (pool: Pool): number => (pool.devices.some(({ device }) => device.bindingConditions?.length) ? 1 : 0);
  return pools.sort((a, b) => rank(a) - rank(b) || compareText(a.driver, b.driver) || compareText(a.name, b.name));
}

export function isOnNode(slice: ResourceSlice, node: Node): boolean {
  const { spec } = slice;
  if (spec.perDeviceNodeSelection) return spec.devices?.some((device) => isChosen(device, node)) ?? false;
  return isChosen(spec, node);
}

type NodeChoice = Pick<Device, "nodeName" | "nodeSelector" | "allNodes">;

function isChosen({ nodeName, nodeSelector, allNodes }: NodeChoice, node: Node): boolean {
  if (nodeName) return nodeName === node.metadata.name;
  if (allNodes) return true;
  return nodeSelector?.nodeSelectorTerms.some((term) => termMatches(term, node)) ?? false;
}

function poolOf(node: Node, slices: readonly ResourceSlice[], facts: PoolFacts): Pool {
  const { driver = "", pool } = slices[0]?.spec ?? {};
  const name = pool?.name ?? "";
  const key = poolKey(driver, name);
  const { counting, counters } = facts;
  const problem = facts.problem ?? (hasDuplicates(slices) ? "invalid" : undefined);
  if (problem) return { key, driver, name, devices: [], counting, counters, problem };
  const devices: PoolDevice[] = [];
  const result: Pool = { key, driver, name, devices, counting, counters };
  for (const slice of slices.toSorted((a, b) => compareText(a.metadata.name, b.metadata.name))) {
    for (const device of slice.spec.devices ?? []) {
      if (slice.spec.perDeviceNodeSelection && !isChosen(device, node)) continue;
      devices.push({ key: deviceKeyOf(key, device.name), driver, pool: result, device, slice });
    }
  }
  return result;
}

/** Looks at all slices of a pool. */
export function poolFacts(slices: readonly ResourceSlice[]): PoolFacts {
  const generation = slices.reduce((newest, { spec }) => Math.max(newest, spec.pool.generation), 0);
  const current = slices.filter(({ spec }) => spec.pool.generation === generation);
  const isComplete = current.every(({ spec }) => spec.pool.resourceSliceCount === current.length);
  if (!isComplete) return { generation, problem: "incomplete", counting: [], counters: new Map() };
  const counters = countersOf(current);
  const counting = current.flatMap(({ spec }) => spec.devices?.filter((each) => each.consumesCounters?.length) ?? []);
  if (!counters || !counting.every((device) => hasCounters(device, counters))) {
    return { generation, problem: "invalid", counting: [], counters: new Map() };
  }
  return { generation, problem: undefined, counting, counters };
}

/** undefined if two counter sets have the same name. */
function countersOf(slices: readonly ResourceSlice[]): Counters | undefined {
  const sets = new Map<string, ReadonlyMap<string, bigint>>();
  for (const { name, counters } of slices.flatMap(({ spec }) => spec.sharedCounters ?? [])) {
    if (sets.has(name)) return undefined;
    sets.set(name, amountsOf(counters));
  }
  return sets;
}

type Amounts = Readonly<Record<string, { readonly value: string }>>;

/** Stored devices do not change, so their amounts are read once. */
const readAmounts = new WeakMap<Amounts, ReadonlyMap<string, bigint>>();

export function amountsOf(amounts: Amounts): ReadonlyMap<string, bigint> {
  let read = readAmounts.get(amounts);
  if (!read) {
    read = new Map(Object.entries(amounts).map(([name, { value }]) => [name, parseQuantity(value).nanos]));
    readAmounts.set(amounts, read);
  }
  return read;
}

function hasDuplicates(slices: readonly ResourceSlice[]): boolean {
  const names = slices.flatMap(({ spec }) => spec.devices?.map(({ name }) => name) ?? []);
  return new Set(names).size < names.length;
}

const hasCounters = ({ consumesCounters = [] }: Device, sets: Counters): boolean =>
  consumesCounters.every(({ counterSet, counters }) => {
    const set = sets.get(counterSet);
    return set !== undefined && Object.keys(counters).every((name) => set.has(name));
  });
