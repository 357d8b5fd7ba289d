import { allResources } from "#api/all.ts";
import { TokenRequest } from "#api/authentication/token-request.ts";
import { Scale } from "#api/autoscaling/scale.ts";
import { ComponentStatus } from "#api/core/component-status.ts";
import { usageKinds } from "#api/metrics/usage-metrics.ts";
import { Eviction } from "#api/policy/eviction.ts";
import { type Resource } from "#api/resource.ts";

/** Every possible body: the served kinds, and those that occur only in subresources of others. */
export const everyKind: readonly Resource[] = [
  ...allResources,
  ComponentStatus,
  ...usageKinds,
  Eviction,
  Scale,
  TokenRequest,
];
