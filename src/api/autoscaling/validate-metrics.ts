import { validateResourceName } from "#api/core/container/validate-resources.ts";
import { dns1123Label, pathSegmentName } from "#api/meta/names.ts";
import { parseQuantity } from "#api/meta/quantity.ts";
import { type Cursor } from "../cursor.ts";
import {
  type ContainerResourceMetricSource,
  type ExternalMetricSource,
  type MetricIdentifier,
  type MetricSpec,
  type MetricTarget,
  type ObjectMetricSource,
  type PodsMetricSource,
  type ResourceMetricSource,
} from "./metrics.ts";
import { validateReference } from "./validate-autoscaler.ts";

export function validateMetrics(spec: Cursor<{ minReplicas: number; metrics?: MetricSpec[] }>): void {
  const { minReplicas, metrics = [] } = spec.value;
  spec.each("metrics", validateMetric);
  // Without pods, only these metrics can tell when one is needed.
  if (minReplicas === 0 && !metrics.some(({ type }) => type === "Object" || type === "External")) {
    const text = "must specify at least one Object or External metric to support scaling to zero replicas";
    spec.field("metrics").forbidden(text);
  }
}

type Source = "object" | "external" | "pods" | "resource" | "containerResource";

/** Which field belongs to each type. */
const sourceOf: Readonly<Record<string, Source>> = {
  ContainerResource: "containerResource",
  External: "external",
  Object: "object",
  Pods: "pods",
  Resource: "resource",
};
const types = Object.keys(sourceOf);

/** In upstream's order: only the first source that is there is looked into. */
const checks: readonly (readonly [Source, (metric: Cursor<MetricSpec>) => void])[] = [
  ["object", (metric) => metric.on("object", validateObject)],
  ["external", (metric) => metric.on("external", validateExternal)],
  ["pods", (metric) => metric.on("pods", validatePods)],
  ["resource", (metric) => metric.on("resource", validateResource)],
  ["containerResource", (metric) => metric.on("containerResource", validateContainerResource)],
];

function validateMetric(at: Cursor<MetricSpec>): void {
  const { type } = at.value;
  const expected = Object.hasOwn(sourceOf, type) ? sourceOf[type] : undefined;
  at.field("type").required("must specify a metric source type");
  if (!expected) at.field("type").unsupported(types);
  const present = checks.filter(([source]) => at.value[source] !== undefined);
  present[0]?.[1](at);
  if (!expected) at.field("type").unsupported(types);
  else if (!at.value[expected]) at.field(expected).missing("must populate information for the given metric source");
  if (present.length === 1) return;
  for (const [source] of present) {
    if (source !== expected) at.field(source).forbidden("must populate the given metric source only");
  }
}

function validateObject(at: Cursor<ObjectMetricSource>): void {
  const { value, averageValue } = at.value.target;
  validateReference(at.field("describedObject"), "any group");
  validateIdentifier(at.field("metric"));
  validateTarget(at.field("target"));
  if (value === undefined && averageValue === undefined) {
    at.field("target").field("averageValue").missing("must set either a target value or averageValue");
  }
}

function validateExternal(at: Cursor<ExternalMetricSource>): void {
  const target = at.field("target");
  const { value, averageValue } = target.value;
  validateIdentifier(at.field("metric"));
  validateTarget(target);
  if (value === undefined && averageValue === undefined) {
    target.field("averageValue").missing("must set either a target value for metric or a per-pod target");
  }
  if (value !== undefined && averageValue !== undefined) {
    target.field("value").forbidden("may not set both a target value for metric and a per-pod target");
  }
}

function validatePods(at: Cursor<PodsMetricSource>): void {
  validateIdentifier(at.field("metric"));
  validateTarget(at.field("target"));
  at.field("target").field("averageValue").required("must specify a positive target averageValue");
}

function validateResource(at: Cursor<ResourceMetricSource>): void {
  at.field("name").required("must specify a resource name");
  validateUse(at.field("target"));
}

function validateContainerResource(at: Cursor<ContainerResourceMetricSource>): void {
  if (at.field("name").required("must specify a resource name")) validateResourceName(at.field("name"), "container");
  if (at.field("container").required("must specify a container")) at.field("container").rule(dns1123Label);
  validateUse(at.field("target"));
}

/** The target for the use of a resource. */
function validateUse(at: Cursor<MetricTarget>): void {
  const { averageUtilization, averageValue } = at.value;
  validateTarget(at);
  if (averageUtilization === undefined && averageValue === undefined) {
    at.field("averageUtilization").missing("must set either a target raw value or a target utilization");
  }
  if (averageUtilization !== undefined && averageValue !== undefined) {
    at.field("averageValue").forbidden("may not set both a target raw value and a target utilization");
  }
}

const targetTypes: readonly string[] = ["Utilization", "Value", "AverageValue"];

function validateTarget(at: Cursor<MetricTarget>): void {
  const { type, averageUtilization } = at.value;
  at.field("type").required("must specify a metric target type");
  if (!targetTypes.includes(type)) at.field("type").invalid("must be either Utilization, Value, or AverageValue");
  for (const name of ["value", "averageValue"] as const) {
    at.on(name, (amount) => {
      if (parseQuantity(amount.value).nanos <= 0n) amount.invalid("must be positive");
    });
  }
  if (averageUtilization !== undefined && averageUtilization < 1) {
    at.field("averageUtilization").invalid("must be greater than 0");
  }
}

function validateIdentifier(at: Cursor<MetricIdentifier>): void {
  if (at.field("name").required("must specify a metric name")) at.field("name").rule(pathSegmentName);
}
