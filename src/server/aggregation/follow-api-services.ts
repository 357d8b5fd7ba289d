import { APIService, isAvailable } from "#api/apiregistration/api-service.ts";
import { type Client } from "#client/client.ts";
import { type Clock } from "#lib/async/clock.ts";
import { isAbort } from "#lib/async/tasks.ts";
import { type Log } from "#lib/process/log.ts";
import { type Metrics } from "#lib/process/metrics.ts";
import { type Change, type Informers } from "#runtime/informer.ts";
import { type RunDeps } from "#runtime/run-reconciler.ts";
import { type ResourceRegistry } from "../registry.ts";
import { type RemoteRoutes } from "../remote-routes.ts";
import type { RemoteDeps } from "./remote-api.ts";

export interface FollowDeps extends RemoteDeps, Pick<RunDeps, "onQueue"> {
  readonly informers: Informers;
  readonly resources: ResourceRegistry;
  readonly routes: RemoteRoutes;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Acts as the server itself. */
  readonly client: Client;
}

/**
 * Passes requests on to the servers that APIServices name, until it is disposed of. Most clusters have none: the code
 * for them is loaded with the first one. Resolves when those that exist are known.
 */
export async function followApiServices(deps: FollowDeps): Promise<AsyncDisposable> {
  const services = deps.informers.of(APIService);
  await services.synced();
  deps.metrics.read("aggregator_unavailable_apiservice", "APIServices that are not available, by name.", {
    type: "gauge",
    labels: ["name"],
    values: () => services.list().map((one) => [[one.metadata.name], isAvailable(one) ? 0 : 1]),
  });
  const stop = new AbortController();
  const early: Change<APIService>[] = [];
  let loading: Promise<void> | undefined;
  let running: Promise<void> | undefined;
  const load = async (): Promise<void> => {
    const { openAggregator } = await import("./open-aggregator.ts");
    const opened = openAggregator(deps);
    for (const change of early.splice(0)) opened.take(change);
    take = opened.take;
    running = opened.run(stop.signal).catch((error: unknown) => {
      if (!isAbort(error, stop.signal)) deps.log.error("API services are no longer followed", { error });
    });
  };
  let take = (change: Change<APIService>): void => {
    if (loading) return void early.push(change);
    if (change.type === "delete" || !change.object.spec.service) return;
    early.push(change);
    loading = load();
  };
  const unsubscribe = services.subscribe((change) => take(change));
  await loading;
  return {
    async [Symbol.asyncDispose]() {
      unsubscribe();
      stop.abort(new Error("the server ends"));
      await loading;
      await running;
    },
  };
}
