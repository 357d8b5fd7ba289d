import { APIService } from "#api/apiregistration/api-service.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { againAfter, type Reconciler, type ReconcilerDeps } from "#runtime/reconciler.ts";
import { type OpenApiPart } from "../remote-routes.ts";
import { type Fetched, fetchDiscovery, fetchOpenApiHash, fetchOpenApiV2 } from "./fetch-discovery.ts";
import { isRemote, type RemoteApis } from "./remote-apis.ts";

/** A server does not tell when it changes. */
const refreshMs = 60_000;
const firstRetryMs = 500;

interface Known {
  readonly uid: string | undefined;
  readonly fetched: Fetched;
  readonly openApiV2: OpenApiPart | undefined;
}

/** Keeps what extension servers say about themselves. What a server that does not answer has said is not shown. */
export const discoveryController =
  ({ apis }: { readonly apis: RemoteApis }) =>
  ({ clock, log }: ReconcilerDeps): Reconciler<APIService> => {
    const known = new Map<string, Known>();
    const retries = new Map<string, number>();
    return {
      name: "apiservice-discovery",
      reconciles: APIService,
      concerns: isRemote,
      workers: 2,

      async reconcile({ metadata: { name, uid } }, signal) {
        const api = apis.get(name);
        if (!api) return undefined;
        const last = known.get(name);
        const before = last?.uid === uid ? last : undefined;
        const deps = { clock, signal };
        try {
          const fetched = await fetchDiscovery(api, before?.fetched, deps);
          retries.delete(name);
          const [openApiHash, openApiV2] = await Promise.all([
            fetchOpenApiHash(api, deps).catch(() => undefined),
            fetchOpenApiV2(api, before?.openApiV2, deps).catch(() => undefined),
          ]);
          known.set(name, { uid, fetched, openApiV2 });
          apis.describe(name, { ...fetched.discovery, openApiHash, openApiV2, isStale: false });
          return againAfter(refreshMs);
        } catch (error) {
          if (signal.aborted) throw error;
          known.delete(name);
          apis.describe(name, { version: api.version, resources: [], isStale: true });
          const retryMs = Math.min(retries.get(name) ?? firstRetryMs, refreshMs);
          if (retryMs === firstRetryMs)
            log.info("an API service cannot be described", { name, error: messageOf(error) });
          retries.set(name, retryMs * 2);
          return againAfter(retryMs);
        }
      },

      async gone({ name }) {
        known.delete(name);
        retries.delete(name);
      },
    };
  };
