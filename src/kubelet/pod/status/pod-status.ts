import type { Container } from "#api/core/container/container.ts";
import { isSidecar, podRequests } from "#api/core/pod/pod-resources.ts";
import { isFinalPhase } from "#api/core/pod/pod-state.ts";
import type { ContainerStatus, PodCondition, PodStatus } from "#api/core/pod/pod-status.ts";
import { mayRestart } from "#api/core/pod/validate/validate-pod-status.ts";
import type { Pod } from "#api/core/pod.ts";
import { containerStatuses, type StatusInput } from "#kubelet/pod/plan/container-status.ts";
import { isUsable } from "#kubelet/pod/plan/plan-containers.ts";
import { timestamp } from "#lib/async/clock.ts";

type Phase = NonNullable<PodStatus["phase"]>;

/** Computes the status from a pod's containers, probes and history. Pure: the same input gives the same status. */
export function podStatus(input: StatusInput): PodStatus {
  const { pod, previous } = input;
  if (wasRejected(input)) return rejectedStatus(input);
  const init = containerStatuses(input, "initContainers");
  const main = containerStatuses(input, "containers");
  const ephemeral = containerStatuses(input, "ephemeralContainers");
  const phase = nextPhase(input, [...init, ...main]);
  const verdict = phase === "Failed" ? input.verdict : undefined;
  const { reason, message } = verdict ?? (phase === previous.phase ? previous : {});
  return {
    ...keptFields(previous),
    phase,
    conditions: conditionsOf(input, phase, [...init, ...main]),
    ...(reason ? { reason } : {}),
    ...(message ? { message } : {}),
    ...addressesOf(input),
    startTime: previous.startTime ?? timestamp(input.now),
    ...(pod.metadata.generation ? { observedGeneration: pod.metadata.generation } : {}),
    ...allocated(pod),
    ...(init.length > 0 ? { initContainerStatuses: init } : {}),
    containerStatuses: main,
    ...(ephemeral.length > 0 ? { ephemeralContainerStatuses: ephemeral } : {}),
  };
}

/** Rejected now or by an earlier kubelet, which shows in what the status lacks. */
const wasRejected = ({ verdict, previous, containers }: StatusInput): boolean =>
  verdict?.isRejection ?? (previous.phase === "Failed" && !previous.containerStatuses && containers.length === 0);

function rejectedStatus({ pod, previous, verdict, now }: StatusInput): PodStatus {
  const { reason, message } = verdict ?? previous;
  const isKept = ({ type }: PodCondition) => type === "PodScheduled" || !ownConditions.has(type);
  const conditions = (previous.conditions ?? []).filter(isKept);
  return {
    ...keptFields(previous),
    phase: "Failed",
    ...(conditions.length > 0 ? { conditions } : {}),
    ...(reason ? { reason } : {}),
    ...(message ? { message } : {}),
    startTime: previous.startTime ?? timestamp(now),
    ...(pod.metadata.generation ? { observedGeneration: pod.metadata.generation } : {}),
  };
}

/** Fields that others write or that never change. */
function keptFields({ qosClass, nominatedNodeName, resize, resourceClaimStatuses, ...rest }: PodStatus): PodStatus {
  const { extendedResourceClaimStatus, nodeAllocatableResourceClaimStatuses } = rest;
  return {
    ...(qosClass ? { qosClass } : {}),
    ...(nominatedNodeName ? { nominatedNodeName } : {}),
    ...(resize ? { resize } : {}),
    ...(resourceClaimStatuses ? { resourceClaimStatuses } : {}),
    ...(extendedResourceClaimStatus ? { extendedResourceClaimStatus } : {}),
    ...(nodeAllocatableResourceClaimStatuses ? { nodeAllocatableResourceClaimStatuses } : {}),
  };
}

function allocated({ spec }: Pod): PodStatus {
  const requests = podRequests(spec);
  return {
    ...(Object.keys(requests).length > 0 ? { allocatedResources: requests } : {}),
    ...(spec.resources ? { resources: spec.resources } : {}),
  };
}

