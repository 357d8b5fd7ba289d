import type { LifecycleHandler } from "#api/core/container/probe.ts";
import { podFullName } from "#kubelet/config/runtime-labels.ts";
import type { HttpCheck } from "#kubelet/probes/network.ts";
import { type CheckDeps, type CheckTarget, httpCheck } from "#kubelet/probes/run-probe.ts";
import type { Clock } from "#lib/async/clock.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { containerEvent, type PodDeps } from "../pod-deps.ts";

export interface HookLimits {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly timeoutMs?: number;
}

const httpTimeoutMs = 30_000;

/** Runs a postStart or preStop handler. Rejects if it fails. */
export async function runHook(
  deps: CheckDeps,
  target: CheckTarget,
  handler: LifecycleHandler,
  limits: HookLimits,
): Promise<void> {
  const where = `for Container "${target.container.name}" in Pod "${podFullName(target.pod)}" failed - error:`;
  if (handler.exec) {
    const { command = [] } = handler.exec;
    const { signal, timeoutMs } = limits;
    const options = timeoutMs === undefined ? { signal } : { signal, timeoutMs };
    const { exitCode } = await deps.runtime.execSync(target.containerId, command, options);
    if (exitCode === 0) return;
    // The hook's output may be long or secret, and everybody who may read pods can read a status.
    throw new Error(`Exec lifecycle hook ${where} the command exited with ${exitCode}`);
  }
  if (handler.httpGet) {
    const fault = await askHttp(deps, httpCheck(handler.httpGet, target, "lifecycle"), limits);
    if (fault !== undefined) throw new Error(`HTTP lifecycle hook (${handler.httpGet.path}) ${where} ${fault}`);
    return;
  }
  if (handler.sleep) {
    await limits.clock.sleep(handler.sleep.seconds * 1000, limits.signal);
    return;
  }
  throw new Error("Cannot run handler: invalid handler");
}

/** Runs a container's postStart hook. Resolves with the error, if there is one. */
export async function runPostStart(
  deps: PodDeps,
  target: CheckTarget,
  signal: AbortSignal,
): Promise<string | undefined> {
  const hook = target.container.lifecycle?.postStart;
  if (!hook) return undefined;
  const { runtime, host, clock } = deps;
  try {
    await runHook({ runtime, network: host.network }, target, hook, { clock, signal });
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    const failed = { type: "Warning", reason: "FailedPostStartHook", message: "PostStartHook failed" } as const;
    containerEvent(deps, target.pod, target.container.name, failed);
    return messageOf(error);
  }
}

/** Any HTTP answer counts as success: the hook only notifies the container. */
async function askHttp(
  deps: CheckDeps,
  check: HttpCheck,
  { clock, signal, timeoutMs }: HookLimits,
): Promise<string | undefined> {
  const limits = { clock, signal, timeoutMs: timeoutMs ?? httpTimeoutMs };
  const { result, status, output } = await deps.network.http(check, limits);
  if (result !== "failure" || status !== undefined) return undefined;
  const isPlain = check.scheme === "HTTPS" && output.includes("server gave HTTP response to HTTPS client");
  return isPlain ? await askHttp(deps, { ...check, scheme: "HTTP" }, { clock, signal }) : output;
}
