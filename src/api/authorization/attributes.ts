import {
  LabelSelectorRequirement,
  validateOperatorValues,
  validateSelectorRequirement,
} from "#api/meta/label-selector.ts";
import { equal } from "#lib/data/equal.ts";
import { nullable, optional, present } from "#schema/fields.ts";
import { type Infer, inPackage, object } from "#schema/schema.ts";
import { atomicList, boolean, string } from "#schema/types.ts";
import { type Cursor } from "../cursor.ts";
import { type ApiObject } from "../resource.ts";

const FieldSelectorRequirement = object("meta/v1.FieldSelectorRequirement", "A condition on one field.", {
  key: present(1, string(), "Path of the field that the condition is about."),
  operator: present(2, string(), "How the field is compared: In, NotIn, Exists or DoesNotExist."),
  values: optional(3, atomicList(string()), "Values for In and NotIn; must be empty for Exists and DoesNotExist."),
});
interface FieldSelectorRequirement extends Infer<typeof FieldSelectorRequirement> {}

const rawSelector = optional(1, string(), "The selector as text. Excludes requirements.");
const requirements = "Conditions of the selector, all of which must hold. Excludes rawSelector.";
const inAuthorization = inPackage("authorization/v1");

export const ResourceAttributes = inAuthorization("ResourceAttributes", "A request for a resource.", {
  namespace: optional(1, string(), "Namespace of the request; empty for all namespaces or a cluster-wide resource."),
  verb: optional(2, string(), "Verb of the request, such as get or list; * stands for all."),
  group: optional(3, string(), "API group of the resource; * stands for all."),
  version: optional(4, string(), "API version of the resource; * stands for all."),
  resource: optional(5, string(), "Plural name of the resource, such as pods; * stands for all."),
  subresource: optional(6, string(), "Subresource of the request; empty for none."),
  name: optional(7, string(), "Name of the object; empty for all objects."),
  fieldSelector: inAuthorization.nullable(8, "FieldSelectorAttributes", "Limits the request to objects by field.", {
    rawSelector,
    requirements: optional(2, atomicList(FieldSelectorRequirement), requirements),
  }),
  labelSelector: inAuthorization.nullable(9, "LabelSelectorAttributes", "Limits the request to objects by label.", {
    rawSelector,
    requirements: optional(2, atomicList(LabelSelectorRequirement), requirements),
  }),
});
export interface ResourceAttributes extends Infer<typeof ResourceAttributes> {}

export const NonResourceAttributes = inAuthorization("NonResourceAttributes", "A request for a URL path.", {
  path: optional(1, string(), "URL path of the request."),
  verb: optional(2, string(), "Verb of the request, such as get or post."),
});
export interface NonResourceAttributes extends Infer<typeof NonResourceAttributes> {}

/** What an access review asks about; one of the two is set. */
export const attributeFields = {
  resourceAttributes: nullable(1, ResourceAttributes, "The request, if it is for a resource."),
  nonResourceAttributes: nullable(2, NonResourceAttributes, "The request, if it is for a URL path."),
};

export const SubjectAccessReviewStatus = inAuthorization(
  "SubjectAccessReviewStatus",
  "The answer to an access review.",
  {
    allowed: present(1, boolean(), "Whether the request would be allowed."),
    denied: optional(4, boolean(), "Whether the request would be denied without asking further authorizers."),
    reason: optional(2, string(), "Why the request would be allowed or denied."),
    evaluationError: optional(3, string(), "Error during the check. The answer can be right all the same."),
  },
);

interface Attributes {
  resourceAttributes?: ResourceAttributes;
  nonResourceAttributes?: NonResourceAttributes;
}

/** Exactly one of the two must be set. */
export function validateAttributes(at: Cursor<Attributes>): void {
  const { resourceAttributes, nonResourceAttributes } = at.value;
  if (resourceAttributes && nonResourceAttributes) {
    at.field("nonResourceAttributes").invalid("cannot be specified in combination with resourceAttributes");
  }
  if (!resourceAttributes && !nonResourceAttributes) {
    const detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
    at.field("resourceAttributes").invalid(detail);
  }
}

export function validateResourceAttributes(at: Cursor<ResourceAttributes>): void {
  at.on("fieldSelector", (at) => {
    validateOneSelector(at);
    at.each("requirements", validateFieldRequirement);
  });
  at.on("labelSelector", (at) => {
    validateOneSelector(at);
    at.each("requirements", (at) => validateSelectorRequirement(at, "any operator"));
  });
}

function validateOneSelector(at: Cursor<{ rawSelector?: string; requirements?: readonly unknown[] }>): void {
  const { rawSelector = "", requirements = [] } = at.value;
  if (rawSelector && requirements.length > 0) {
    at.field("rawSelector").invalid("may not specified at the same time as requirements");
  }
  if (!rawSelector && requirements.length === 0) {
    at.field("requirements").missing(`when ${at} is specified, requirements or rawSelector is required`);
  }
}

function validateFieldRequirement(at: Cursor<FieldSelectorRequirement>): void {
  at.field("key").required("must be specified");
  validateOperatorValues(at);
}

/** A review is not stored, so it has no identity. */
export function validateNoMetadata(review: Cursor<ApiObject>, except: "nothing" | "namespace"): void {
  const at = review.field("metadata");
  const { managedFields: _, namespace, ...others } = at.value;
  const rest = namespace && except === "nothing" ? { ...others, namespace } : others;
  const detail = except === "nothing" ? "must be empty" : "must be empty except for namespace";
  if (!equal(rest, {})) at.invalid(detail);
}
