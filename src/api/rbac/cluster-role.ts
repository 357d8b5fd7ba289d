import { LabelSelector, validateLabelSelector } from "#api/meta/label-selector.ts";
import { pathSegmentName } from "#api/meta/names.ts";
import { defaulted, optional, written } from "#schema/fields.ts";
import { inPackage } from "#schema/schema.ts";
import { atomicList } from "#schema/types.ts";
import { type ClusterObject, defineResource } from "../resource.ts";
import { PolicyRule, validatePolicyRule } from "./policy-rule.ts";

const object = inPackage("rbac/v1");

const fields = {
  rules: written(defaulted(2, atomicList(PolicyRule), [], "Permissions that the role grants.")),
  aggregationRule: object.nullable(3, "AggregationRule", "Other ClusterRoles whose rules this one combines.", {
    clusterRoleSelectors: optional(1, atomicList(LabelSelector), "Selectors of ClusterRoles. One must match."),
  }),
};
export interface ClusterRole extends ClusterObject<typeof fields> {}

export const ClusterRole = defineResource("rbac.authorization.k8s.io/v1.ClusterRole", fields, {
  scope: "Cluster",
  createOnUpdate: true,
  doc: "Permissions that bindings can grant in one namespace or in the whole cluster.",
  nameRule: pathSegmentName,

  validate(role) {
    role.each("rules", (at) => validatePolicyRule(at, "Cluster"));
    role.on("aggregationRule", (at) => {
      const selectors = at.field("clusterRoleSelectors");
      selectors.required("at least one clusterRoleSelector required if aggregationRule is non-nil");
      at.each("clusterRoleSelectors", (at) => {
        const { faultCount } = at;
        validateLabelSelector(at);
        if (at.faultCount > faultCount) at.invalid("invalid label selector.", null);
      });
    });
  },
});
