import { type Container } from "#api/core/container/container.ts";
import { type ContainerStatus } from "#api/core/pod/pod-status.ts";
import { type Pod } from "#api/core/pod.ts";
import { type PodFacts, type SeenEvent } from "../facts.ts";
import { ago, msOf } from "../times.ts";

export const podName = ({ metadata }: Pod): string => metadata.name;

/** A container of the pod, with its status. */
export interface PodPart {
  readonly container: Container;
  readonly status: ContainerStatus | undefined;
  readonly isInit: boolean;
}

/** Init containers come first, because they hold up the others. */
export function partsOf({ spec, status }: Pod): PodPart[] {
  const find = ({ name }: Container, statuses: readonly ContainerStatus[] | undefined) =>
    statuses?.find((one) => one.name === name);
  const inits = (spec.initContainers ?? []).map((container) => ({
    container,
    status: find(container, status.initContainerStatuses),
    isInit: true,
  }));
  const others = spec.containers.map((container) => ({
    container,
    status: find(container, status.containerStatuses),
    isInit: false,
  }));
  return [...inits, ...others];
}

export const waitingOf = ({ status }: PodPart): { reason: string; message: string } => ({
  reason: status?.state.waiting?.reason ?? "",
  message: status?.state.waiting?.message ?? "",
});

/** `container web` or `init container web`. */
export const partName = ({ container, isInit }: PodPart): string =>
  `${isInit ? "init container" : "container"} ${container.name}`;

/** The newest event with one of these reasons; about the container, if one is given. */
export function lastEvent(
  { events }: Pick<PodFacts, "events">,
  reasons: readonly string[],
  is: (event: SeenEvent) => boolean = () => true,
): SeenEvent | undefined {
  return events.findLast((event) => reasons.includes(event.reason) && is(event));
}

export const isAbout =
  ({ container }: PodPart) =>
  ({ fieldPath }: SeenEvent): boolean =>
    fieldPath === "" || fieldPath.includes(`{${container.name}}`);

export function describeEvent({ reason, message, count, lastMs }: SeenEvent, nowMs: number): string {
  const times = count > 1 ? `, ${count} times` : "";
  return `event ${reason} ${ago(lastMs, nowMs)}${times}: ${message}`;
}

/** The kubelet resets the back-off after this time without a crash, so older restarts do not matter. */
const recentRestartMs = 10 * 60_000;
export function hasRestarted({ status }: PodPart, nowMs: number): boolean {
  const endedMs = msOf(status?.lastState.terminated?.finishedAt);
  return Boolean(status?.restartCount) && endedMs !== undefined && nowMs - endedMs < recentRestartMs;
}
