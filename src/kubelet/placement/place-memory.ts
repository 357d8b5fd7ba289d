import type { Container } from "#api/core/container/container.ts";
import type { Pod } from "#api/core/pod.ts";
import { quantityValue } from "#api/meta/quantity.ts";
import type { NumaNode } from "./machine-topology.ts";
import type { Hint } from "./merge-hints.ts";
import { compareMasks, maskOf, masksOf, nodesIn, sizeOf } from "./numa-mask.ts";
import {
  type MemoryPart,
  type MemoryPlacement,
  mayBePlaced,
  neededAtOnce,
  type Placement,
  placeable,
} from "./placement.ts";

/** How the policy `Static` gives containers memory of certain NUMA nodes. */
export interface MemoryRules {
  readonly nodes: readonly NumaNode[];
  /** Bytes that are set aside, by node and resource name. */
  readonly reserved: ReadonlyMap<number, Amounts>;
}
type Amounts = Readonly<Record<string, number>>;

const isMemory = (name: string): boolean => name === "memory" || name.startsWith("hugepages-");

/** Bytes that a container gets, by resource name; undefined if its memory may come from anywhere. */
export function ownMemory(pod: Pod, { resources }: Container): Amounts | undefined {
  if (!mayBePlaced(pod)) return undefined;
  const wanted = Object.entries(resources.requests ?? {}).filter(([name]) => isMemory(name));
  return Object.fromEntries(wanted.map(([name, amount]) => [name, quantityValue(amount)]));
}
export function ownMemoryOfPod(pod: Pod): Amounts | undefined {
  if (!mayBePlaced(pod)) return undefined;
  const names = new Set(placeable(pod).flatMap((container) => Object.keys(ownMemory(pod, container) ?? {})));
  const total = (name: string) => neededAtOnce(pod, (container) => ownMemory(pod, container)?.[name] ?? 0);
  return Object.fromEntries(Array.from(names, (name) => [name, total(name)]));
}

/** What pods can get of a resource of a node. */
function allocatable({ nodes, reserved }: MemoryRules, id: number, resource: string): number {
  const node = nodes.find((one) => one.id === id);
  if (!node) return 0;
  const pages = Object.values(node.hugepages).reduce((sum, bytes) => sum + bytes, 0);
  const there = resource === "memory" ? node.memoryBytes - pages : (node.hugepages[resource] ?? 0);
  return Math.max(0, there - (reserved.get(id)?.[resource] ?? 0));
}

/** What is left of it for a container of the pod. It may have all that earlier init containers of its pod had. */
function freeFor(rules: MemoryRules, placements: readonly Placement[], podUid: string) {
  const held = new Map<string, number>();
  const add = (node: number, resource: string, bytes: number) =>
    held.set(`${node} ${resource}`, (held.get(`${node} ${resource}`) ?? 0) + bytes);
  for (const [uid, own] of Map.groupBy(placements, (one) => one.podUid)) {
    for (const { node, resource, bytes } of heldBy(own, uid === podUid)) add(node, resource, bytes);
  }
  return (node: number, resource: string): number =>
    Math.max(0, allocatable(rules, node, resource) - (held.get(`${node} ${resource}`) ?? 0));
}

/** What the containers of a pod hold at once; only those that last, if others of the pod start now. */
function heldBy(placements: readonly Placement[], onlyLasting: boolean): MemoryPart[] {
  const lasting = new Map<string, MemoryPart>();
  const most = new Map<string, MemoryPart>();
  const plus = (part: MemoryPart): MemoryPart => {
    const before = lasting.get(`${part.node} ${part.resource}`);
    return { ...part, bytes: part.bytes + (before?.bytes ?? 0) };
  };
  for (const { isPassedOn, memory } of placements) {
    for (const part of memory?.parts ?? []) {
      const key = `${part.node} ${part.resource}`;
      const sum = plus(part);
      if (!isPassedOn) lasting.set(key, sum);
      if ((most.get(key)?.bytes ?? 0) < sum.bytes) most.set(key, sum);
    }
  }
  return [...(onlyLasting ? lasting : most).values()];
}

/**
 * The sets of NUMA nodes that have enough free memory. A node whose memory a container has together with that of other nodes is
 * only used with the same nodes, and a node that is used alone stays so.
 */
export function memoryHints(
  rules: MemoryRules,
  placements: readonly Placement[],
  podUid: string,
  wanted: Amounts,
): Hint[] {
  const masks = masksOf(rules.nodes.map(({ id }) => id));
  const free = freeFor(rules, placements, podUid);
  const sum = (mask: number, of: (node: number) => number) =>
    nodesIn(mask).reduce((total, node) => total + of(node), 0);
  const suffices = (mask: number, amount: (node: number, resource: string) => number): boolean =>
    Object.entries(wanted).every(([resource, bytes]) => sum(mask, (node) => amount(node, resource)) >= bytes);
  const possible = masks.filter((mask) => suffices(mask, (node, resource) => allocatable(rules, node, resource)));
  const least = Math.min(...possible.map(sizeOf), rules.nodes.length);
  const fitting = possible.filter((mask) => isGroup(mask, placements) && suffices(mask, free));
  return fitting.map((mask) => ({ mask, isPreferred: sizeOf(mask) === least }));
}

/** Whether all containers that use memory of these nodes use exactly these nodes; several may each be used alone. */
function isGroup(mask: number, placements: readonly Placement[]): boolean {
  return placements.every(({ memory }) => {
    const used = maskOf(memory?.nodes ?? []);
    return (used & mask) === 0 || used === mask;
  });
}

export interface MemoryRequest {
  readonly podUid: string;
  readonly wanted: Amounts;
  /** The NUMA nodes that are best; undefined if none is better than others. */
  readonly mask: number | undefined;
  /** Whether a larger set of nodes than necessary is no choice. */
  readonly mustBePreferred: boolean;
}

/** The memory of a container, from the given nodes or a larger set that has enough. Throws if there is none. */
export function placeMemory(
  rules: MemoryRules,
  placements: readonly Placement[],
  request: MemoryRequest,
): MemoryPlacement {
  const { podUid, wanted, mask = 0, mustBePreferred } = request;
  const hints = memoryHints(rules, placements, podUid, wanted);
  const wider = hints.filter((hint) => (mask & (hint.mask ?? 0)) === mask);
  const [best] = wider.toSorted(
    (a, b) => Number(b.isPreferred) - Number(a.isPreferred) || compareMasks(a.mask ?? 0, b.mask ?? 0),
  );
  if (best?.mask === undefined) {
    throw new Error("failed to get the default NUMA affinity, no NUMA nodes with enough memory is available");
  }
  if (mustBePreferred && !best.isPreferred) throw new Error("failed to find the default preferred hint");
  const nodes = nodesIn(best.mask);
  const free = freeFor(rules, placements, podUid);
  return {
    nodes,
    parts: Object.entries(wanted).flatMap(([resource, bytes]) => spread({ nodes, resource, bytes, free })),
  };
}

interface Spread {
  readonly nodes: readonly number[];
  readonly resource: string;
  readonly bytes: number;
  free(node: number, resource: string): number;
}

/** Takes from the first node all that it has, then from the next one. */
function spread({ nodes, resource, bytes, free }: Spread): MemoryPart[] {
  const parts: MemoryPart[] = [];
  let rest = bytes;
  for (const node of nodes) {
    const taken = Math.min(rest, free(node, resource));
    if (taken > 0) parts.push({ node, resource, bytes: taken });
    rest -= taken;
  }
  return parts;
}
