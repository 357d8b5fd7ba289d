import { column } from "#api/meta/columns.ts";
import { addQuantities } from "#api/meta/quantity.ts";
import { own } from "#lib/data/own.ts";
import { parseDuration } from "#schema/duration.ts";
import { present, written } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { atomicList, duration, map, quantity, string, time } from "#schema/types.ts";
import { type ClusterObject, type Column, defineResource, type NamespacedObject, type Resource } from "../resource.ts";

const object = inPackage("metrics/v1beta1");

const usage = "Amounts in use, by the name of the resource: the average of cpu over the window, and the last memory.";

export const ContainerMetrics = object("ContainerMetrics", "What a container uses.", {
  name: present(1, string(), "Name of the container."),
  usage: present(2, map(quantity()), usage),
});
export interface ContainerMetrics extends Infer<typeof ContainerMetrics> {}

const measured = {
  timestamp: written(present(2, time(), "End of the window in which the usage was measured.")),
  window: present(3, duration(), "Length of the window in which the usage was measured."),
};

const nodeFields = { ...measured, usage: present(4, map(quantity()), usage) };
export interface NodeMetrics extends ClusterObject<typeof nodeFields> {}

const podFields = {
  ...measured,
  containers: present(4, atomicList(ContainerMetrics), "Usage of each container, all measured in the same window."),
};
export interface PodMetrics extends NamespacedObject<typeof podFields> {}

const quantityColumn = <T>(name: string, value: Column<T>["value"]): Column<T> => ({
  ...column(name, `Amount of ${name} in use.`, value),
  format: "quantity",
});
const windowColumn: Column<{ window: string }> = {
  ...column("Window", "Length of the window in which the usage was measured.", ({ window }) => window),
  format: "duration",
};

/** Nothing of this is stored: each object is computed when it is read. */
const computed = {
  isComputed: true,
  verbs: ["get", "list"] as const,
  singular: "",
} as const;

export const NodeMetrics = defineResource("metrics.k8s.io/v1beta1.NodeMetrics", nodeFields, {
  ...computed,
  doc: "What a node uses.",
  plural: "nodes",
  storagePrefix: "metrics.k8s.io/nodes",
  scope: "Cluster",
  columns: [
    quantityColumn("cpu", ({ usage: used }) => own(used, "cpu") ?? "0"),
    quantityColumn("memory", ({ usage: used }) => own(used, "memory") ?? "0"),
    windowColumn,
  ],
});

const sumOf = (containers: readonly ContainerMetrics[], name: string): string =>
  containers.reduce((sum, container) => addQuantities(sum, own(container.usage, name) ?? "0"), "0");

export const PodMetrics = defineResource("metrics.k8s.io/v1beta1.PodMetrics", podFields, {
  ...computed,
  doc: "What the containers of a pod use.",
  plural: "pods",
  storagePrefix: "metrics.k8s.io/pods",
  columns: [
    quantityColumn("cpu", ({ containers }) => sumOf(containers, "cpu")),
    quantityColumn("memory", ({ containers }) => sumOf(containers, "memory")),
    windowColumn,
  ],
});

/** Milliseconds of a window such as `15.025s`; 0 if it is none. */
export function windowMs(window: string | undefined): number {
  try {
    return Number(parseDuration(window ?? "")) / 1e6;
  } catch {
    return 0;
  }
}

/** The kinds of `metrics.k8s.io`, which a server with nodes serves. */
export const usageKinds: readonly Resource[] = [NodeMetrics, PodMetrics];
