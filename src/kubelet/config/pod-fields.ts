import type { ResourceFieldSelector } from "#api/core/container/env.ts";
import { type AnyContainer, allContainers } from "#api/core/pod/pod-containers.ts";
import type { Pod } from "#api/core/pod.ts";
import { isZeroQuantity, quantityMilliValue, quantityValue } from "#api/meta/quantity.ts";

/** The value of a `fieldRef`, as volumes and variables show it. */
export function podField(pod: Pod, path: string): string {
  const { metadata } = pod;
  const [, map, key] = /^metadata\.(labels|annotations)\['(.*)'\]$/.exec(path) ?? [];
  if (map === "labels") return metadata.labels?.[key ?? ""] ?? "";
  if (map === "annotations") return metadata.annotations?.[key ?? ""] ?? "";
  const read = fields[path];
  if (read === undefined) throw new Error(`unsupported fieldPath: ${path}`);
  return read(pod) ?? "";
}

const fields: Readonly<Record<string, (pod: Pod) => string | undefined>> = {
  "metadata.name": ({ metadata }) => metadata.name,
  "metadata.namespace": ({ metadata }) => metadata.namespace,
  "metadata.uid": ({ metadata }) => metadata.uid,
  "metadata.labels": ({ metadata }) => formatMap(metadata.labels ?? {}),
  "metadata.annotations": ({ metadata }) => formatMap(metadata.annotations ?? {}),
  "spec.nodeName": ({ spec }) => spec.nodeName,
  "spec.serviceAccountName": ({ spec }) => spec.serviceAccountName,
  "status.hostIP": ({ status }) => status.hostIP,
  "status.hostIPs": ({ status }) => status.hostIPs?.map(({ ip }) => ip).join(","),
  "status.podIP": ({ status }) => status.podIP,
  "status.podIPs": ({ status }) => status.podIPs?.map(({ ip }) => ip).join(","),
};

/** `key="value"` lines, sorted by key. */
function formatMap(map: Readonly<Record<string, string>>): string {
  const keys = Object.keys(map).toSorted();
  return keys.map((key) => `${key}=${quote(map[key] ?? "")}`).join("\n");
}

/** As Go quotes strings. */
function quote(text: string): string {
  const escaped = text.replace(unprintable, (character) => escapes[character] ?? hexEscape(character));
  return `"${escaped}"`;
}
const unprintable = /["\\]|[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu;
const escapes: Readonly<Record<string, string>> = {
  '"': '\\"',
  "\\": "\\\\",
  "\x07": "\\a",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
};
function hexEscape(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x80) return `\\x${code.toString(16).padStart(2, "0")}`;
  return code < 0x10000 ? `\\u${code.toString(16).padStart(4, "0")}` : `\\U${code.toString(16).padStart(8, "0")}`;
}

export interface ResourceContext {
  readonly pod: Pod;
  /** The container that a selector without a name means. */
  readonly container?: AnyContainer;
  /** The node's amounts, which apply to a container without limits. */
  readonly allocatable: Readonly<Record<string, string>>;
}

/** The value of a `resourceFieldRef`, rounded up to whole multiples of the divisor. */
export function containerResource(
  { pod, container, allocatable }: ResourceContext,
  ref: ResourceFieldSelector,
): string {
  const name = ref.containerName || container?.name;
  const found = allContainers(pod.spec).find((one) => one.name === name);
  if (!found) throw new Error(`container ${name ?? ""} not found`);
  const [, kind, resource = ""] = /^(limits|requests)\.(.+)$/.exec(ref.resource) ?? [];
  const isKnown = ["cpu", "memory", "ephemeral-storage"].includes(resource) || resource.startsWith("hugepages-");
  if (kind === undefined || !isKnown) throw new Error(`unsupported container resource : ${ref.resource}`);
  const { limits = {}, requests = {} } = found.resources ?? {};
  const amount = kind === "limits" ? limitOf(resource, limits, allocatable) : (requests[resource] ?? "0");
  const divisor = ref.divisor === undefined || isZeroQuantity(ref.divisor) ? "1" : ref.divisor;
  const measure = resource === "cpu" ? quantityMilliValue : quantityValue;
  return String(Math.ceil(measure(amount) / measure(divisor)));
}

type Amounts = Readonly<Record<string, string>>;

function limitOf(resource: string, limits: Amounts, allocatable: Amounts): string {
  const limit = limits[resource];
  if (limit !== undefined && !isZeroQuantity(limit)) return limit;
  return (resource.startsWith("hugepages-") ? undefined : allocatable[resource]) ?? "0";
}
