import { APIService } from "#api/apiregistration/api-service.ts";
import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { usageKinds } from "#api/metrics/usage-metrics.ts";
import { groupResource } from "#api/resource.ts";
import { type Informers } from "#runtime/informer.ts";
import { type Endpoint } from "#server/dispatch.ts";
import { type Objects } from "#server/objects/objects.ts";
import { type ResourceRegistry } from "#server/registry.ts";
import type { UsageService } from "#server/usage/usage-endpoints.ts";
import type { AssembleOptions } from "./api-server.ts";

/** Serves `metrics.k8s.io`. */
export interface NodeUsage extends AsyncDisposable {
  /** By `plural.group`. */
  readonly computed: ReadonlyMap<string, Endpoint>;
}

export interface NodeUsageDeps {
  readonly objects: Objects;
  readonly informers: Informers;
  readonly resources: ResourceRegistry;
}

/** Adds the kinds to those that are served. Their code is loaded for the first reader. */
export function openNodeUsage({ nodeMetrics, clock, log }: AssembleOptions, deps: NodeUsageDeps): NodeUsage {
  if (!nodeMetrics) return { computed: new Map(), async [Symbol.asyncDispose]() {} };
  const { objects, informers } = deps;
  let service: Promise<UsageService> | undefined;
  const open = async (): Promise<UsageService> => {
    const { openUsageService } = await import("#server/usage/usage-endpoints.ts");
    const read = await nodeMetrics(objects);
    return openUsageService({ nodes: informers.of(Node), pods: informers.of(Pod), clock, log, read });
  };
  const endpointOf =
    (name: string): Endpoint =>
    async (context, resource) => {
      service ??= open();
      const endpoint = (await service).endpoints.get(name);
      if (!endpoint) throw new Error(`no endpoint for ${name}`);
      return await endpoint(context, resource);
    };
  const names = usageKinds.map((kind) => groupResource(kind, kind.plural));
  const unsubscribe = serveKinds(deps);
  return {
    computed: new Map(names.map((name) => [name, endpointOf(name)])),
    async [Symbol.asyncDispose]() {
      unsubscribe();
      await (await service)?.[Symbol.asyncDispose]();
    },
  };
}

/** Except while an APIService names another server for them, such as upstream's metrics server. */
function serveKinds({ informers, resources }: NodeUsageDeps): () => void {
  const names = new Set(usageKinds.map(({ group, version }) => `${version}.${group}`));
  let isServed = false;
  const serve = (wanted: boolean): void => {
    if (wanted === isServed) return;
    isServed = wanted;
    for (const kind of usageKinds) wanted ? resources.add(kind) : resources.remove(kind);
  };
  serve(true);
  return informers.of(APIService).subscribe(({ type, object: { metadata, spec } }) => {
    if (names.has(metadata.name)) serve(type === "delete" || !spec.service);
  });
}
