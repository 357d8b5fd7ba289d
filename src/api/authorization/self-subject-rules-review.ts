import { embedded, optional, present } from "#schema/fields.ts";
import { inPackage } from "#schema/schema.ts";
import { atomicList, boolean, string } from "#schema/types.ts";
import { defineResource, type ObjectOf } from "../resource.ts";

const object = inPackage("authorization/v1");

export const SelfSubjectRulesReviewSpec = object("SelfSubjectRulesReviewSpec", "Where the asker wants to act.", {
  namespace: optional(1, string(), "The namespace that is asked about."),
});

export const ResourceRule = object("ResourceRule", "Verbs that are allowed on certain resources.", {
  verbs: present(1, atomicList(string()), "What may be done; * is everything."),
  apiGroups: optional(2, atomicList(string()), "Groups of the resources; * is all."),
  resources: optional(3, atomicList(string()), "The resources; * is all."),
  resourceNames: optional(4, atomicList(string()), "The only objects it applies to, if there are any."),
});

export const NonResourceRule = object("NonResourceRule", "Verbs that are allowed on certain paths.", {
  verbs: present(1, atomicList(string()), "What may be done; * is everything."),
  nonResourceURLs: optional(2, atomicList(string()), "The paths, with * at the end for all below."),
});

export const SubjectRulesReviewStatus = object("SubjectRulesReviewStatus", "All that the asker may do.", {
  resourceRules: present(1, atomicList(ResourceRule), "What is allowed on resources."),
  nonResourceRules: present(2, atomicList(NonResourceRule), "What is allowed on other paths."),
  incomplete: present(3, boolean(), "Whether there can be more, because an authoriser cannot list its rules."),
  evaluationError: optional(4, string(), "What went wrong while finding out."),
});

const fields = {
  spec: present(2, SelfSubjectRulesReviewSpec),
  status: embedded(3, SubjectRulesReviewStatus),
};
export interface SelfSubjectRulesReview extends ObjectOf<typeof fields> {}

/** `kubectl auth can-i --list`: a question that is answered at once; never stored. */
export const SelfSubjectRulesReview = defineResource("authorization.k8s.io/v1.SelfSubjectRulesReview", fields, {
  scope: "Cluster",
  verbs: ["create"],
  doc: "Asks for all that the asker may do in a namespace.",
});
