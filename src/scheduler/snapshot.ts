import { type Node } from "#api/core/node.ts";
import { type Pod } from "#api/core/pod.ts";
import { addResources, noResources, type PodRequest, type Resources, requestOf, resourcesOf } from "./resources.ts";

/** A node with its pods, as scheduling sees it. Sums are kept, not recomputed. */
export interface NodeInfo {
  readonly name: string;
  /** undefined while only pods of it are known. */
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
  /** Changes with every change of the node or its pods: what was worked out for an older one no longer holds. */
  version: number;
}

/** All nodes and their pods, including pods that are assumed on a node and not yet seen there. Updated, never rebuilt. */
export class Snapshot {
  readonly #nodes = new Map<string, NodeInfo>();
  /** Where each pod is counted. */
  readonly #placed = new Map<string, { info: NodeInfo; pod: Pod; request: PodRequest }>();
  readonly #imageNodes = new Map<string, number>();
  #list: NodeInfo[] | undefined;
  #version = 0;

  /** Nodes that exist, in the order in which they came. */
  get nodes(): readonly NodeInfo[] {
    this.#list ??= [...this.#nodes.values()].filter(({ node }) => node !== undefined);
    return this.#list;
  }

  /** On how many nodes an image is. */
  imageSpread(image: string): number {
    return this.#imageNodes.get(image) ?? 0;
  }

  get(name: string): NodeInfo | undefined {
    return this.#nodes.get(name);
  }

  setNode(node: Node): void {
    const info = this.#infoOf(node.metadata.name ?? "");
    if (!info.node) this.#list = undefined;
    this.#countImages(info, -1);
    info.node = node;
    info.allocatable = resourcesOf(node.status?.allocatable);
    info.allowedPods = Number(node.status?.allocatable?.["pods"] ?? 0);
    info.images = imagesOf(node);
    this.#countImages(info, 1);
    info.version = ++this.#version;
  }

  removeNode(name: string): void {
    const info = this.#nodes.get(name);
    if (!info) return;
    this.#countImages(info, -1);
    info.node = undefined;
    info.images = new Map();
    info.version = ++this.#version;
    this.#list = undefined;
    if (info.pods.size === 0) this.#nodes.delete(name);
  }

  /** Counts a pod on the node that it names, wherever it was counted before. */
  setPod(key: string, pod: Pod): void {
    const nodeName = pod.spec.nodeName ?? "";
    const placed = this.#placed.get(key);
    if (placed && placed.info.name === nodeName && samePlace(placed.pod, pod)) {
      placed.info.pods.set(key, pod);
      this.#placed.set(key, { ...placed, pod });
      return;
    }
    this.removePod(key);
    if (!nodeName || isFinished(pod)) return;
    const info = this.#infoOf(nodeName);
    const request = requestOf(pod);
    this.#placed.set(key, { info, pod, request });
    info.pods.set(key, pod);
    this.#count(info, { pod, request, sign: 1 });
  }

  removePod(key: string): void {
    const placed = this.#placed.get(key);
    if (!placed) return;
    const { info, pod, request } = placed;
    this.#placed.delete(key);
    info.pods.delete(key);
    this.#count(info, { pod, request, sign: -1 });
    if (!info.node && info.pods.size === 0) this.#nodes.delete(info.name);
  }

  #count(info: NodeInfo, { pod, request, sign }: { pod: Pod; request: PodRequest; sign: 1 | -1 }): void {
    addResources(info.requested, request.requests, sign);
    info.nonZero.milliCpu += sign * request.nonZero.milliCpu;
    info.nonZero.memory += sign * request.nonZero.memory;
    for (const port of hostPorts(pod)) {
      const left = (info.ports.get(port) ?? 0) + sign;
      if (left > 0) info.ports.set(port, left);
      else info.ports.delete(port);
    }
    info.version = ++this.#version;
  }

  #countImages({ images }: NodeInfo, sign: 1 | -1): void {
    for (const name of images.keys()) {
      const left = (this.#imageNodes.get(name) ?? 0) + sign;
      if (left > 0) this.#imageNodes.set(name, left);
      else this.#imageNodes.delete(name);
    }
  }

  #infoOf(name: string): NodeInfo {
    let info = this.#nodes.get(name);
    if (!info) {
      info = {
        name,
        node: undefined,
        pods: new Map(),
        allocatable: noResources(),
        allowedPods: 0,
        requested: noResources(),
        nonZero: { milliCpu: 0, memory: 0 },
        ports: new Map(),
        images: new Map(),
        version: ++this.#version,
      };
      this.#nodes.set(name, info);
    }
    return info;
  }
}

export const isFinished = ({ status }: Pod): boolean => status?.phase === "Succeeded" || status?.phase === "Failed";

/** Status changes of a placed pod do not move it: only what is counted matters. */
const samePlace = (a: Pod, b: Pod): boolean =>
  isFinished(a) === isFinished(b) && a.spec.containers === b.spec.containers;

/** `TCP 0.0.0.0 80` for every host port that the pod takes. */
export function* hostPorts({ spec }: Pod): Iterable<string> {
  for (const container of [...(spec.initContainers ?? []), ...spec.containers]) {
    for (const { hostPort, hostIP, protocol } of container.ports ?? []) {
      if (hostPort) yield `${protocol ?? "TCP"} ${hostIP || "0.0.0.0"} ${hostPort}`;
    }
  }
}

function imagesOf(node: Node): ReadonlyMap<string, number> {
  const images = new Map<string, number>();
  for (const { names, sizeBytes } of node.status?.images ?? []) {
    for (const name of names ?? []) images.set(name, sizeBytes ?? 0);
  }
  return images;
}
