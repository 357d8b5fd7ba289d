import { type Node } from "#api/core/node.ts";
import { hostPorts } from "#api/core/pod/host-ports.ts";
import { isFinished } from "#api/core/pod/pod-state.ts";
import { type Pod } from "#api/core/pod.ts";
import { quantityValue } from "#api/meta/quantity.ts";
import { equal } from "#lib/data/equal.ts";
import {
  addResources,
  isLess,
  noResources,
  type PodRequest,
  placedRequestOf,
  type Resources,
  resourcesOf,
} from "./resources.ts";
import { Topology } from "./topology/topology.ts";

/** A node with its pods, for scheduling. Sums are maintained, not recomputed. */
export interface NodeInfo {
  readonly name: string;
  /** Its index in arrays over all nodes. It is reused once this node is gone. */
  readonly slot: number;
  /** undefined while only pods of the node are known. */
  node: Node | undefined;
  readonly pods: Map<string, Pod>;
  allocatable: Resources;
  allowedPods: number;
  readonly requested: Resources;
  readonly nonZero: { milliCpu: number; memory: number };
  /** `TCP 0.0.0.0 80` → how many pods use it. */
  readonly ports: Map<string, number>;
  /** Image name → bytes. */
  images: ReadonlyMap<string, number>;
  /**
   * Changes with every change of the node or its pods, and is unique among nodes: results for an older version are
   * invalid.
   */
  version: number;
}

/** A pod on its node, with the amounts that were counted. */
interface Placed {
  readonly info: NodeInfo;
  readonly request: PodRequest;
  readonly ports: readonly string[];
}

/** How many changes are remembered; a reader that has missed more must evaluate every node. */
const maxChanges = 1024;

/** All nodes and their pods, including pods assumed on a node and not seen there yet. It is updated, never rebuilt. */
export class Snapshot {
  readonly #nodes = new Map<string, NodeInfo>();
  readonly #placed = new Map<string, Placed>();
  readonly #imageNodes = new Map<string, number>();
  readonly #bySlot: NodeInfo[] = [];
  readonly #freeSlots: number[] = [];
  /** Priority → pods. */
  readonly #priorities = new Map<number, number>();
  /** The changed nodes in order; the last entry has the newest version, and versions descend by one from there. */
  readonly #changes: NodeInfo[] = [];
  /** What plugins know about pods on other nodes. */
  readonly topology = new Topology(() => this.#nodes.values());
  #list: NodeInfo[] | undefined;
  #version = 0;

  /** Existing nodes, in the order in which they were added. The same array until a node is added or removed. */
  get nodes(): readonly NodeInfo[] {
    this.#list ??= [...this.#nodes.values()].filter(({ node }) => node !== undefined);
    return this.#list;
  }

  /** Every node's slot is below this. */
  get slots(): number {
    return this.#bySlot.length;
  }

  /** The number of changes so far. */
  get version(): number {
    return this.#version;
  }

  /**
   * The nodes changed, added or removed after that version, in order and possibly repeated. undefined: too long ago to
   * know.
   */
  changedSince(version: number): readonly NodeInfo[] | undefined {
    const missed = this.#version - version;
    return missed <= this.#changes.length ? this.#changes.slice(this.#changes.length - missed) : undefined;
  }

  /** The node with this slot, or the last one that had it. */
  at(slot: number): NodeInfo | undefined {
    return this.#bySlot[slot];
  }

  /** The number of nodes that have an image. */
  imageSpread(image: string): number {
    return this.#imageNodes.get(image) ?? 0;
  }

  /** Whether any pod on a node has a lower priority. */
  hasPodsBelow(priority: number): boolean {
    return this.#priorities.keys().some((known) => known < priority);
  }

  get(name: string): NodeInfo | undefined {
    return this.#nodes.get(name);
  }

  /** The pod in the version that is counted. */
  podOf(key: string): Pod | undefined {
    return this.#placed.get(key)?.info.pods.get(key);
  }

  setNode(node: Node): void {
    const info = this.#infoOf(node.metadata.name);
    if (!info.node) this.#list = undefined;
    this.#countImages(info, -1);
    info.node = node;
    const { allocatable } = node.status ?? {};
    info.allocatable = resourcesOf(allocatable);
    info.allowedPods = quantityValue(allocatable?.pods ?? "0");
    info.images = imagesOf(node);
    this.#countImages(info, 1);
    this.topology.nodeChanged(info);
    this.#touch(info);
  }

  removeNode(name: string): void {
    const info = this.#nodes.get(name);
    if (!info?.node) return;
    this.#countImages(info, -1);
    info.node = undefined;
    info.images = new Map();
    this.topology.nodeChanged(info);
    this.#touch(info);
    this.#list = undefined;
    this.#dropIfEmpty(info);
  }

  /** Counts a pod on its node, wherever it was counted before. Returns true if that frees resources. */
  setPod(key: string, pod: Pod): boolean {
    const nodeName = pod.spec.nodeName ?? "";
    const before = this.#placed.get(key);
    if (!nodeName || isFinished(pod)) return this.removePod(key);
    const request = placedRequestOf(pod);
    if (before && before.info.name === nodeName && before.request === request) {
      this.#replace(key, pod, before.info);
      return false;
    }
    if (before) this.#remove(key, before);
    const info = this.#infoOf(nodeName);
    const placed = { info, request, ports: hostPorts(pod) };
    this.#placed.set(key, placed);
    info.pods.set(key, pod);
    this.#count(placed, 1);
    addCount(this.#priorities, pod.spec.priority ?? 0, 1);
    this.topology.podChanged(pod, info, 1);
    if (!before) return false;
    if (before.info !== info) this.#dropIfEmpty(before.info);
    return before.info !== info || isLess(request, before.request);
  }

  /** Returns true if the pod was counted. */
  removePod(key: string): boolean {
    const placed = this.#placed.get(key);
    if (!placed) return false;
    this.#remove(key, placed);
    this.#dropIfEmpty(placed.info);
    return true;
  }

  /** A new version of a pod that requests the same. */
  #replace(key: string, pod: Pod, info: NodeInfo): void {
    const before = info.pods.get(key);
    info.pods.set(key, pod);
    if (!before || isSameElsewhere(before, pod)) return;
    this.#touch(info);
    this.topology.podChanged(before, info, -1);
    this.topology.podChanged(pod, info, 1);
  }

  #remove(key: string, placed: Placed): void {
    const { info } = placed;
    const pod = info.pods.get(key);
    this.#placed.delete(key);
    info.pods.delete(key);
    this.#count(placed, -1);
    if (!pod) return;
    addCount(this.#priorities, pod.spec.priority ?? 0, -1);
    this.topology.podChanged(pod, info, -1);
  }

  #dropIfEmpty(info: NodeInfo): void {
    if (info.node || info.pods.size > 0) return;
    this.#nodes.delete(info.name);
    this.#freeSlots.push(info.slot);
  }

