import { type APIService } from "#api/apiregistration/api-service.ts";
import { type Change } from "#runtime/informer.ts";
import { runReconcilers } from "#runtime/run-reconciler.ts";
import { availabilityController } from "./availability-controller.ts";
import { discoveryController } from "./discovery-controller.ts";
import { type FollowDeps } from "./follow-api-services.ts";
import { forward } from "./forward.ts";
import { RemoteApis } from "./remote-apis.ts";

/** The groups of other servers, and the controller that says whether they are available. */
export function openAggregator(deps: FollowDeps) {
  const apis = new RemoteApis(deps);
  deps.routes.open({
    has: (group, version) => apis.find(group, version) !== undefined,
    get generation() {
      return apis.generation;
    },
    versions: () => apis.versions(),
    async forward(context, group, version) {
      const api = apis.find(group, version);
      if (!api) throw new Error(`no server for ${group}/${version}`);
      return await forward(deps, api, context);
    },
  });
  return {
    take({ type, object }: Change<APIService>): void {
      if (type === "delete") apis.delete(object.metadata.name);
      else apis.put(object);
    },
    run: (signal: AbortSignal) =>
      runReconcilers(
        [availabilityController({ apis, metrics: deps.metrics }), discoveryController({ apis })],
        { ...deps, component: "apiregistration" },
        signal,
      ),
  };
}
