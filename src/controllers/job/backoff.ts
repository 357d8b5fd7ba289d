import { type Pod } from "#api/core/pod.ts";
import { endedAtMs, failuresBefore } from "./job-pod.ts";

const firstDelayMs = 10_000;
const longestDelayMs = 600_000;

/** How long the next pod waits after so many failures in a row. The delay doubles with each of them. */
function remainingMs(failures: number, lastFailureMs: number, nowMs: number): number {
  if (failures === 0) return 0;
  const delayMs = Math.min(firstDelayMs * 2 ** (failures - 1), longestDelayMs);
  return Math.max(0, lastFailureMs + delayMs - nowMs);
}

/** Failures since the last success, read from the pods that are still there, so that nothing must be remembered. */
export function backoffMs(
  { succeeded, failed }: { readonly succeeded: readonly Pod[]; readonly failed: readonly Pod[] },
  nowMs: number,
): number {
  let lastSuccessMs = -Infinity;
  for (const pod of succeeded) lastSuccessMs = Math.max(lastSuccessMs, endedAtMs(pod));
  let failures = 0;
  let lastFailureMs = -Infinity;
  for (const pod of failed) {
    const endMs = endedAtMs(pod);
    if (endMs <= lastSuccessMs) continue;
    failures++;
    lastFailureMs = Math.max(lastFailureMs, endMs);
  }
  return remainingMs(failures, lastFailureMs, nowMs);
}

/** The backoff of one index, after the pod of it that failed last. */
export function indexBackoffMs(lastFailed: Pod | undefined, nowMs: number): number {
  if (!lastFailed) return 0;
  const { counted, ignored } = failuresBefore(lastFailed);
  return remainingMs(counted + ignored + 1, endedAtMs(lastFailed), nowMs);
}
