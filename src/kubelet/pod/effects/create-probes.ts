import type { Pod } from "#api/core/pod.ts";
import type { PodFacts } from "#kubelet/pod/plan/pod-facts.ts";
import { type ContainerRecord, containerNamed, statusNamed } from "#kubelet/pod/plan/pod-state.ts";
import { PodProbes } from "#kubelet/probes/pod-probes.ts";
import { runProbe } from "#kubelet/probes/run-probe.ts";
import { containerEvent, type PodDeps } from "../pod-deps.ts";
import { targetOf } from "./effect-context.ts";

export interface ProbesContext {
  readonly deps: PodDeps;
  pod(): Pod;
  facts(): PodFacts;
  /** A probe's result for a container has changed. */
  changed(): void;
}

/** The probes of one pod's containers, with the pod's current state. */
export function createPodProbes({ deps, pod, facts, changed }: ProbesContext): PodProbes {
  const { runtime, host, clock } = deps;
  return new PodProbes({
    clock,
    async check(id, { kind, probe }, signal) {
      const record = facts().records.get(id);
      const container = record && containerNamed(pod(), record.name);
      if (!container) throw new Error("the container is gone");
      const target = targetOf({ deps, facts: facts(), pod }, container, id);
      const limits = { clock, signal, timeoutMs: probe.timeoutSeconds * 1000 };
      const check = () => runProbe({ runtime, network: host.network }, target, probe, limits);
      return host.probe ? await host.probe({ kind, probe, ...target }, limits, check) : await check();
    },
    changed,
    recordEvent: (container, reason, message) =>
      containerEvent(deps, pod(), container, { type: "Warning", reason, message }),
  });
}

/** Probes containers that an earlier kubelet started. The results in the API hold until a check changes them. */
export function probeFound(probes: PodProbes, pod: Pod, running: readonly ContainerRecord[]): void {
  for (const { id, name, startedAt } of running) {
    const container = containerNamed(pod, name);
    const status = statusNamed(pod, name);
    const known = status ? { known: { started: status.started ?? false, ready: status.ready } } : {};
    if (container) probes.start({ id, container, startedAt, ...known });
  }
}