function addressesOf({ pod, previous, sandbox, hostIps }: StatusInput): PodStatus {
  const own = sandbox?.ips ?? [];
  const before = (previous.podIPs ?? []).map(({ ip }) => ip);
  // An ended pod keeps showing its address.
  const ips = pod.spec.hostNetwork ? hostIps : own.length > 0 ? own : before;
  const [hostIP] = hostIps;
  const [podIP] = ips;
  return {
    ...(hostIP ? { hostIP, hostIPs: hostIps.map((ip) => ({ ip })) } : {}),
    ...(podIP ? { podIP, podIPs: ips.map((ip) => ({ ip })) } : {}),
  };
}

/** A pod never leaves a final phase, and does not enter one while something of it may run. */
function nextPhase(input: StatusInput, statuses: readonly ContainerStatus[]): Phase {
  const { pod, previous, verdict, mayRun } = input;
  for (const before of [previous.phase, pod.status.phase]) if (before && isFinalPhase(before)) return before;
  const phase = verdict ? "Failed" : phaseOf(input, statuses);
  return isFinalPhase(phase) && mayRun ? (previous.phase ?? "Pending") : phase;
}

/** What one container's status means for the phase. A container that waits for its restart has ended. */
type Standing =
  | { readonly is: "running" | "waiting" | "unknown" }
  | { readonly is: "ended"; readonly exitCode: number };

function standingOf(status: ContainerStatus | undefined): Standing {
  const { running, terminated, waiting } = status?.state ?? {};
  if (running) return { is: "running" };
  if (terminated) return { is: "ended", exitCode: terminated.exitCode };
  const last = waiting && status?.lastState.terminated;
  if (last) return { is: "ended", exitCode: last.exitCode };
  return { is: waiting ? "waiting" : "unknown" };
}

function phaseOf(input: StatusInput, statuses: readonly ContainerStatus[]): Phase {
  const { spec } = input.pod;
  const statusOf = (name: string) => statuses.find((status) => status.name === name);
  const inits = spec.initContainers ?? [];
  const isStuck = (container: Container, standing: Standing): boolean =>
    standing.is === "ended" && !mayRestart(container, spec, standing.exitCode);
  const steps = inits.filter((container) => !isSidecar(container));
  const stepStandings = steps.map((container) => ({ container, standing: standingOf(statusOf(container.name)) }));
  if (stepStandings.some(({ container, standing }) => failed(standing) && isStuck(container, standing)))
    return "Failed";
  const sidecars = inits.filter(isSidecar).map(({ name }) => statusOf(name));
  const main = spec.containers.map((container) => ({ container, standing: standingOf(statusOf(container.name)) }));
  const hasBegun = main.some(({ standing }) => standing.is === "running" || standing.is === "ended");
  const pendingSteps = stepStandings.some(({ standing }) => standing.is !== "ended");
  const pendingSidecars = sidecars.some((status) => {
    const { is } = standingOf(status);
    return is === "running" ? !status?.started : is !== "ended";
  });
  if (pendingSteps || (pendingSidecars && !hasBegun)) return "Pending";
  const all = [...sidecars.map(standingOf), ...main.map(({ standing }) => standing)];
  if (all.some(({ is }) => is === "waiting" || is === "unknown")) return "Pending";
  if (all.some(({ is }) => is === "running")) return "Running";
  if (main.length === 0) return "Pending";
  const restarts = main.some(({ container, standing }) => !isStuck(container, standing));
  if (restarts && !input.hasEnded) return "Running";
  return main.some(({ standing }) => failed(standing)) ? "Failed" : "Succeeded";
}

const failed = (standing: Standing): boolean => standing.is === "ended" && standing.exitCode !== 0;

type Draft = Pick<PodCondition, "type" | "status" | "reason" | "message" | "observedGeneration">;

const ownConditions = new Set([
  "PodScheduled",
  "Ready",
  "Initialized",
  "ContainersReady",
  "PodReadyToStartContainers",
  "PodResizePending",
  "PodResizeInProgress",
]);

