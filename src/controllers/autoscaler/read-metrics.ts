import { type CrossVersionObjectReference, type MetricIdentifier } from "#api/autoscaling/metrics.ts";
import { formatLabelSelector } from "#api/meta/label-selector.ts";
import { PodMetrics as PodUsage, windowMs } from "#api/metrics/usage-metrics.ts";
import { groupOf, groupResource, type Resource } from "#api/resource.ts";
import { type Client } from "#client/client.ts";
import { own } from "#lib/data/own.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { findKind } from "./find-kind.ts";
import { type PodMetric, type PodMetrics } from "./group-pods.ts";
import { milliValue, sumOf } from "./milli-value.ts";
import { type MetricValue, readItems, readValues } from "./read-values.ts";

export interface MetricsDeps {
  readonly client: Client;
  /** Every kind that is currently served. */
  kinds(): readonly Resource[];
}

/** The pods that a metric is about. */
export interface Selected {
  readonly namespace: string;
  /** As text. */
  readonly selector: string;
}

/** What pods use of a resource: all their containers, or the named one. */
export async function readUsage(
  { client }: MetricsDeps,
  { namespace, selector, resource, container }: Selected & { readonly resource: string; readonly container: string },
  signal: AbortSignal,
): Promise<PodMetrics> {
  const { group, version, plural } = PodUsage;
  const place = { group, version, path: ["namespaces", namespace, plural], query: { labelSelector: selector } };
  const items = await wrapped("unable to fetch metrics from resource metrics API", async () =>
    readItems(client, place, signal),
  );
  if (items.length === 0) throw new Error("no metrics returned from resource metrics API");
  return new Map(items.flatMap((item) => usageEntry(item, resource, container)));
}

/** Nothing if a container that counts has no such usage. */
function usageEntry(item: unknown, resource: string, container: string): [string, PodMetric][] {
  const { metadata, timestamp, window, containers } = item as Partial<PodUsage>;
  if (!metadata?.name || !Array.isArray(containers)) return [];
  const wanted = container ? containers.filter(({ name }) => name === container) : containers;
  const amounts = wanted.map(({ usage }) => own(usage, resource));
  if (amounts.length === 0 || amounts.includes(undefined)) return [];
  const value = sumOf(amounts.map((amount) => milliValue(String(amount))));
  return [[metadata.name, { value, atMs: Date.parse(timestamp ?? "") || 0, windowMs: windowMs(window) }]];
}

const customGroup = "custom.metrics.k8s.io";
const fromCustom = "unable to fetch metrics from custom metrics API";

/** A metric that an adapter has for each pod. */
export async function readPodsMetric(
  { client }: MetricsDeps,
  { namespace, selector, metric }: Selected & { readonly metric: MetricIdentifier },
  signal: AbortSignal,
): Promise<PodMetrics> {
  const items = await wrapped(fromCustom, async () => {
    const path = ["namespaces", namespace, "pods", "*", metric.name];
    const query = { labelSelector: selector, ...metricSelector(metric) };
    return await readValues(
      client,
      { group: customGroup, version: await customVersion(client, signal), path, query },
      signal,
    );
  });
  if (items.length === 0) throw new Error("no metrics returned from custom metrics API");
  return new Map(items.map(({ object, ...metricValue }) => [object, metricValue]));
}

export interface ObjectQuestion {
  readonly namespace: string;
  readonly metric: MetricIdentifier;
  readonly described: CrossVersionObjectReference;
}

/** A metric that an adapter has for one object. */
export async function readObjectMetric(
  deps: MetricsDeps,
  question: ObjectQuestion,
  signal: AbortSignal,
): Promise<bigint> {
  return await wrapped(fromCustom, async () => {
    const { client } = deps;
    const version = await customVersion(client, signal);
    const place = {
      group: customGroup,
      version,
      path: objectPath(deps, question),
      query: metricSelector(question.metric),
    };
    const items = await readValues(client, place, signal);
    const [first] = items;
    if (first && items.length === 1) return first.value;
    throw new Error(`the custom metrics API server returned ${items.length} results when we asked for exactly one`);
  });
}

function objectPath({ kinds }: MetricsDeps, { namespace, metric, described }: ObjectQuestion): readonly string[] {
  const { apiVersion = "", kind, name } = described;
  // Its name does not matter: a reference must not lead out of the namespace.
  if (kind === "Namespace" && groupOf(apiVersion) === "") return ["namespaces", namespace, "metrics", metric.name];
  const resource = findKind(kinds(), groupOf(apiVersion), kind);
  return ["namespaces", namespace, groupResource(resource, resource.plural), name, metric.name];
}

/** A metric from outside of the cluster: the values of all its series. */
export async function readExternalMetric(
  { client }: MetricsDeps,
  { namespace, metric }: { readonly namespace: string; readonly metric: MetricIdentifier },
  signal: AbortSignal,
): Promise<readonly bigint[]> {
  const items: readonly MetricValue[] = await wrapped("unable to fetch metrics from external metrics API", async () => {
    const selector = formatLabelSelector(metric.selector);
    const query = selector ? { labelSelector: selector } : {};
    const place = {
      group: "external.metrics.k8s.io",
      version: "v1beta1",
      path: ["namespaces", namespace, metric.name],
    };
    return await readValues(client, { ...place, query }, signal);
  });
  if (items.length === 0) throw new Error("no metrics returned from external metrics API");
  return items.map(({ value }) => value);
}

function metricSelector({ selector }: MetricIdentifier): Record<string, string> {
  const text = formatLabelSelector(selector);
  return text ? { metricLabelSelector: text } : {};
}

const customVersions = ["v1beta2", "v1beta1"];

/** The version that the adapter prefers, among those that we know. */
async function customVersion(client: Client, signal: AbortSignal): Promise<string> {
  const { status, body } = await client.raw("GET", `/apis/${customGroup}`, { signal });
  if (status !== 200) throw new Error(`no custom metrics API (${customGroup}) registered`);
  const group = JSON.parse(Buffer.from(body).toString()) as {
    preferredVersion?: { version?: string };
    versions?: { version?: string }[];
  };
  const offered = [group.preferredVersion, ...(group.versions ?? [])].map((one) => one?.version);
  const known = offered.find((version) => version !== undefined && customVersions.includes(version));
  if (!known) throw new Error("no known available metric versions found");
  return known;
}

async function wrapped<T>(prefix: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    throw new Error(`${prefix}: ${messageOf(error)}`, { cause: error });
  }
}
