import { isFinalPhase } from "#api/core/pod/pod-state.ts";
import type { ContainerState, ContainerStatus, PodCondition, PodStatus } from "#api/core/pod/pod-status.ts";
import { hasEndedForGood, type StatusList } from "#api/core/pod/validate/validate-pod-status.ts";
import type { Pod } from "#api/core/pod.ts";
import { ipFamily, ipFault } from "#api/meta/ip-address.ts";
import { truncateBytes } from "#lib/text/truncate.ts";

/** Upstream's limits for the termination messages of one container, and of all containers of a pod together. */
const maxMessageBytes = 4096;
const maxPodMessageBytes = 12 * 1024;
const statusLists = ["containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"] as const;

/**
 * The status nearest to the wanted one that the API accepts as the successor of the current one:
 *
 * - A container that was reported as ended for good stays as reported, even if it runs again, as the init containers of a
 *   pod with restartPolicy OnFailure do when its sandbox is lost.
 * - A pod does not leave its last phase.
 * - There is one valid address for each IP family.
 * - No message exceeds its limit.
 */
export function acceptedStatus({ spec, status: reported }: Pod, wanted: PodStatus): PodStatus {
  const count = spec.containers.length + (spec.initContainers?.length ?? 0) + (spec.ephemeralContainers?.length ?? 0);
  const maxBytes = Math.min(maxMessageBytes, Math.floor(maxPodMessageBytes / Math.max(1, count)));
  const accepted: PodStatus = { ...wanted, ...acceptedAddresses(wanted) };
  for (const list of statusLists) {
    const statuses = wanted[list];
    if (!statuses) continue;
    accepted[list] = statuses.map((status) => {
      const before = reported[list]?.find(({ name }) => name === status.name);
      return limitContainer(keepsEnd(spec, list, { before, status }) ?? status, maxBytes);
    });
  }
  if (reported.phase && isFinalPhase(reported.phase)) accepted.phase = reported.phase;
  if (wanted.message !== undefined) accepted.message = truncateBytes(wanted.message, maxMessageBytes);
  if (wanted.conditions) accepted.conditions = wanted.conditions.map(limitCondition);
  return accepted;
}

interface Succession {
  readonly before: ContainerStatus | undefined;
  readonly status: ContainerStatus;
}

/** The reported status, if the container has ended for good and the wanted status contradicts that. */
function keepsEnd(spec: Pod["spec"], list: StatusList, { before, status }: Succession): ContainerStatus | undefined {
  if (!before || status.state.terminated) return undefined;
  return hasEndedForGood(spec, list, before) ? before : undefined;
}

function limitContainer(status: ContainerStatus, maxBytes: number): ContainerStatus {
  const state = limitState(status.state, maxBytes);
  const lastState = limitState(status.lastState, maxBytes);
  return state === status.state && lastState === status.lastState ? status : { ...status, state, lastState };
}

function limitState(state: ContainerState, maxBytes: number): ContainerState {
  const { terminated, waiting } = state;
  if (isLong(terminated?.message, maxBytes) && terminated) {
    return { ...state, terminated: { ...terminated, message: truncateBytes(terminated.message ?? "", maxBytes) } };
  }
  if (isLong(waiting?.message, maxBytes) && waiting) {
    return { ...state, waiting: { ...waiting, message: truncateBytes(waiting.message ?? "", maxBytes) } };
  }
  return state;
}

const isLong = (text: string | undefined, maxBytes: number): boolean =>
  text !== undefined && truncateBytes(text, maxBytes) !== text;

const limitCondition = (condition: PodCondition): PodCondition =>
  condition.message !== undefined && isLong(condition.message, maxMessageBytes)
    ? { ...condition, message: truncateBytes(condition.message, maxMessageBytes) }
    : condition;

function acceptedAddresses({ podIPs, podIP }: PodStatus): Pick<PodStatus, "podIPs" | "podIP"> {
  if (!podIPs) return podIP === undefined ? {} : { podIP };
  const valid = podIPs.filter(({ ip }) => ipFault(ip) === undefined);
  const first = valid.filter(({ ip }, at) => valid.findIndex((other) => ipFamily(other.ip) === ipFamily(ip)) === at);
  return first.length === podIPs.length ? {} : { podIPs: first, podIP: first[0]?.ip ?? "" };
}
