import { isNotFound } from "#api/status.ts";
import { type Client } from "#client/client.ts";
import { type Clock } from "#lib/async/clock.ts";
import { type Log } from "#lib/process/log.ts";
import { type Metrics } from "#lib/process/metrics.ts";
import { type Informers } from "#runtime/informer.ts";
import { type RunDeps } from "#runtime/run-reconciler.ts";
import { followPolicies } from "#server/admission/policies/types/follow-policies.ts";
import { followApiServices } from "#server/aggregation/follow-api-services.ts";
import { followDefinitions } from "#server/custom/follow-definitions.ts";
import { type Health } from "#server/discovery/health.ts";
import type { ClientIdentity, ResolveService } from "#server/extension/connections.ts";
import { type Objects } from "#server/objects/objects.ts";
import { type ResourceRegistry } from "#server/registry.ts";
import { type RemoteRoutes } from "#server/remote-routes.ts";
import { serviceEndpoint } from "#server/streams/proxy-target.ts";

export interface FollowerDeps extends Pick<RunDeps, "onQueue"> {
  readonly objects: Objects;
  readonly informers: Informers;
  readonly resources: ResourceRegistry;
  readonly remote: RemoteRoutes;
  readonly metrics: Metrics;
  readonly health: Health;
  readonly clock: Clock;
  readonly log: Log;
  /** Acts as the server itself. */
  readonly client: Client;
  /** The certificate by which extension servers know this one. */
  readonly identity?: (() => ClientIdentity) | undefined;
}

/** Starts what makes the server do as stored objects say: custom kinds, other servers, and types of policies. */
export async function startFollowers(deps: FollowerDeps): Promise<AsyncDisposable> {
  const { objects, health, remote, identity, ...own } = deps;
  await using opened = new AsyncDisposableStack();
  const definitionsSeen = health.step("start-apiextensions-controllers", "crd-informer-synced");
  const serversSeen = health.step(
    "apiservice-status-local-available-controller",
    "apiservice-status-remote-available-controller",
    "apiservice-registration-controller",
    "apiservice-discovery-controller",
    "apiservice-openapi-controller",
    "apiservice-openapiv3-controller",
  );
  const resolveService = serviceResolver(objects);
  opened.use(await followDefinitions({ ...own, resolveService, forget: (resource) => objects.forget(resource) }));
  definitionsSeen();
  const servers = { ...own, routes: remote, resolveService, ...(identity ? { identity } : {}) };
  opened.use(await followApiServices(servers));
  serversSeen();
  opened.use(followPolicies(own));
  return opened.move();
}

/** Where webhooks and extension servers of services are. */
export const serviceResolver =
  (objects: Objects): ResolveService =>
  async (service, turn) => {
    try {
      return await serviceEndpoint(objects, service, turn);
    } catch (error) {
      // As upstream's own copy of the services says it, not the API.
      if (isNotFound(error)) throw new Error(`service ${JSON.stringify(service.name)} not found`, { cause: error });
      throw error;
    }
  };
