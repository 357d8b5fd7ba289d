import { type ResourceSpec } from "../args/plugin-args.ts";
import { type PodRequest } from "../resources.ts";
import { type NodeInfo } from "../snapshot.ts";

/** A resource that counts for the score of a node, and how to find out how much of it there is. */
export interface Counted {
  readonly weight: number;
  /** What the pod asks for; 0 if the resource is one that only some pods use and this one does not. */
  asked(request: PodRequest): number;
  used(node: NodeInfo): number;
  allocatable(node: NodeInfo): number;
  /** Nodes are not compared by this resource for pods that do not ask for it. */
  readonly isOptional: boolean;
}

/** The devices that provide a resource on a node where no device plugin does. */
export type CountDevices = (
  node: string,
  resource: string,
) => { readonly capacity: number; readonly allocated: number };

const noDevices: CountDevices = () => ({ capacity: 0, allocated: 0 });

/** Pods without requests count as if they asked for a little: with `nonZero` cpu and memory are what is assumed then. */
export function countedOf({ name, weight }: ResourceSpec, nonZero: boolean, devices = noDevices): Counted {
  const shared = { weight: weight || 1, isOptional: false };
  switch (name) {
    case "cpu":
      return {
        ...shared,
        asked: ({ requests, nonZero: assumed }) => (nonZero ? assumed : requests).milliCpu,
        used: ({ requested, nonZero: assumed }) => (nonZero ? assumed : requested).milliCpu,
        allocatable: (node) => node.allocatable.milliCpu,
      };
    case "memory":
      return {
        ...shared,
        asked: ({ requests, nonZero: assumed }) => (nonZero ? assumed : requests).memory,
        used: ({ requested, nonZero: assumed }) => (nonZero ? assumed : requested).memory,
        allocatable: (node) => node.allocatable.memory,
      };
    case "ephemeral-storage":
      return {
        ...shared,
        asked: ({ requests }) => requests.ephemeralStorage,
        used: ({ requested }) => requested.ephemeralStorage,
        allocatable: (node) => node.allocatable.ephemeralStorage,
      };
    default:
      return {
        weight: weight || 1,
        asked: ({ requests }) => requests.scalar.get(name) ?? 0,
        used: (node) =>
          node.allocatable.scalar.get(name)
            ? (node.requested.scalar.get(name) ?? 0)
            : devices(node.name, name).allocated,
        allocatable: (node) => node.allocatable.scalar.get(name) || devices(node.name, name).capacity,
        isOptional: true,
      };
  }
}

/** Whether these are cpu and memory with the same weight, for which there is a quicker way. */
export const areUsual = (resources: readonly ResourceSpec[] = []): boolean =>
  resources.length === 0 ||
  (resources.length === 2 &&
    resources.every(({ weight }) => (weight || 1) === (resources[0]?.weight || 1)) &&
    new Set(resources.map(({ name }) => name)).isSupersetOf(new Set(["cpu", "memory"])));

export const usual: readonly ResourceSpec[] = [{ name: "cpu" }, { name: "memory" }];
