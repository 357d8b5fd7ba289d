import { CustomResourceDefinition } from "#api/apiextensions/custom-resource-definition.ts";
import { type Resource } from "#api/resource.ts";
import { type Client } from "#client/client.ts";
import { type Clock } from "#lib/async/clock.ts";
import { isAbort } from "#lib/async/tasks.ts";
import { type Log } from "#lib/process/log.ts";
import { type Metrics } from "#lib/process/metrics.ts";
import { type Informers } from "#runtime/informer.ts";
import { type RunDeps } from "#runtime/run-reconciler.ts";
import type { ResolveService } from "../extension/connections.ts";
import { type ResourceRegistry } from "../registry.ts";
import { loadCompiler, loadInTurns } from "./load-in-turns.ts";

export interface FollowDeps extends Pick<RunDeps, "onQueue"> {
  readonly informers: Informers;
  readonly resources: ResourceRegistry;
  readonly clock: Clock;
  readonly log: Log;
  /** Acts as the server itself. */
  readonly client: Client;
  forget(resource: Resource): void;
  readonly metrics: Metrics;
  /** Where a service is that converts objects. */
  readonly resolveService: ResolveService;
}

/**
 * Serves what the definitions describe, until it is disposed of. Most clusters have none: the code for them is loaded
 * with the first one. Resolves when all definitions that exist are served.
 */
export async function followDefinitions(deps: FollowDeps): Promise<AsyncDisposable> {
  const definitions = deps.informers.of(CustomResourceDefinition);
  await definitions.synced();
  const stop = new AbortController();
  let unsubscribe = (): void => {};
  let running: Promise<void> | undefined;
  let loaded: Promise<void> | undefined;
  const load = async (): Promise<void> => {
    await loadCompiler();
    await loadInTurns([() => import("./validate-custom.ts"), () => import("./custom-resource.ts")]);
    const { openCustomKinds } = await import("./open-custom-kinds.ts");
    const opened = openCustomKinds({ ...deps, ended: stop.signal }, definitions);
    unsubscribe();
    unsubscribe = definitions.subscribe(opened.take);
    loaded = opened.run(stop.signal).catch((error: unknown) => {
      if (!isAbort(error, stop.signal)) deps.log.error("custom resource definitions are no longer followed", { error });
    });
  };
  // Those that come before the code is there are not kept: together they would be large, and they are all read then.
  unsubscribe = definitions.subscribe(() => {
    running ??= load();
  });
  await running;
  return {
    async [Symbol.asyncDispose]() {
      stop.abort(new Error("the server ends"));
      await running;
      unsubscribe();
      await loaded;
    },
  };
}
