import type { AnyContainer } from "#api/core/pod/pod-containers.ts";
import type { Pod } from "#api/core/pod.ts";
import type { ImageVolumes } from "#kubelet/pod/containers/image-volumes.ts";
import type { PodFacts } from "#kubelet/pod/plan/pod-facts.ts";
import type { Allocation } from "#kubelet/pod/plan/resize.ts";
import type { PodProbes } from "#kubelet/probes/pod-probes.ts";
import type { CheckTarget } from "#kubelet/probes/run-probe.ts";
import type { PodDeps } from "../pod-deps.ts";
import type { PodTrace } from "./pod-hops.ts";

/** What the steps of one pod need. */
export interface EffectContext {
  readonly deps: PodDeps;
  readonly facts: PodFacts;
  readonly trace: PodTrace;
  readonly probes: PodProbes;
  readonly allocation: Allocation;
  readonly imageVolumes: ImageVolumes;
  /** Fires when the pod is to end: pulls and postStart hooks are abandoned. */
  readonly starting: AbortSignal;
  /** The newest version of the pod. */
  pod(): Pod;
  /** Resolves when the status is written or refused. */
  statusWritten(): Promise<void>;
}

/** A container as hooks and probes address it. */
export function targetOf(
  { deps, facts, pod }: Pick<EffectContext, "deps" | "facts" | "pod">,
  container: AnyContainer,
  containerId: string,
): CheckTarget {
  const now = pod();
  const [podIp = ""] = now.spec.hostNetwork ? deps.hostIps : (facts.records.state.sandbox?.ips ?? []);
  return { pod: now, container, containerId, podIp };
}
