import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { formatQuantity, quantityOf } from "#api/meta/quantity.ts";
import { NodeMetrics, PodMetrics } from "#api/metrics/usage-metrics.ts";
import { type ApiObject, apiVersionOf, groupResource, type Resource } from "#api/resource.ts";
import { notFound, StatusError } from "#api/status.ts";
import { timestamp } from "#lib/async/clock.ts";
import { Slice } from "#lib/async/turns.ts";
import { type Informer } from "#runtime/informer.ts";
import { listByLabels } from "#runtime/list-by-labels.ts";
import { formatDuration } from "#schema/duration.ts";
import { type Endpoint } from "#server/dispatch.ts";
import { listRequest, selectionOf } from "#server/endpoints/list-options.ts";
import { codecOf, EncodedObject } from "#server/objects/encode-once.ts";
import { type Answer, type Context } from "#server/request/pipeline.ts";
import { type MeasuredUsage, type PodUsage } from "./usage-history.ts";
import { type ScraperDeps, UsageScraper } from "./usage-scraper.ts";

export interface UsageService extends AsyncDisposable {
  /** By `plural.group`. */
  readonly endpoints: ReadonlyMap<string, Endpoint>;
}

/** `metrics.k8s.io`: what nodes and pods use. */
export function openUsageService(deps: ScraperDeps): UsageService {
  const scraper = new UsageScraper(deps);
  const now = () => timestamp(deps.clock.now());
  const nodes: Computed<Node> = {
    of: Node,
    informer: deps.nodes,
    shownName: ({ metadata }) => `nodemetrics.metrics.k8s.io ${JSON.stringify(metadata.name)}`,
    metricsOf(node) {
      const usage = scraper.nodeUsage(node.metadata.name);
      return usage && { ...headOf(NodeMetrics, node, now()), ...measured(usage), usage: amountsOf(usage) };
    },
  };
  const pods: Computed<Pod> = {
    of: Pod,
    informer: deps.pods,
    shownName: ({ metadata: { namespace, name } }) =>
      `podmetrics.metrics.k8s.io ${JSON.stringify(`${namespace}/${name}`)}`,
    metricsOf(pod) {
      const usage = scraper.podUsage(pod);
      return usage && { ...headOf(PodMetrics, pod, now()), ...measured(usage), containers: containersOf(usage) };
    },
  };
  return {
    endpoints: new Map([
      [groupResource(NodeMetrics, NodeMetrics.plural), endpointFor(scraper, nodes)],
      [groupResource(PodMetrics, PodMetrics.plural), endpointFor(scraper, pods)],
    ]),
    [Symbol.asyncDispose]: () => scraper[Symbol.asyncDispose](),
  };
}

/** A kind whose objects are computed from those of another. */
interface Computed<T extends ApiObject> {
  readonly of: Resource<T>;
  readonly informer: Informer<T>;
  shownName(object: T): string;
  metricsOf(object: T): ApiObject | undefined;
}

const endpointFor =
  <T extends ApiObject>(scraper: UsageScraper, computed: Computed<T>): Endpoint =>
  async (context, resource) => {
    const isList = context.info.verb === "list";
    // Wrong options are refused before anybody is asked.
    const selection = selectionOf(context, resource);
    if (isList) listRequest(context.query);
    const { namespace, name } = context.info;
    if (!isList && !computed.informer.get({ namespace, name })) throw notFound(computed.of, name);
    await scraper.wanted(context.request.signal);
    if (!isList) return readOne(computed, context, resource);
    const { informer } = computed;
    const found = namespace ? listByLabels(informer, namespace, selection.labels) : informer.list();
    const selected = found.filter((object) => selection.matches(object));
    // A caller in this process gets the objects.
    return await listAll(resource, selected, { ...computed, isEncoded: context.request.peer.user === undefined });
  };

function readOne<T extends ApiObject>(computed: Computed<T>, { info }: Context, resource: Resource): Answer {
  const { namespace, name } = info;
  const source = computed.informer.get({ namespace, name });
  if (!source) throw notFound(computed.of, name);
  const object = computed.metricsOf(source);
  if (!object) throw new StatusError("NotFound", `${computed.shownName(source)} not found`, detailsOf(resource, name));
  return { type: "object", status: 200, resource, encoded: encode(resource, object) };
}

const detailsOf = ({ group, kind }: Resource, name: string) => ({ name, group, kind: kind.toLowerCase() });

async function listAll<T extends ApiObject>(
  resource: Resource,
  sources: readonly T[],
  { metricsOf, isEncoded }: Computed<T> & { readonly isEncoded: boolean },
): Promise<Answer> {
  const items: EncodedObject[] = [];
  const slice = new Slice();
  for (const source of sources.toSorted(byName)) {
    if (slice.isOver) await slice.rest();
    const object = metricsOf(source);
    if (!object) continue;
    const encoded = encode(resource, object);
    // Made here, where others get their turn in between.
    if (isEncoded) encoded.json();
    items.push(encoded);
  }
  const list = { resourceVersion: "", continue: "", remainingItemCount: undefined };
  return { type: "list", resource, items, list };
}

function byName({ metadata: a }: ApiObject, { metadata: b }: ApiObject): number {
  const [left, right] = [`${a.namespace ?? ""}/${a.name}`, `${b.namespace ?? ""}/${b.name}`];
  return left < right ? -1 : left > right ? 1 : 0;
}

const encode = (resource: Resource, object: ApiObject): EncodedObject =>
  new EncodedObject(codecOf(resource), 0, { object });

function headOf<T extends ApiObject>(resource: Resource<T>, { metadata }: ApiObject, creationTimestamp: string) {
  const { name, namespace, labels } = metadata;
  return {
    kind: resource.kind,
    apiVersion: apiVersionOf(resource),
    metadata: { name, ...(namespace ? { namespace } : {}), creationTimestamp, ...(labels ? { labels } : {}) },
  } as ApiObject;
}

const measured = ({ atMs, windowMs }: Pick<MeasuredUsage, "atMs" | "windowMs">) => ({
  timestamp: timestamp(atMs),
  window: formatDuration(BigInt(windowMs) * 1_000_000n),
});

const containersOf = ({ containers }: PodUsage) =>
  Array.from(containers, ([name, usage]) => ({ name, usage: amountsOf(usage) }));

const amountsOf = ({ cpuNanoCores, memoryBytes }: MeasuredUsage) => ({
  cpu: formatQuantity({ nanos: BigInt(cpuNanoCores), format: "decimal" }),
  memory: quantityOf(memoryBytes, "binary"),
});
