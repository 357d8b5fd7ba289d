import { LabelSelector } from "#api/meta/label-selector.ts";
import { nullable, optional, present } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { int32, quantity, string } from "#schema/types.ts";

const object = inPackage("autoscaling/v2");

const objectInNamespace = "An object in the same namespace, by its kind and name.";
export const CrossVersionObjectReference = object("CrossVersionObjectReference", objectInNamespace, {
  kind: present(1, string(), "Kind of the object."),
  name: present(2, string(), "Name of the object."),
  apiVersion: optional(3, string(), "API version of the object, such as apps/v1."),
});
export interface CrossVersionObjectReference extends Infer<typeof CrossVersionObjectReference> {}

const MetricIdentifier = object("MetricIdentifier", "The name of a metric, and which series of it are meant.", {
  name: present(1, string(), "Name of the metric."),
  selector: nullable(2, LabelSelector, "Selects series of the metric; without it, only the name counts."),
});
export interface MetricIdentifier extends Infer<typeof MetricIdentifier> {}

const MetricTarget = object("MetricTarget", "The value that an autoscaler tries to reach for a metric.", {
  type: present(1, string(), "What the target is compared with: Utilization, Value or AverageValue."),
  value: nullable(2, quantity(), "Target for the value of the metric."),
  averageValue: nullable(3, quantity(), "Target for the average of the metric over all pods."),
  averageUtilization: nullable(4, int32(), "Target for the average over all pods, as a percentage of their requests."),
});
export interface MetricTarget extends Infer<typeof MetricTarget> {}

const MetricValueStatus = object("MetricValueStatus", "The current value of a metric.", {
  value: nullable(1, quantity(), "Current value of the metric."),
  averageValue: nullable(2, quantity(), "Current average of the metric over all pods."),
  averageUtilization: nullable(3, int32(), "Current average over all pods, as a percentage of their requests."),
});
export interface MetricValueStatus extends Infer<typeof MetricValueStatus> {}

const identifier = "Name of the metric, and which series of it are meant.";
const reachFor = "Value that the autoscaler tries to reach.";
const nowAt = "Current value of the metric.";
const described = "Object that the metric describes, such as an Ingress.";
const resource = "Name of the resource, such as cpu or memory.";
const container = "Name of the container whose resource is measured.";

const ObjectMetricSource = object("ObjectMetricSource", "A metric that describes one object, and its target.", {
  describedObject: present(1, CrossVersionObjectReference, described),
  target: present(2, MetricTarget, reachFor),
  metric: present(3, MetricIdentifier, identifier),
});
export interface ObjectMetricSource extends Infer<typeof ObjectMetricSource> {}

const PodsMetricSource = object("PodsMetricSource", "A metric of each pod, whose average has a target.", {
  metric: present(1, MetricIdentifier, identifier),
  target: present(2, MetricTarget, reachFor),
});
export interface PodsMetricSource extends Infer<typeof PodsMetricSource> {}

const ResourceMetricSource = object("ResourceMetricSource", "A resource of all containers, and its target.", {
  name: present(1, string(), resource),
  target: present(2, MetricTarget, reachFor),
});
export interface ResourceMetricSource extends Infer<typeof ResourceMetricSource> {}

const ofOneContainer = "A resource of one container of each pod, and its target.";
const ContainerResourceMetricSource = object("ContainerResourceMetricSource", ofOneContainer, {
  name: present(1, string(), resource),
  target: present(2, MetricTarget, reachFor),
  container: present(3, string(), container),
});
export interface ContainerResourceMetricSource extends Infer<typeof ContainerResourceMetricSource> {}

const ExternalMetricSource = object("ExternalMetricSource", "A metric from outside of the cluster, and its target.", {
  metric: present(1, MetricIdentifier, identifier),
  target: present(2, MetricTarget, reachFor),
});
export interface ExternalMetricSource extends Infer<typeof ExternalMetricSource> {}

const kinds = "Object, Pods, Resource, ContainerResource or External";
const ofContainer = "ContainerResource";
const usedIf = (type: string): string => `, if type is ${type}.`;

export const MetricSpec = object("MetricSpec", "One metric that decides the number of pods.", {
  type: present(1, string(), `Type of the metric: ${kinds}.`),
  object: nullable(2, ObjectMetricSource, `Metric that describes one object${usedIf("Object")}`),
  pods: nullable(3, PodsMetricSource, `Metric of each pod${usedIf("Pods")}`),
  resource: nullable(4, ResourceMetricSource, `Resource of all containers${usedIf("Resource")}`),
  containerResource: nullable(7, ContainerResourceMetricSource, `Resource of one container${usedIf(ofContainer)}`),
  external: nullable(5, ExternalMetricSource, `Metric from outside of the cluster${usedIf("External")}`),
});
export interface MetricSpec extends Infer<typeof MetricSpec> {}

const ObjectMetricStatus = object("ObjectMetricStatus", "The current value of a metric that describes one object.", {
  metric: present(1, MetricIdentifier, identifier),
  current: present(2, MetricValueStatus, nowAt),
  describedObject: present(3, CrossVersionObjectReference, described),
});

const PodsMetricStatus = object("PodsMetricStatus", "The current value of a metric of each pod.", {
  metric: present(1, MetricIdentifier, identifier),
  current: present(2, MetricValueStatus, nowAt),
});

const ResourceMetricStatus = object("ResourceMetricStatus", "The current use of a resource by all containers.", {
  name: present(1, string(), resource),
  current: present(2, MetricValueStatus, nowAt),
});

const useOfOne = "The current use of a resource by one container of each pod.";
const ContainerResourceMetricStatus = object("ContainerResourceMetricStatus", useOfOne, {
  name: present(1, string(), resource),
  current: present(2, MetricValueStatus, nowAt),
  container: present(3, string(), container),
});

const outside = "The current value of a metric from outside of the cluster.";
const ExternalMetricStatus = object("ExternalMetricStatus", outside, {
  metric: present(1, MetricIdentifier, identifier),
  current: present(2, MetricValueStatus, nowAt),
});

export const MetricStatus = object("MetricStatus", "The current value of one metric.", {
  type: present(1, string(), `Type of the metric: ${kinds}.`),
  object: nullable(2, ObjectMetricStatus, `Value of a metric that describes one object${usedIf("Object")}`),
  pods: nullable(3, PodsMetricStatus, `Value of a metric of each pod${usedIf("Pods")}`),
  resource: nullable(4, ResourceMetricStatus, `Use of a resource by all containers${usedIf("Resource")}`),
  containerResource: nullable(7, ContainerResourceMetricStatus, `Use by one container${usedIf(ofContainer)}`),
  external: nullable(5, ExternalMetricStatus, `Value of a metric from outside of the cluster${usedIf("External")}`),
});
export interface MetricStatus extends Infer<typeof MetricStatus> {}