  #count({ info, request, ports }: Placed, sign: 1 | -1): void {
    countOn(info, request, ports, sign);
    this.#touch(info);
  }

  #countImages({ images }: NodeInfo, sign: 1 | -1): void {
    for (const name of images.keys()) addCount(this.#imageNodes, name, sign);
  }

  #touch(info: NodeInfo): void {
    info.version = ++this.#version;
    this.#changes.push(info);
    if (this.#changes.length >= maxChanges * 2) this.#changes.splice(0, maxChanges);
  }

  #infoOf(name: string): NodeInfo {
    let info = this.#nodes.get(name);
    if (!info) {
      info = {
        name,
        slot: this.#freeSlots.pop() ?? this.#bySlot.length,
        node: undefined,
        pods: new Map(),
        allocatable: noResources(),
        allowedPods: 0,
        requested: noResources(),
        nonZero: { milliCpu: 0, memory: 0 },
        ports: new Map(),
        images: new Map(),
        version: 0,
      };
      this.#nodes.set(name, info);
      this.#bySlot[info.slot] = info;
    }
    return info;
  }
}

/** A copy of a node, to find out what would be if it had other pods. */
export const copyOf = (info: NodeInfo): NodeInfo => ({
  ...info,
  // It is equal to no version, because a copy changes without getting a new one.
  version: Number.NaN,
  pods: new Map(info.pods),
  requested: { ...info.requested, scalar: new Map(info.requested.scalar) },
  nonZero: { ...info.nonZero },
  ports: new Map(info.ports),
});

/** Adds a pod to such a copy, or removes it. */
export function changeCopy(copy: NodeInfo, key: string, pod: Pod, sign: 1 | -1): void {
  if (sign === 1) copy.pods.set(key, pod);
  else copy.pods.delete(key);
  countOn(copy, placedRequestOf(pod), hostPorts(pod), sign);
}

function countOn(info: NodeInfo, { requests, nonZero }: PodRequest, ports: readonly string[], sign: 1 | -1): void {
  addResources(info.requested, requests, sign);
  info.nonZero.milliCpu += sign * nonZero.milliCpu;
  info.nonZero.memory += sign * nonZero.memory;
  for (const port of ports) addCount(info.ports, port, sign);
}

/** Whether pods on other nodes, which look at its labels and whether it ends, see no difference. */
const isSameElsewhere = ({ metadata: a }: Pod, { metadata: b }: Pod): boolean =>
  (a.labels === b.labels || equal(a.labels, b.labels)) &&
  (a.deletionTimestamp === undefined) === (b.deletionTimestamp === undefined);

function addCount<K>(counts: Map<K, number>, key: K, sign: 1 | -1): void {
  const left = (counts.get(key) ?? 0) + sign;
  if (left > 0) counts.set(key, left);
  else counts.delete(key);
}

function imagesOf(node: Node): ReadonlyMap<string, number> {
  const images = new Map<string, number>();
  for (const { names, sizeBytes } of node.status?.images ?? []) {
    for (const name of names ?? []) images.set(name, sizeBytes ?? 0);
  }
  return images;
}

/** Heartbeats change nothing that scheduling depends on. */
export function sameForScheduling(a: Node, b: Node): boolean {
  return (
    equal(a.metadata.labels, b.metadata.labels) &&
    equal(a.metadata.annotations, b.metadata.annotations) &&
    equal(a.spec, b.spec) &&
    equal(a.status?.allocatable, b.status?.allocatable) &&
    equal(a.status?.images, b.status?.images) &&
    equal(a.status?.declaredFeatures, b.status?.declaredFeatures) &&
    equal(conditionsOf(a), conditionsOf(b))
  );
}
const conditionsOf = ({ status }: Node) => status?.conditions?.map(({ type, status: value }) => [type, value]);
