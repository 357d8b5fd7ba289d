import type { Pod } from "#api/core/pod.ts";
import { canonicalQuantity, quantityOf, quantityValue } from "#api/meta/quantity.ts";
import type { ContainerUse, PodUse } from "./rank-pods.ts";
import { formatOf, type Observations, resourceOf, type StarvedResource } from "./signals.ts";
import { renderAmount, type Threshold } from "./thresholds.ts";

export interface EvictionCause {
  readonly resource: StarvedResource;
  readonly starved: readonly Threshold[];
  readonly observations: Observations;
}

/** Upstream's words for why a pod was evicted. */
export function evictionMessage(pod: Pod, use: PodUse | undefined, cause: EvictionCause): string {
  const { resource } = cause;
  const intro = `The node was low on resource: ${resource}. ${thresholdPart(cause)}`;
  if (!use) return intro;
  const containers = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])];
  const parts = use.containers.map((measured) => {
    const container = containers.find(({ name }) => name === measured.name);
    const used = container && usedOf(measured, resource);
    const request = canonicalQuantity(container?.resources.requests?.[resource] ?? "0");
    if (used === undefined || used <= quantityValue(request)) return "";
    return larger(`Container ${measured.name}`, { used, request, resource });
  });
  return intro + podPart(pod, use, resource) + parts.join("");
}

function thresholdPart({ resource, starved, observations }: EvictionCause): string {
  for (const { signal, value } of starved) {
    const observation = observations.get(signal);
    if (resourceOf(signal) !== resource || !observation) continue;
    const available = quantityOf(observation.available, formatOf(signal));
    return `Threshold quantity: ${renderAmount(value, observation)}, available: ${available}. `;
  }
  return "";
}

/** A pod with resources of its own is compared with them as a whole. */
function podPart({ metadata, spec }: Pod, { memoryBytes: used }: PodUse, resource: StarvedResource): string {
  const request = spec.resources?.requests?.memory;
  if (resource !== "memory" || request === undefined) return "";
  return larger(`Pod ${metadata.name}`, { used, request: canonicalQuantity(request), resource });
}

function usedOf({ memoryBytes, layer, logs }: ContainerUse, resource: StarvedResource): number | undefined {
  if (resource === "memory") return memoryBytes;
  return resource === "ephemeral-storage" ? layer.bytes + logs.bytes : undefined;
}

const larger = (
  who: string,
  { used, request, resource }: { readonly used: number; readonly request: string; readonly resource: string },
): string =>
  `${who} was using ${quantityOf(used, "binary")}, request is ${request}, has larger consumption of ${resource}. `;