function conditionsOf(input: StatusInput, phase: Phase, statuses: readonly ContainerStatus[]): PodCondition[] {
  const { pod, previous, now } = input;
  const disruption = disruptionOf(input);
  const others = (pod.status.conditions ?? []).filter(
    ({ type }) => !ownConditions.has(type) && !disruption.some((own) => own.type === type),
  );
  const containersReady = containersReadyOf(pod, phase, statuses);
  const drafts: Draft[] = [
    ...disruption,
    ...resizeConditions(input),
    { type: "PodReadyToStartContainers", status: isUsable(pod, input.sandbox) ? "True" : "False" },
    initializedOf(pod, phase, statuses),
    readyOf(pod, containersReady, others),
    { ...containersReady, type: "ContainersReady" },
    { type: "PodScheduled", status: "True" },
  ];
  const own = drafts.map((draft): PodCondition => {
    const before = previous.conditions?.find(({ type }) => type === draft.type);
    const same = before?.status === draft.status && before.lastTransitionTime !== undefined;
    return {
      ...draft,
      lastTransitionTime: same && before.lastTransitionTime ? before.lastTransitionTime : timestamp(now),
      ...(pod.metadata.generation ? { observedGeneration: draft.observedGeneration ?? pod.metadata.generation } : {}),
    };
  });
  return [...others, ...own];
}

/** The failure of a pod that had to make room is not its own fault. */
function disruptionOf({ verdict }: StatusInput): Draft[] {
  if (!verdict?.isDisruption) return [];
  const { message } = verdict;
  return [{ type: "DisruptionTarget", status: "True", reason: "TerminationByKubelet", message }];
}

/** Present only during a resize. */
function resizeConditions({ resize = {} }: StatusInput): Draft[] {
  const { pending, progress } = resize;
  const drafts: Draft[] = [];
  if (pending) {
    const { reason, message, generation } = pending;
    drafts.push({ type: "PodResizePending", status: "True", reason, message, observedGeneration: generation });
  }
  if (progress) {
    const { generation, error } = progress;
    const fault = error ? { reason: "Error", message: error } : {};
    drafts.push({ type: "PodResizeInProgress", status: "True", ...fault, observedGeneration: generation });
  }
  return drafts;
}

/** As Go prints a list. */
const listed = (names: readonly string[]): string => `[${names.join(" ")}]`;

function containersReadyOf({ spec }: Pod, phase: Phase, statuses: readonly ContainerStatus[]): Draft {
  const type = "ContainersReady";
  if (phase === "Failed") return { type, status: "False", reason: "PodFailed" };
  if (phase === "Succeeded") return { type, status: "False", reason: "PodCompleted" };
  const wanted = [...(spec.initContainers ?? []).filter(isSidecar), ...spec.containers].map(({ name }) => name);
  const unready = wanted.filter((name) => !statuses.find((status) => status.name === name)?.ready);
  if (unready.length === 0) return { type, status: "True" };
  const message = `containers with unready status: ${listed(unready)}`;
  return { type, status: "False", reason: "ContainersNotReady", message };
}

function readyOf({ spec }: Pod, containersReady: Draft, others: readonly PodCondition[]): Draft {
  if (containersReady.status !== "True") return { ...containersReady, type: "Ready" };
  const missing = (spec.readinessGates ?? []).flatMap(({ conditionType }) => {
    const gate = others.find(({ type }) => type === conditionType);
    const name = JSON.stringify(conditionType);
    if (!gate) return [`corresponding condition of pod readiness gate ${name} does not exist.`];
    return gate.status === "True" ? [] : [`the status of pod readiness gate ${name} is not "True", but ${gate.status}`];
  });
  if (missing.length === 0) return { type: "Ready", status: "True" };
  return { type: "Ready", status: "False", reason: "ReadinessGatesNotReady", message: missing.join(", ") };
}

function initializedOf({ spec }: Pod, phase: Phase, statuses: readonly ContainerStatus[]): Draft {
  const type = "Initialized";
  if (phase === "Succeeded") return { type, status: "True", reason: "PodCompleted" };
  const statusOf = (name: string) => statuses.find((status) => status.name === name);
  const hasBegun = spec.containers.some(({ name }) => {
    const { state, lastState } = statusOf(name) ?? {};
    return state?.running ?? state?.terminated ?? lastState?.terminated;
  });
  const open = (spec.initContainers ?? []).filter((container) => {
    const status = statusOf(container.name);
    return !(isSidecar(container) ? status?.started : status?.ready);
  });
  if (hasBegun || open.length === 0) return { type, status: "True" };
  const message = `containers with incomplete status: ${listed(open.map(({ name }) => name))}`;
  return { type, status: "False", reason: "ContainersNotInitialized", message };
}
