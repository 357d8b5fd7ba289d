import { boolean, embedded, type Infer, list, object, optional, present, string } from "#schema/schema.ts";
import { defineResource, type ObjectOf } from "../resource.ts";

export const SelfSubjectRulesReviewSpec = object(
  "authorization/v1.SelfSubjectRulesReviewSpec",
  {
    namespace: optional(1, string(), "The namespace that is asked about."),
  },
  { doc: "Where the asker wants to act." },
);
export interface SelfSubjectRulesReviewSpec extends Infer<typeof SelfSubjectRulesReviewSpec> {}

export const ResourceRule = object(
  "authorization/v1.ResourceRule",
  {
    verbs: present(1, list(string(), { list: "atomic" }), "What may be done; * is everything."),
    apiGroups: optional(2, list(string(), { list: "atomic" }), "Groups of the resources; * is all."),
    resources: optional(3, list(string(), { list: "atomic" }), "The resources; * is all."),
    resourceNames: optional(4, list(string(), { list: "atomic" }), "The only objects it applies to, if there are any."),
  },
  { doc: "Verbs that are allowed on certain resources." },
);
export interface ResourceRule extends Infer<typeof ResourceRule> {}

export const NonResourceRule = object(
  "authorization/v1.NonResourceRule",
  {
    verbs: present(1, list(string(), { list: "atomic" }), "What may be done; * is everything."),
    nonResourceURLs: optional(2, list(string(), { list: "atomic" }), "The paths, with * at the end for all below."),
  },
  { doc: "Verbs that are allowed on certain paths." },
);
export interface NonResourceRule extends Infer<typeof NonResourceRule> {}

export const SubjectRulesReviewStatus = object(
  "authorization/v1.SubjectRulesReviewStatus",
  {
    resourceRules: present(1, list(ResourceRule, { list: "atomic" }), "What is allowed on resources."),
    nonResourceRules: present(2, list(NonResourceRule, { list: "atomic" }), "What is allowed on other paths."),
    incomplete: present(3, boolean(), "Whether there can be more, because an authoriser cannot list its rules."),
    evaluationError: optional(4, string(), "What went wrong while finding out."),
  },
  { doc: "All that the asker may do." },
);
export interface SubjectRulesReviewStatus extends Infer<typeof SubjectRulesReviewStatus> {}

const fields = {
  spec: present(2, SelfSubjectRulesReviewSpec, "Where the asker wants to act."),
  status: embedded(3, SubjectRulesReviewStatus, "All that the asker may do."),
};
export interface SelfSubjectRulesReview extends ObjectOf<typeof fields> {}

/** `kubectl auth can-i --list`: a question that is answered at once; never stored. */
export const SelfSubjectRulesReview = defineResource({
  group: "authorization.k8s.io",
  version: "v1",
  kind: "SelfSubjectRulesReview",
  plural: "selfsubjectrulesreviews",
  package: "authorization/v1",
  scope: "Cluster",
  verbs: ["create"],
  doc: "Asks for all that the asker may do in a namespace.",
  fields,
});
