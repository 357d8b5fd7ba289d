import { podRequests } from "#api/core/pod/pod-resources.ts";
import type { Pod } from "#api/core/pod.ts";
import { quantityValue } from "#api/meta/quantity.ts";
import { isMemory, resourceOf, type Signal } from "./signals.ts";

export interface DiskUse {
  readonly bytes: number;
  readonly inodes: number;
}
export interface ContainerUse {
  readonly name: string;
  readonly memoryBytes: number;
  /** The writable layer. */
  readonly layer: DiskUse;
  readonly logs: DiskUse;
}
/** What a pod uses of the node's resources. */
export interface PodUse {
  readonly memoryBytes: number;
  readonly processes: number;
  /** Volumes on the node's disk. */
  readonly volumes: DiskUse;
  readonly containers: readonly ContainerUse[];
}

export interface RankInput {
  readonly signal: Signal;
  /** Whether images and writable layers have a disk of their own. */
  readonly hasImageDisk: boolean;
  /** Undefined for a pod that could not be measured. */
  useOf(pod: Pod): PodUse | undefined;
}

/** The order in which pods are evicted, as upstream has it. */
export function rankPods(pods: readonly Pod[], input: RankInput): Pod[] {
  const { signal } = input;
  if (signal === "pid.available") {
    return pods.toSorted((a, b) => byPriority(a, b) || byUse(input, ({ processes }) => processes)(a, b));
  }
  const amount = isMemory(signal) ? (use: PodUse) => use.memoryBytes : diskAmount(input);
  const resource = resourceOf(signal);
  // Nobody requests inodes, so any use exceeds the request. Their number is still compared with the requested bytes.
  const request = (pod: Pod, name: string) => (name === "inodes" ? 0 : requestOf(pod, name));
  const exceeds = (pod: Pod, use: PodUse) => Number(amount(use) > request(pod, resource));
  const compared = resource === "inodes" ? "ephemeral-storage" : resource;
  const excess = (use: PodUse, pod: Pod) => amount(use) - requestOf(pod, compared);
  const byExcess = byUse(input, (use, pod) => exceeds(pod, use));
  return pods.toSorted((a, b) => byExcess(a, b) || byPriority(a, b) || byUse(input, excess)(a, b));
}

const byPriority = (a: Pod, b: Pod): number => (a.spec.priority ?? 0) - (b.spec.priority ?? 0);

/** The larger first, and a pod that could not be measured before all others. */
const byUse =
  ({ useOf }: RankInput, read: (use: PodUse, pod: Pod) => number) =>
  (a: Pod, b: Pod): number => {
    const [left, right] = [useOf(a), useOf(b)];
    if (!left || !right) return Number(left !== undefined) - Number(right !== undefined);
    return read(right, b) - read(left, a);
  };

/** What a pod uses of the disk that is full. */
function diskAmount({ signal, hasImageDisk }: RankInput): (use: PodUse) => number {
  const unit = resourceOf(signal) === "inodes" ? "inodes" : "bytes";
  const isNodeDisk = signal.startsWith("nodefs.");
  const countsLayers = !hasImageDisk || !isNodeDisk;
  const countsRest = !hasImageDisk || isNodeDisk;
  return ({ containers, volumes }) => {
    const layers = countsLayers ? containers.reduce((sum, { layer }) => sum + layer[unit], 0) : 0;
    const logs = countsRest ? containers.reduce((sum, one) => sum + one.logs[unit], 0) : 0;
    return layers + logs + (countsRest ? volumes[unit] : 0);
  };
}

export const requestOf = ({ spec }: Pod, name: string): number => quantityValue(podRequests(spec)[name] ?? "0");
