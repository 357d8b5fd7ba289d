import { ValidatingAdmissionPolicy } from "#api/admissionregistration/validating-admission-policy.ts";
import { type Client } from "#client/client.ts";
import { type Clock } from "#lib/async/clock.ts";
import { isAbort } from "#lib/async/tasks.ts";
import { type Log } from "#lib/process/log.ts";
import { type Informers } from "#runtime/informer.ts";
import { type RunDeps } from "#runtime/run-reconciler.ts";
import { type ResourceRegistry } from "#server/registry.ts";

export interface FollowPoliciesDeps extends Pick<RunDeps, "onQueue"> {
  readonly informers: Informers;
  readonly resources: ResourceRegistry;
  readonly clock: Clock;
  readonly log: Log;
  /** Acts as the server itself. */
  readonly client: Client;
}

/** Checks the types of policies until it is disposed of. The code for it is loaded with the first policy. */
export function followPolicies(deps: FollowPoliciesDeps): AsyncDisposable {
  const stop = new AbortController();
  let running: Promise<void> | undefined;
  const run = async (): Promise<void> => {
    try {
      const { runTypeController } = await import("./type-controller.ts");
      await runTypeController(deps, stop.signal);
    } catch (error) {
      if (!isAbort(error, stop.signal)) deps.log.error("types of policies are no longer checked", { error });
    }
  };
  const unsubscribe = deps.informers.of(ValidatingAdmissionPolicy).subscribe(() => {
    running ??= run();
  });
  return {
    async [Symbol.asyncDispose]() {
      unsubscribe();
      stop.abort(new Error("the server ends"));
      await running;
    },
  };
}
