import { type APIService } from "#api/apiregistration/api-service.ts";
import { type Change } from "#runtime/informer.ts";
import { runReconcilers } from "#runtime/run-reconciler.ts";
import { availabilityController } from "./availability-controller.ts";
import { discoveryController } from "./discovery-controller.ts";
import { type FollowDeps } from "./follow-api-services.ts";
import { forward } from "./forward.ts";
import { RemoteApis } from "./remote-apis.ts";
import { remoteKinds } from "./remote-kinds.ts";

/** The groups of other servers, and the controller that says whether they are available. */
export function openAggregator(deps: FollowDeps) {
  const apis = new RemoteApis(deps);
  deps.routes.open({
    has: (group, version) => apis.find(group, version) !== undefined,
    get generation() {
      return apis.generation;
    },
    versions: () => apis.versions(),
    kinds: onceFor(
      () => apis.generation,
      () => remoteKinds(apis.versions(), priorityOf(apis)),
    ),
    subscribe: (handler) => apis.subscribe(handler),
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

const priorityOf =
  (apis: RemoteApis) =>
  ({ group, version }: { readonly group: string; readonly version: string }): number =>
    apis.find(group, version)?.object.spec.versionPriority ?? 0;

/** Made again only after a change: readers compare Resources by identity. */
function onceFor<V>(generation: () => number, make: () => V): () => V {
  let made: { readonly generation: number; readonly value: V } | undefined;
  return () => {
    if (made?.generation !== generation()) made = { generation: generation(), value: make() };
    return made.value;
  };
}
