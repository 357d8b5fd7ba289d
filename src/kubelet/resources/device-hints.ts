import type { Hint } from "#kubelet/placement/merge-hints.ts";
import { maskOf, masksOf, maxNumaNodes, nodesIn, sizeOf } from "#kubelet/placement/numa-mask.ts";

/** The NUMA nodes that each device is close to; 0 if its plugin does not tell. */
export type DeviceNodes = ReadonlyMap<string, number>;

export interface DeviceHintRequest {
  readonly nodes: DeviceNodes;
  /** The nodes of the machine. */
  readonly known: number;
  /** Devices that can be had. */
  readonly free: ReadonlySet<string>;
  /** Those of them that an init container of the same pod had. */
  readonly passedOn: readonly string[];
  readonly count: number;
}

/** The sets of NUMA nodes that have enough free devices. Undefined if the plugin says nothing about nodes. */
export function deviceHints({ nodes, known, free, passedOn, count }: DeviceHintRequest): Hint[] | undefined {
  const all = [...nodes.values()];
  if (all.every((mask) => mask === 0)) return undefined;
  const near = all.reduce((sum, mask) => sum | mask, 0) & known;
  const masks = masksOf(nodesIn(near === 0 ? known : near));
  const countIn = (mask: number, some: Iterable<number>) => [...some].filter((own) => (own & mask) !== 0).length;
  const least = Math.min(...masks.filter((mask) => countIn(mask, all) >= count).map(sizeOf), sizeOf(near || known));
  const ofFree = Array.from(free, (id) => nodes.get(id) ?? 0);
  const covers = (mask: number) =>
    passedOn.every((id) => (nodes.get(id) ?? 0) === 0 || ((nodes.get(id) ?? 0) & mask) !== 0);
  const fitting = masks.filter((mask) => covers(mask) && countIn(mask, ofFree) >= count);
  return fitting.map((mask) => ({ mask, isPreferred: sizeOf(mask) === least }));
}

/** Splits devices into those near the wanted NUMA nodes, and the others: those that are near other nodes first. */
export function sortByNode(ids: readonly string[], nodes: DeviceNodes, mask: number | undefined) {
  if (mask === undefined || ids.every((id) => !nodes.get(id))) return { near: [], others: ids };
  const isNear = (id: string) => ((nodes.get(id) ?? 0) & mask) !== 0;
  const far = ids.filter((id) => !isNear(id));
  return { near: ids.filter(isNear), others: far.toSorted((a, b) => Number(!nodes.get(a)) - Number(!nodes.get(b))) };
}

/** What a plugin tells about a device, as a set. A plugin may name nodes that no machine has. */
export const nodesOfDevice = (ids: readonly (number | bigint)[]): number =>
  maskOf(ids.map(Number).filter((id) => Number.isInteger(id) && id >= 0 && id < maxNumaNodes));
