import { type Node } from "#api/core/node.ts";
import { hostPorts } from "#api/core/pod/host-ports.ts";
import { isFinished } from "#api/core/pod/pod-state.ts";
import { type Pod } from "#api/core/pod.ts";
import { quantityValue } from "#api/meta/quantity.ts";
import {
  addResources,
  isLess,
  noResources,
  type PodRequest,
  placedRequestOf,
  type Resources,
  resourcesOf,
} from "./resources.ts";

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
  /** The changed nodes in order; the last entry has the newest version, and versions descend by one from there. */
  readonly #changes: NodeInfo[] = [];
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
    this.#touch(info);
  }

  removeNode(name: string): void {
    const info = this.#nodes.get(name);
    if (!info?.node) return;
    this.#countImages(info, -1);
    info.node = undefined;
    info.images = new Map();
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
      before.info.pods.set(key, pod);
      return false;
    }
    if (before) this.#remove(key, before);
    const info = this.#infoOf(nodeName);
    const placed = { info, request, ports: hostPorts(pod) };
    this.#placed.set(key, placed);
    info.pods.set(key, pod);
    this.#count(placed, 1);
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

  #remove(key: string, placed: Placed): void {
    this.#placed.delete(key);
    placed.info.pods.delete(key);
    this.#count(placed, -1);
  }

  #dropIfEmpty(info: NodeInfo): void {
    if (info.node || info.pods.size > 0) return;
    this.#nodes.delete(info.name);
    this.#freeSlots.push(info.slot);
  }

  #count({ info, request, ports }: Placed, sign: 1 | -1): void {
    addResources(info.requested, request.requests, sign);
    info.nonZero.milliCpu += sign * request.nonZero.milliCpu;
    info.nonZero.memory += sign * request.nonZero.memory;
    for (const port of ports) addCount(info.ports, port, sign);
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

function addCount(counts: Map<string, number>, key: string, sign: 1 | -1): void {
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
