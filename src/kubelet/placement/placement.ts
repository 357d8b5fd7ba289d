import type { Container } from "#api/core/container/container.ts";
import { isSidecar, qosClassOf } from "#api/core/pod/pod-resources.ts";
import type { Pod } from "#api/core/pod.ts";

/** The processors and the memory that one container has, in the order in which the containers of a pod start. */
export interface Placement {
  readonly podUid: string;
  readonly container: string;
  /** The container ends before later ones of its pod start, so they may reuse what it has. */
  readonly isPassedOn: boolean;
  /** Processors that nobody else uses; empty if it shares processors. */
  readonly cpus: readonly number[];
  /** Undefined if its memory may come from any node. */
  readonly memory?: MemoryPlacement | undefined;
}
export interface MemoryPlacement {
  readonly nodes: readonly number[];
  readonly parts: readonly MemoryPart[];
}
export interface MemoryPart {
  readonly node: number;
  /** `memory` or a size of huge pages. */
  readonly resource: string;
  readonly bytes: number;
}

/** All containers that may get processors or memory of their own, in the order in which they start. */
export const placeable = ({ spec }: Pod): Container[] => [...(spec.initContainers ?? []), ...spec.containers];

export const isPassedOn = ({ spec }: Pod, { name }: Pick<Container, "name">): boolean =>
  spec.initContainers?.some((one) => one.name === name && !isSidecar(one)) ?? false;

/** Only pods whose requests are their limits get anything of their own, and only if containers declare them. */
export const mayBePlaced = ({ spec }: Pod): boolean =>
  qosClassOf(spec) === "Guaranteed" && spec.resources === undefined;

/** What a pod needs at once, given what each container needs: init containers run one after another, beside sidecars. */
export function neededAtOnce(pod: Pod, amountOf: (container: Container) => number): number {
  let lasting = 0;
  let most = 0;
  for (const container of placeable(pod)) {
    const amount = amountOf(container);
    if (isPassedOn(pod, container)) most = Math.max(most, lasting + amount);
    else lasting += amount;
  }
  return Math.max(most, lasting);
}
