import { type MetricSpec } from "#api/autoscaling/metrics.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { shownSelector } from "../shared/shown-selector.ts";
import { type PodMetrics } from "./group-pods.ts";
import {
  type MetricsDeps,
  readExternalMetric,
  readObjectMetric,
  readPodsMetric,
  readUsage,
  type Selected,
} from "./read-metrics.ts";

/** The current values of a metric: one for each pod, or those of the whole. */
export type MetricReading =
  | { readonly type: "pods"; readonly metrics: PodMetrics }
  | { readonly type: "values"; readonly values: readonly bigint[] };

/** Reads what a metric needs; throws in upstream's words. */
export async function readMetric(
  deps: MetricsDeps,
  { spec, selected }: { readonly spec: MetricSpec; readonly selected: Selected },
  signal: AbortSignal,
): Promise<MetricReading> {
  const { object, pods, resource, containerResource, external } = spec;
  const { namespace } = selected;
  if (resource || containerResource) {
    const name = resource?.name ?? containerResource?.name ?? "";
    const question = { ...selected, resource: name, container: containerResource?.container ?? "" };
    const read = readUsage(deps, question, signal);
    return { type: "pods", metrics: await named(`unable to get metrics for resource ${name}`, read) };
  }
  if (pods) {
    const read = readPodsMetric(deps, { ...selected, metric: pods.metric }, signal);
    return { type: "pods", metrics: await named(`unable to get metric ${pods.metric.name}`, read) };
  }
  if (object) return { type: "values", values: [await readOfObject(deps, { namespace, object }, signal)] };
  if (!external) throw new Error(`unknown metric source type ${JSON.stringify(spec.type)}`);
  const { metric } = external;
  const about = `unable to get external metric ${namespace}/${metric.name}/${shownSelector(metric.selector)}`;
  const values = await named(about, readExternalMetric(deps, { namespace, metric }, signal));
  return { type: "values", values };
}

async function readOfObject(
  deps: MetricsDeps,
  { namespace, object }: { readonly namespace: string; readonly object: NonNullable<MetricSpec["object"]> },
  signal: AbortSignal,
): Promise<bigint> {
  const { metric, describedObject: described } = object;
  try {
    return await readObjectMetric(deps, { namespace, metric, described }, signal);
  } catch (error) {
    // The order is odd, but it is v1.36's text.
    const text = `unable to get metric ${metric.name}: ${described.kind} on ${namespace} ${described.name}/${messageOf(error)}`;
    throw new Error(text, { cause: error });
  }
}

async function named<T>(prefix: string, reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    throw new Error(`${prefix}: ${messageOf(error)}`, { cause: error });
  }
}
