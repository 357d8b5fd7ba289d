import type { CheckTarget } from "#kubelet/probes/run-probe.ts";
import { withDeadline } from "#lib/async/deadline.ts";
import { neverAborted } from "#lib/async/tasks.ts";
import { containerEvent, type PodDeps } from "../pod-deps.ts";
import { runHook } from "./lifecycle-hooks.ts";

/** Even a container with no grace period gets this long. */
const minGraceMs = 2000;

export interface KillRequest {
  readonly graceMs: number;
  /** Whether the preStop hook runs first; `skip` if it has run already. */
  readonly hook: "run" | "skip";
  readonly message?: string | undefined;
  /** Fires when the container has ended, so that the hook can be abandoned. */
  readonly signal: AbortSignal;
}

/** Stops one container: its hook, then the signal, all within the grace period. Resolves when it has ended. */
export async function killContainer(deps: PodDeps, target: CheckTarget, request: KillRequest): Promise<void> {
  const { graceMs, hook, signal } = request;
  const { pod, container, containerId } = target;
  const message = request.message ?? `Stopping container ${container.name}`;
  containerEvent(deps, pod, container.name, { type: "Normal", reason: "Killing", message });
  const deadline = deps.clock.now() + graceMs;
  if (hook === "run" && graceMs > 0) await runPreStop(deps, target, { timeoutMs: graceMs, signal });
  await deps.runtime.stopContainer(containerId, Math.max(minGraceMs, deadline - deps.clock.now()));
}

export interface PreStopLimits {
  readonly timeoutMs: number;
  /** Fires when the container has ended. */
  readonly signal: AbortSignal;
}

/** Runs the preStop hook of a container, if it has one. A hook that fails or takes too long does not delay the stop. */
export async function runPreStop(deps: PodDeps, target: CheckTarget, limits: PreStopLimits): Promise<void> {
  const { clock, runtime, host } = deps;
  const { pod, container } = target;
  const { timeoutMs, signal } = limits;
  const hook = container.lifecycle?.preStop;
  if (!hook || signal.aborted) return;
  await withDeadline(timeoutMs, { clock, signal: neverAborted }, async (late) => {
    const stop = AbortSignal.any([late, signal]);
    try {
      await runHook({ runtime, network: host.network }, target, hook, { clock, signal: stop, timeoutMs });
    } catch (error) {
      if (stop.aborted) return;
      deps.log.debug("preStop hook failed", { pod: pod.metadata.name, container: container.name, error });
      const failed = { type: "Warning", reason: "FailedPreStopHook", message: "PreStopHook failed" } as const;
      containerEvent(deps, pod, container.name, failed);
    }
  });
}
