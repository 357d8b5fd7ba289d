import { type MetricSpec, type MetricStatus, type MetricTarget, type MetricValueStatus } from "./metrics.ts";

const maxShown = 2;

/** The first metrics as a table shows them: `cpu: 40%/80%, 5/10 (avg)`. */
export function targetsOf(
  metrics: readonly MetricSpec[] = [],
  { currentMetrics = [] }: { currentMetrics?: readonly MetricStatus[] },
): string {
  if (metrics.length === 0) return "<none>";
  const shown = metrics.slice(0, maxShown).map((metric, index) => targetOf(metric, currentMetrics[index]));
  const more = metrics.length - maxShown;
  return more > 0 ? `${shown.join(", ")} + ${more} more...` : shown.join(", ");
}

function targetOf(metric: MetricSpec, status: MetricStatus | undefined): string {
  const { object, pods, resource, containerResource, external } = metric;
  switch (metric.type) {
    case "External":
      return external ? ofValue(external.target, status?.external?.current) : unknown;
    case "Object":
      return object ? ofValue(object.target, status?.object?.current) : unknown;
    case "Pods":
      return `${status?.pods?.current.averageValue ?? unknown}/${pods?.target.averageValue ?? "0"}`;
    case "Resource":
      return resource ? `${resource.name}: ${ofUse(resource.target, status?.resource?.current)}` : unknown;
    case "ContainerResource":
      return containerResource
        ? `${containerResource.name}: ${ofUse(containerResource.target, status?.containerResource?.current)}`
        : unknown;
    default:
      return "<unknown type>";
  }
}

const unknown = "<unknown>";

/** A target for the metric itself, or for its average. */
function ofValue({ value = "0", averageValue }: MetricTarget, current: MetricValueStatus | undefined): string {
  if (averageValue !== undefined) return `${current?.averageValue ?? unknown}/${averageValue} (avg)`;
  return `${current ? (current.value ?? "0") : unknown}/${value}`;
}

/** A target for the use of a resource, as an amount or as a percentage. */
function ofUse({ averageValue, averageUtilization }: MetricTarget, current: MetricValueStatus | undefined): string {
  if (averageValue !== undefined) return `${current ? (current.averageValue ?? "0") : unknown}/${averageValue}`;
  const percent = (value: number | undefined, other: string): string => (value === undefined ? other : `${value}%`);
  return `${percent(current?.averageUtilization, unknown)}/${percent(averageUtilization, "<auto>")}`;
}
