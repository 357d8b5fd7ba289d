import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { usageKinds } from "#api/metrics/usage-metrics.ts";
import { groupResource, type Resource } from "#api/resource.ts";
import { type Clock } from "#lib/async/clock.ts";
import { type Log } from "#lib/process/log.ts";
import { type Informers } from "#runtime/informer.ts";
import { type Endpoint } from "./dispatch.ts";
import { type Objects } from "./objects/objects.ts";
import type { UsageService } from "./usage/usage-endpoints.ts";
import type { ReadNodeMetrics } from "./usage/usage-scraper.ts";

/** Serves `metrics.k8s.io`, unless an APIService names another server for it, such as upstream's metrics server. */
export interface NodeUsage extends AsyncDisposable {
  readonly kinds: readonly Resource[];
  /** By `plural.group`. */
  readonly computed: ReadonlyMap<string, Endpoint>;
}

export interface NodeUsageOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Reads what nodes report about their usage. Without it, `metrics.k8s.io` is not served. */
  nodeMetrics?(objects: Objects): Promise<ReadNodeMetrics>;
}

export interface NodeUsageDeps {
  readonly objects: Objects;
  readonly informers: Informers;
}

/** The code is loaded for the first reader. */
export function openNodeUsage(
  { nodeMetrics, clock, log }: NodeUsageOptions,
  { objects, informers }: NodeUsageDeps,
): NodeUsage {
  if (!nodeMetrics) return { kinds: [], computed: new Map(), async [Symbol.asyncDispose]() {} };
  let service: Promise<UsageService> | undefined;
  const open = async (): Promise<UsageService> => {
    const { openUsageService } = await import("./usage/usage-endpoints.ts");
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
  return {
    kinds: usageKinds,
    computed: new Map(names.map((name) => [name, endpointOf(name)])),
    async [Symbol.asyncDispose]() {
      await (await service)?.[Symbol.asyncDispose]();
    },
  };
}
