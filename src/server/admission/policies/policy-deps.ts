import { type Resource } from "#api/resource.ts";
import { type Metrics } from "#lib/process/metrics.ts";
import { type Informers } from "#runtime/informer.ts";
import { type Authorizer } from "#server/authorize/authorizer.ts";
import { type ResourceRegistry } from "#server/registry.ts";
import { type ScaleViews } from "../changes/change-object.ts";

/** What policies of all types need. */
export interface PolicyDeps {
  readonly informers: Informers;
  readonly authorizers: readonly Authorizer[];
  /** Every kind that is served, with its versions. */
  readonly resources: ResourceRegistry;
  readonly views: ScaleViews;
  readonly metrics?: Metrics | undefined;
}

const exempt: ReadonlySet<string> = new Set([
  "validatingadmissionpolicies",
  "validatingadmissionpolicybindings",
  "mutatingadmissionpolicies",
  "mutatingadmissionpolicybindings",
]);

/** Policies that were about themselves could keep everybody from repairing them. */
export const isExempt = ({ group, plural }: Resource): boolean =>
  group === "admissionregistration.k8s.io" && exempt.has(plural);
