import type { Pod } from "#api/core/pod.ts";
import type { PodTrace } from "#kubelet/pod/effects/pod-hops.ts";
import type { StatusInput } from "#kubelet/pod/plan/container-status.ts";
import type { PodFacts } from "#kubelet/pod/plan/pod-facts.ts";
import { mayRun, type PodView } from "#kubelet/pod/plan/pod-view.ts";
import type { Allocation } from "#kubelet/pod/plan/resize.ts";
import type { PodProbes } from "#kubelet/probes/pod-probes.ts";
import { type PodDeps, podEvent } from "../pod-deps.ts";
import { acceptedStatus } from "./accepted-status.ts";
import { podStatus } from "./pod-status.ts";
import { StatusWriter } from "./status-writer.ts";

export interface ReporterContext {
  readonly deps: PodDeps;
  readonly facts: PodFacts;
  readonly probes: PodProbes;
  readonly allocation: Allocation;
  readonly trace: PodTrace;
  /** Everything that is currently known about the pod. */
  view(): PodView;
  /** The API has a newer version of the pod. */
  seen(pod: Pod): void;
}

/** Reports the state of one pod, within what the API accepts. */
export function createStatusWriter(context: ReporterContext): StatusWriter {
  const { deps, trace, view, seen } = context;
  const { pods: objects, clock, log } = deps;
  return new StatusWriter({
    objects,
    clock,
    log,
    pod: () => view().pod,
    render: (newest) => acceptedStatus(newest, podStatus(statusInput(context, newest))),
    seen,
    refused: (message) => podEvent(deps, view().pod, "Warning", "StatusRefused", message),
    trace: () => trace.cause,
  });
}

function statusInput({ deps, facts, probes, allocation, view }: ReporterContext, pod: Pod): StatusInput {
  const known = view();
  const isLive = known.life.phase === "admitting" || known.life.phase === "running";
  return {
    ...facts.records.state,
    pod,
    previous: pod.status,
    waiting: facts.waiting,
    probes,
    hostIps: deps.hostIps,
    hasEnded: !isLive && !mayRun(known),
    mayRun: mayRun(known),
    verdict: known.verdict,
    resize: allocation.state,
    runtimeName: deps.runtimeName,
    now: known.now,
  };
}
