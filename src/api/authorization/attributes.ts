import { LabelSelectorRequirement, validateSelectorRequirement } from "#api/meta/label-selector.ts";
import { equal } from "#lib/data/equal.ts";
import { nullable, optional, present } from "#schema/fields.ts";
import { type Infer, object } from "#schema/schema.ts";
import { atomicList, boolean, string } from "#schema/types.ts";
import { type Cursor } from "../cursor.ts";
import { type ApiObject } from "../resource.ts";

export const FieldSelectorRequirement = object("meta/v1.FieldSelectorRequirement", "One condition on one field.", {
  key: present(1, string(), "The field that is looked at."),
  operator: present(2, string(), "In, NotIn, Exists or DoesNotExist."),
  values: optional(3, atomicList(string()), "What In and NotIn compare with."),
});
export interface FieldSelectorRequirement extends Infer<typeof FieldSelectorRequirement> {}

export const FieldSelectorAttributes = object("authorization/v1.FieldSelectorAttributes", "A limit by fields.", {
  rawSelector: optional(1, string(), "The selector as text; cannot go with requirements."),
  requirements: optional(2, atomicList(FieldSelectorRequirement), "Conditions that must all hold."),
});

export const LabelSelectorAttributes = object("authorization/v1.LabelSelectorAttributes", "A limit by labels.", {
  rawSelector: optional(1, string(), "The selector as text; cannot go with requirements."),
  requirements: optional(2, atomicList(LabelSelectorRequirement), "Conditions that must all hold."),
});

export const ResourceAttributes = object("authorization/v1.ResourceAttributes", "A request to a resource.", {
  namespace: optional(1, string(), "The namespace; empty for all of them or for none."),
  verb: optional(2, string(), "The verb, such as get or list; * is all."),
  group: optional(3, string(), "The API group; * is all."),
  version: optional(4, string(), "The API version; * is all."),
  resource: optional(5, string(), "The resource; * is all."),
  subresource: optional(6, string(), "The subresource, if one is meant."),
  name: optional(7, string(), "The object, if one is meant."),
  fieldSelector: nullable(8, FieldSelectorAttributes, "Only objects with such fields."),
  labelSelector: nullable(9, LabelSelectorAttributes, "Only objects with such labels."),
});
export interface ResourceAttributes extends Infer<typeof ResourceAttributes> {}

export const NonResourceAttributes = object("authorization/v1.NonResourceAttributes", "A request to a URL path.", {
  path: optional(1, string(), "The path."),
  verb: optional(2, string(), "The verb, such as get or post."),
});
export interface NonResourceAttributes extends Infer<typeof NonResourceAttributes> {}

export const SubjectAccessReviewStatus = object("authorization/v1.SubjectAccessReviewStatus", "The answer.", {
  allowed: present(1, boolean(), "Whether the request would be let through."),
  denied: optional(4, boolean(), "Whether it would be refused for good, and nobody else asked."),
  reason: optional(2, string(), "The reason for the answer."),
  evaluationError: optional(3, string(), "What went wrong while finding out; the answer can still be right."),
});

interface Attributes {
  resourceAttributes?: ResourceAttributes;
  nonResourceAttributes?: NonResourceAttributes;
}

/** Exactly one of the two must be there. */
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
  const { operator, values = [] } = at.value;
  at.field("key").required("must be specified");
  if (operator === "In" || operator === "NotIn") {
    at.field("values").required("must be specified when `operator` is 'In' or 'NotIn'");
  }
  if ((operator === "Exists" || operator === "DoesNotExist") && values.length > 0) {
    at.field("values").forbidden("may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
  }
}

/** A review is a question: it has no identity. */
export function validateNoMetadata(review: Cursor<ApiObject>, except: "nothing" | "namespace"): void {
  const at = review.field("metadata");
  const { managedFields: _, namespace, ...others } = at.value;
  const rest = namespace && except === "nothing" ? { ...others, namespace } : others;
  const detail = except === "nothing" ? "must be empty" : "must be empty except for namespace";
  if (!equal(rest, {})) at.invalid(detail);
}
