import { ResourceClaim } from "#api/devices/resource-claim.ts";
import { type Clock } from "#lib/async/clock.ts";
import { type Informers } from "#runtime/informer.ts";
import { readinessOf } from "./binding-conditions.ts";

interface WaitDeps {
  readonly informers: Informers;
  readonly clock: Clock;
  readonly bindingTimeoutMs: number;
}

/** Waits until the drivers say that the devices of all claims are ready. Rejects if one of them fails or it takes too long. */
export async function waitUntilReady(
  { informers, clock, bindingTimeoutMs }: WaitDeps,
  claims: readonly ResourceClaim[],
  signal: AbortSignal,
): Promise<void> {
  const done = Promise.withResolvers<void>();
  const waiting = new Set(claims.map(({ metadata }) => metadata.uid));
  const look = (claim: ResourceClaim): void => {
    const { uid } = claim.metadata;
    if (!waiting.has(uid)) return;
    const readiness = readinessOf(claim);
    if (typeof readiness === "string") done.reject(new Error(readiness));
    else if (readiness && claim.status.allocation) waiting.delete(uid);
    if (waiting.size === 0) done.resolve();
  };
  const abort = (): void => done.reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  const stopTimer = clock.after(bindingTimeoutMs, () => done.reject(new Error("device binding timeout")));
  const unsubscribe = informers.of(ResourceClaim).subscribe(({ type, object }) => {
    const { uid, name } = object.metadata;
    if (type === "put") look(object);
    else if (waiting.has(uid)) done.reject(new Error(`resourceclaim.resource.k8s.io "${name}" not found`));
  });
  try {
    signal.throwIfAborted();
    await done.promise;
  } finally {
    unsubscribe();
    stopTimer();
    signal.removeEventListener("abort", abort);
  }
}
