import { optional, present } from "#schema/fields.ts";
import { inPackage } from "#schema/schema.ts";
import { atomicList, boolean, string } from "#schema/types.ts";
import { defineResource, type ObjectOf } from "../resource.ts";

const object = inPackage("authorization/v1");

const ResourceRule = object("ResourceRule", "Verbs that are allowed on certain resources.", {
  verbs: present(1, atomicList(string()), "Allowed verbs; * stands for all."),
  apiGroups: optional(2, atomicList(string()), "API groups of the resources; * stands for all."),
  resources: optional(3, atomicList(string()), "Plural names of the resources; * stands for all."),
  resourceNames: optional(4, atomicList(string()), "Names of the objects that the rule is limited to; all if empty."),
});

const NonResourceRule = object("NonResourceRule", "Verbs that are allowed on certain URL paths.", {
  verbs: present(1, atomicList(string()), "Allowed verbs; * stands for all."),
  nonResourceURLs: optional(2, atomicList(string()), "URL paths; a final * stands for everything below."),
});

const fields = {
  spec: object.present(2, "SelfSubjectRulesReviewSpec", "The namespace to list the rules for.", {
    namespace: optional(1, string(), "Namespace to list the rules for."),
  }),
  status: object.embedded(3, "SubjectRulesReviewStatus", "What the current user may do.", {
    resourceRules: present(1, atomicList(ResourceRule), "What the user may do with resources."),
    nonResourceRules: present(2, atomicList(NonResourceRule), "What the user may do with URL paths."),
    incomplete: present(3, boolean(), "Whether rules may be missing because an authorizer cannot list its rules."),
    evaluationError: optional(4, string(), "Error while the rules were listed."),
  }),
};
export interface SelfSubjectRulesReview extends ObjectOf<typeof fields> {}

/** The question of `kubectl auth can-i --list`. It is answered at once and never stored. */
export const SelfSubjectRulesReview = defineResource("authorization.k8s.io/v1.SelfSubjectRulesReview", fields, {
  scope: "Cluster",
  verbs: ["create"],
  doc: "Asks for everything that the current user may do in a namespace.",
});
