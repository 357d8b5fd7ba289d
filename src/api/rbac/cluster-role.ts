import { LabelSelector, validateLabelSelector } from "#api/meta/label-selector.ts";
import { pathSegmentName } from "#api/meta/names.ts";
import { defaulted, inGo, nullable, optional } from "#schema/fields.ts";
import { inPackage } from "#schema/schema.ts";
import { atomicList } from "#schema/types.ts";
import { type ClusterObject, defineResource } from "../resource.ts";
import { PolicyRule, validatePolicyRule } from "./policy-rule.ts";

const object = inPackage("rbac/v1");

export const AggregationRule = object("AggregationRule", "Where the rules of a cluster role come from.", {
  clusterRoleSelectors: optional(1, atomicList(LabelSelector), "Selects the roles whose rules are combined."),
});

const fields = {
  rules: inGo({ zero: "written" }, defaulted(2, atomicList(PolicyRule), [], "What the role allows.")),
  aggregationRule: nullable(3, AggregationRule, "Fills the rules from other cluster roles."),
};
export interface ClusterRole extends ClusterObject<typeof fields> {}

export const ClusterRole = defineResource("rbac.authorization.k8s.io/v1.ClusterRole", fields, {
  scope: "Cluster",
  createOnUpdate: true,
  doc: "A set of rights that bindings can give in one namespace or in the whole cluster.",
  nameRule: pathSegmentName,

  validate(role) {
    role.each("rules", (at) => validatePolicyRule(at, "Cluster"));
    role.on("aggregationRule", (at) => {
      const selectors = at.field("clusterRoleSelectors");
      selectors.required("at least one clusterRoleSelector required if aggregationRule is non-nil");
      at.each("clusterRoleSelectors", validateLabelSelector);
    });
  },
});
