import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { usageKinds } from "#api/metrics/usage-metrics.ts";
import { groupResource, type Resource } from "#api/resource.ts";
import { type Informers } from "#runtime/informer.ts";
import { type Endpoint } from "#server/dispatch.ts";
import { type Objects } from "#server/objects/objects.ts";
import type { UsageService } from "#server/usage/usage-endpoints.ts";
import type { ReadNodeMetrics } from "#server/usage/usage-scraper.ts";
import type { AssembleOptions } from "./api-server.ts";

/** Serves `metrics.k8s.io`. The code is loaded for the first reader. */
export interface NodeUsage extends AsyncDisposable {
  readonly kinds: readonly Resource[];
  readonly endpoints: ReadonlyMap<string, Endpoint>;
}

export function openNodeUsage(
  { nodeMetrics, clock, log }: AssembleOptions,
  { objects, informers }: { readonly objects: Objects; readonly informers: Informers },
): NodeUsage {
  let service: Promise<UsageService> | undefined;
  const open = async (): Promise<UsageService> => {
    const { openUsageService } = await import("#server/usage/usage-endpoints.ts");
    const read = (await nodeMetrics?.(objects)) ?? noMetrics;
    return openUsageService({ nodes: informers.of(Node), pods: informers.of(Pod), clock, log, read });
  };
  const kinds = nodeMetrics ? usageKinds : [];
  const endpointOf =
    (name: string): Endpoint =>
    async (context, resource) => {
      service ??= open();
      const { endpoints } = await service;
      const endpoint = endpoints.get(name);
      if (!endpoint) throw new Error(`no endpoint for ${name}`);
      return await endpoint(context, resource);
    };
  return {
    kinds,
    endpoints: new Map(kinds.map((kind) => groupResource(kind, kind.plural)).map((name) => [name, endpointOf(name)])),
    async [Symbol.asyncDispose]() {
      await (await service)?.[Symbol.asyncDispose]();
    },
  };
}

const noMetrics: ReadNodeMetrics = async () => (async function* () {})();
