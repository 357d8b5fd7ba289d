import { pathSegmentName } from "#api/meta/names.ts";
import { isNegativeQuantity } from "#api/meta/quantity.ts";
import { type Cursor } from "../cursor.ts";
import {
  type HorizontalPodAutoscalerBehavior,
  type HPAScalingPolicy,
  type HPAScalingRules,
} from "./horizontal-pod-autoscaler.ts";
import { type CrossVersionObjectReference } from "./metrics.ts";

export function validateReference(at: Cursor<CrossVersionObjectReference>, groups: "any group" | "named groups"): void {
  for (const name of ["kind", "name"] as const) {
    if (at.field(name).required()) at.field(name).rule(pathSegmentName);
  }
  const { apiVersion = "" } = at.value;
  at.field("apiVersion").as(apiVersion).invalid(apiVersionFault(apiVersion, groups));
}

function apiVersionFault(apiVersion: string, groups: "any group" | "named groups"): string | undefined {
  const slash = apiVersion.indexOf("/");
  if (slash !== apiVersion.lastIndexOf("/")) return `unexpected GroupVersion string: ${apiVersion}`;
  return groups === "named groups" && slash < 1 ? "apiVersion must specify API group" : undefined;
}

export function validateBehavior(at: Cursor<HorizontalPodAutoscalerBehavior>): void {
  at.on("scaleUp", validateRules);
  at.on("scaleDown", validateRules);
}

const maxWindowSeconds = 3600;
const maxPeriodSeconds = 1800;

function validateRules(at: Cursor<HPAScalingRules>): void {
  const { stabilizationWindowSeconds: window = 0, selectPolicy, policies = [], tolerance } = at.value;
  const seconds = at.field("stabilizationWindowSeconds");
  if (window < 0) seconds.invalid("must be greater than or equal to zero");
  if (window > maxWindowSeconds) seconds.invalid(`must be less than or equal to ${maxWindowSeconds}`);
  if (selectPolicy !== undefined) at.field("selectPolicy").oneOf(["Disabled", "Max", "Min"]);
  at.field("policies").as(policies).required("must specify at least one Policy");
  at.each("policies", validatePolicy);
  if (tolerance !== undefined && isNegativeQuantity(tolerance)) {
    at.field("tolerance").invalid("must be greater than or equal to 0");
  }
}

function validatePolicy(at: Cursor<HPAScalingPolicy>): void {
  const { value, periodSeconds } = at.value;
  at.field("type").oneOf(["Percent", "Pods"]);
  if (value <= 0) at.field("value").invalid("must be greater than zero");
  const period = at.field("periodSeconds");
  if (periodSeconds <= 0) period.invalid("must be greater than zero");
  if (periodSeconds > maxPeriodSeconds) period.invalid(`must be less than or equal to ${maxPeriodSeconds}`);
}
