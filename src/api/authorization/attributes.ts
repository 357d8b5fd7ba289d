import { equal } from "#lib/equal.ts";
import {
  type FieldError,
  type FieldPath,
  forbiddenValue,
  invalidValue,
  requiredValue,
  root,
} from "#schema/field-error.ts";
import { boolean, type Infer, list, nullable, object, optional, present, string } from "#schema/schema.ts";
import { LabelSelectorRequirement, validateSelectorRequirement } from "../meta/label-selector.ts";
import { type ObjectMeta } from "../meta/object-meta.ts";

export const FieldSelectorRequirement = object(
  "meta/v1.FieldSelectorRequirement",
  {
    key: present(1, string(), "The field that is looked at."),
    operator: present(2, string(), "In, NotIn, Exists or DoesNotExist."),
    values: optional(3, list(string(), { list: "atomic" }), "What In and NotIn compare with."),
  },
  { doc: "One condition on one field." },
);
export interface FieldSelectorRequirement extends Infer<typeof FieldSelectorRequirement> {}

export const FieldSelectorAttributes = object(
  "authorization/v1.FieldSelectorAttributes",
  {
    rawSelector: optional(1, string(), "The selector as text; cannot go with requirements."),
    requirements: optional(2, list(FieldSelectorRequirement, { list: "atomic" }), "Conditions that must all hold."),
  },
  { doc: "A limit by fields." },
);
export interface FieldSelectorAttributes extends Infer<typeof FieldSelectorAttributes> {}

export const LabelSelectorAttributes = object(
  "authorization/v1.LabelSelectorAttributes",
  {
    rawSelector: optional(1, string(), "The selector as text; cannot go with requirements."),
    requirements: optional(2, list(LabelSelectorRequirement, { list: "atomic" }), "Conditions that must all hold."),
  },
  { doc: "A limit by labels." },
);
export interface LabelSelectorAttributes extends Infer<typeof LabelSelectorAttributes> {}

export const ResourceAttributes = object(
  "authorization/v1.ResourceAttributes",
  {
    namespace: optional(1, string(), "The namespace; empty for all of them or for none."),
    verb: optional(2, string(), "The verb, such as get or list; * is all."),
    group: optional(3, string(), "The API group; * is all."),
    version: optional(4, string(), "The API version; * is all."),
    resource: optional(5, string(), "The resource; * is all."),
    subresource: optional(6, string(), "The subresource, if one is meant."),
    name: optional(7, string(), "The object, if one is meant."),
    fieldSelector: nullable(8, FieldSelectorAttributes, "Only objects with such fields."),
    labelSelector: nullable(9, LabelSelectorAttributes, "Only objects with such labels."),
  },
  { doc: "A request to a resource." },
);
export interface ResourceAttributes extends Infer<typeof ResourceAttributes> {}

export const NonResourceAttributes = object(
  "authorization/v1.NonResourceAttributes",
  {
    path: optional(1, string(), "The path."),
    verb: optional(2, string(), "The verb, such as get or post."),
  },
  { doc: "A request to a path that is no resource." },
);
export interface NonResourceAttributes extends Infer<typeof NonResourceAttributes> {}

export const SubjectAccessReviewStatus = object(
  "authorization/v1.SubjectAccessReviewStatus",
  {
    allowed: present(1, boolean(), "Whether the request would be let through."),
    denied: optional(4, boolean(), "Whether it would be refused for good, and nobody else asked."),
    reason: optional(2, string(), "Why."),
    evaluationError: optional(3, string(), "What went wrong while finding out; the answer can still be right."),
  },
  { doc: "The answer." },
);
export interface SubjectAccessReviewStatus extends Infer<typeof SubjectAccessReviewStatus> {}

interface Attributes {
  resourceAttributes?: ResourceAttributes;
  nonResourceAttributes?: NonResourceAttributes;
}

/** Exactly one of the two must be there. */
export function* validateOneAttributes({
  resourceAttributes,
  nonResourceAttributes,
}: Attributes): Iterable<FieldError> {
  const path = root.child("spec");
  if (resourceAttributes && nonResourceAttributes) {
    const detail = "cannot be specified in combination with resourceAttributes";
    yield invalidValue(path.child("nonResourceAttributes"), nonResourceAttributes, detail);
  }
  if (!resourceAttributes && !nonResourceAttributes) {
    const detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
    yield invalidValue(path.child("resourceAttributes"), undefined, detail);
  }
}

export function* validateResourceAttributes(attributes: ResourceAttributes | undefined): Iterable<FieldError> {
  if (!attributes) return;
  const { fieldSelector, labelSelector } = attributes;
  const path = root.child("spec", "resourceAttributes");
  if (fieldSelector) {
    const at = path.child("fieldSelector");
    yield* validateOneSelector(fieldSelector, at);
    for (const [index, requirement] of (fieldSelector.requirements ?? []).entries()) {
      yield* validateFieldRequirement(requirement, at.child("requirements").index(index));
    }
  }
  if (labelSelector) {
    const at = path.child("labelSelector");
    yield* validateOneSelector(labelSelector, at);
    for (const [index, requirement] of (labelSelector.requirements ?? []).entries()) {
      yield* validateSelectorRequirement(requirement, at.child("requirements").index(index), "any operator");
    }
  }
}

function* validateOneSelector(
  { rawSelector = "", requirements = [] }: { rawSelector?: string; requirements?: readonly unknown[] },
  path: FieldPath,
): Iterable<FieldError> {
  if (rawSelector && requirements.length > 0) {
    yield invalidValue(path.child("rawSelector"), rawSelector, "may not specified at the same time as requirements");
  }
  if (!rawSelector && requirements.length === 0) {
    const detail = `when ${path} is specified, requirements or rawSelector is required`;
    yield requiredValue(path.child("requirements"), detail);
  }
}

function* validateFieldRequirement(
  { key, operator, values = [] }: FieldSelectorRequirement,
  path: FieldPath,
): Iterable<FieldError> {
  if (!key) yield requiredValue(path.child("key"), "must be specified");
  if ((operator === "In" || operator === "NotIn") && values.length === 0) {
    yield requiredValue(path.child("values"), "must be specified when `operator` is 'In' or 'NotIn'");
  }
  if ((operator === "Exists" || operator === "DoesNotExist") && values.length > 0) {
    yield forbiddenValue(path.child("values"), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
  }
}

/** A review is a question: it has no identity. */
export function* validateNoMetadata(metadata: ObjectMeta, except: "nothing" | "namespace"): Iterable<FieldError> {
  const { managedFields: _, namespace, ...others } = metadata;
  const rest = namespace && except === "nothing" ? { ...others, namespace } : others;
  const detail = except === "nothing" ? "must be empty" : "must be empty except for namespace";
  if (!equal(rest, {})) yield invalidValue(root.child("metadata"), metadata, detail);
}
