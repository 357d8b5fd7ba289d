import { requiredValue, root } from "#schema/field-error.ts";
import { defaulted, type Infer, list, nullable, object, optional } from "#schema/schema.ts";
import { LabelSelector, validateLabelSelector } from "../meta/label-selector.ts";
import { pathSegmentName } from "../meta/names.ts";
import { defineResource, type ObjectOf } from "../resource.ts";
import { PolicyRule, validatePolicyRule } from "./policy-rule.ts";

export const AggregationRule = object(
  "rbac/v1.AggregationRule",
  {
    clusterRoleSelectors: optional(
      1,
      list(LabelSelector, { list: "atomic" }),
      "The rules of every cluster role that one of these matches are taken over.",
    ),
  },
  { doc: "Where the rules of a cluster role come from." },
);
export interface AggregationRule extends Infer<typeof AggregationRule> {}

const fields = {
  rules: defaulted(2, list(PolicyRule, { list: "atomic" }), [], "What the role allows."),
  aggregationRule: nullable(3, AggregationRule, "Fills the rules from other cluster roles."),
};
export interface ClusterRole extends ObjectOf<typeof fields> {}

/** Rights in all namespaces and outside of them, or for use by the bindings of any one. */
export const ClusterRole = defineResource({
  group: "rbac.authorization.k8s.io",
  version: "v1",
  kind: "ClusterRole",
  plural: "clusterroles",
  package: "rbac/v1",
  scope: "Cluster",
  createOnUpdate: true,
  doc: "A set of rights that bindings can give in one namespace or in the whole cluster.",
  fields,
  nameRule: pathSegmentName,

  *validate({ rules, aggregationRule }) {
    for (const [index, rule] of rules.entries()) {
      yield* validatePolicyRule(rule, "Cluster", root.child("rules").index(index));
    }
    if (!aggregationRule) return;
    const path = root.child("aggregationRule", "clusterRoleSelectors");
    const selectors = aggregationRule.clusterRoleSelectors ?? [];
    if (selectors.length === 0) {
      yield requiredValue(path, "at least one clusterRoleSelector required if aggregationRule is non-nil");
    }
    for (const [index, selector] of selectors.entries()) yield* validateLabelSelector(selector, path.index(index));
  },
});
