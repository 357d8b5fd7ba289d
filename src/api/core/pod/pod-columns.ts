import { age } from "#api/meta/age.ts";
import { ageColumn, column, wide } from "#api/meta/columns.ts";
import { isConditionTrue } from "#api/meta/condition.ts";
import { type Column } from "#api/resource.ts";
import { type PodObject } from "./pod-fields.ts";
import { isSidecar } from "./pod-resources.ts";
import { isFinished } from "./pod-state.ts";
import { type ContainerStateTerminated, type ContainerStatus, type PodStatus } from "./pod-status.ts";

/** A pod in a line of `kubectl get pods`. */
export interface PodSummary {
  readonly ready: number;
  readonly total: number;
  /** One word for the state of the pod: that of the container that matters most. */
  readonly status: string;
  readonly restarts: number;
  readonly lastRestart: string | undefined;
}

export function summarizePod(pod: PodObject): PodSummary {
  const { spec, status } = pod;
  const sidecars = new Set((spec.initContainers ?? []).filter(isSidecar).map(({ name }) => name));
  const total = spec.containers.length + sidecars.size;
  const init = summarizeInit(status, sidecars, spec.initContainers?.length ?? 0);
  const isInitializing = init.reason !== undefined && !isConditionTrue(status.conditions, "Initialized");
  const main = isInitializing ? undefined : summarizeContainers(status, init.reason ?? reasonOf(status));
  const counted = main
    ? [...(status.containerStatuses ?? []), ...init.seen.filter(({ name }) => sidecars.has(name))]
    : init.seen;
  return {
    ready: init.ready + (main?.ready ?? 0),
    total,
    status: endingOf(pod) ?? main?.reason ?? init.reason ?? reasonOf(status),
    restarts: counted.reduce((sum, { restartCount }) => sum + restartCount, 0),
    lastRestart: lastRestartOf(counted),
  };
}

/** What the pod itself says, before its containers are asked. */
function reasonOf({ phase, reason, conditions = [] }: PodStatus): string {
  const isGated = conditions.some(({ type, reason: why }) => type === "PodScheduled" && why === "SchedulingGated");
  return isGated ? "SchedulingGated" : reason || phase || "";
}

/** A pod that is being deleted shows it, unless it is finished. */
function endingOf({ metadata, status }: PodObject): string | undefined {
  if (metadata.deletionTimestamp === undefined) return undefined;
  if (status.reason === "NodeLost") return "Unknown";
  return isFinished({ status }) ? undefined : "Terminating";
}

interface InitSummary {
  /** Absent when nothing is left to be initialized. */
  readonly reason: string | undefined;
  readonly ready: number;
  /** The statuses up to the one that is being waited for. */
  readonly seen: readonly ContainerStatus[];
}

function summarizeInit(
  { initContainerStatuses: statuses = [] }: PodStatus,
  sidecars: ReadonlySet<string>,
  total: number,
): InitSummary {
  let ready = 0;
  for (const [index, status] of statuses.entries()) {
    if (status.state.terminated?.exitCode === 0) continue;
    if (sidecars.has(status.name) && status.started) {
      if (status.ready) ready++;
      continue;
    }
    return { reason: `Init:${initReason(status, `${index}/${total}`)}`, ready, seen: statuses.slice(0, index + 1) };
  }
  return { reason: undefined, ready, seen: statuses };
}

function initReason({ state }: ContainerStatus, progress: string): string {
  if (state.terminated) return endReason(state.terminated);
  const waiting = state.waiting?.reason;
  return waiting && waiting !== "PodInitializing" ? waiting : progress;
}

const endReason = ({ reason, signal, exitCode }: ContainerStateTerminated): string =>
  reason || (signal ? `Signal:${signal}` : `ExitCode:${exitCode}`);

/** The first container that does not simply run gives the reason. */
function summarizeContainers(status: PodStatus, reason: string): { reason: string; ready: number } {
  let shown = reason;
  let failure: string | undefined;
  let ready = 0;
  for (const { state, ready: isReady } of (status.containerStatuses ?? []).toReversed()) {
    if (state.waiting?.reason) shown = state.waiting.reason;
    else if (state.terminated) {
      shown = endReason(state.terminated);
      if (state.terminated.exitCode !== 0) failure = shown;
    } else if (isReady && state.running) ready++;
  }
  if (shown !== "Completed") return { reason: shown, ready };
  if (ready > 0 && isConditionTrue(status.conditions, "Ready")) return { reason: "Running", ready };
  return { reason: failure ?? (ready > 0 ? "NotReady" : shown), ready };
}

function lastRestartOf(statuses: readonly ContainerStatus[]): string | undefined {
  const ends = statuses.flatMap(({ lastState }) => lastState.terminated?.finishedAt ?? []);
  return ends.sort().at(-1);
}

const summaries = new WeakMap<PodObject, PodSummary>();

/** Three columns show parts of one summary; it is made once for each pod. */
function summaryOf(pod: PodObject): PodSummary {
  let summary = summaries.get(pod);
  if (!summary) {
    summary = summarizePod(pod);
    summaries.set(pod, summary);
  }
  return summary;
}

function readinessGates({ spec, status }: PodObject): string {
  const gates = spec.readinessGates ?? [];
  if (gates.length === 0) return "<none>";
  const states = new Map<string, string>();
  for (const { type, status: state } of status.conditions ?? []) if (!states.has(type)) states.set(type, state);
  const passed = gates.filter(({ conditionType }) => states.get(conditionType) === "True");
  return `${passed.length}/${gates.length}`;
}

export const podColumns: readonly Column<PodObject>[] = [
  column("Ready", "Ready and all containers.", (pod) => `${summaryOf(pod).ready}/${summaryOf(pod).total}`),
  column("Status", "State of the pod, as one word.", (pod) => summaryOf(pod).status),
  column("Restarts", "How often containers were restarted, and when last.", (pod, now) => {
    const { restarts, lastRestart } = summaryOf(pod);
    return restarts > 0 && lastRestart ? `${restarts} (${age(lastRestart, now)} ago)` : `${restarts}`;
  }),
  ageColumn,
  wide(column("IP", "Address of the pod.", ({ status }) => status.podIPs?.[0]?.ip || "<none>")),
  wide(column("Node", "Node that the pod runs on.", ({ spec }) => spec.nodeName || "<none>")),
  wide(column("Nominated Node", "Node that makes room.", ({ status }) => status.nominatedNodeName || "<none>")),
  wide(column("Readiness Gates", "Passed and all readiness gates.", readinessGates)),
];
