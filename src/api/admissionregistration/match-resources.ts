import { LabelSelector, validateLabelSelector } from "#api/meta/label-selector.ts";
import { defaulted, embedded, inGo, optional } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { atomicList, oneOf } from "#schema/types.ts";
import { type Cursor } from "../cursor.ts";
import { NamedRuleWithOperations, validateNamedRule } from "./rule-with-operations.ts";

const object = inPackage("admissionregistration/v1");

/** Which requests of a rule match, by the API version that the caller uses. */
const equivalence = "Whether requests in other API versions of a resource match too: Equivalent or Exact.";
/** The field of that name, which has another number in each message. */
export const matchPolicy = (number: number) =>
  inGo({ isPointer: true }, defaulted(number, oneOf("Equivalent", "Exact"), "Equivalent", equivalence));
/** What happens to a request if a webhook or a policy fails. */
export const failurePolicies = oneOf("Fail", "Ignore");

export const MatchResources = object.atomic("MatchResources", "Selects the requests that a policy is about.", {
  namespaceSelector: inGo(
    { isPointer: true },
    embedded(1, LabelSelector, "Selects namespaces. Objects outside of namespaces always match."),
  ),
  objectSelector: inGo(
    { isPointer: true },
    embedded(2, LabelSelector, "Selects objects by labels. It is enough if the old or the new object matches."),
  ),
  resourceRules: optional(3, atomicList(NamedRuleWithOperations), "Rules of which a request must match at least one."),
  excludeResourceRules: optional(4, atomicList(NamedRuleWithOperations), "Rules of which a request may match none."),
  matchPolicy: matchPolicy(7),
});
export interface MatchResources extends Infer<typeof MatchResources> {}

export function validateMatchResources(at: Cursor<MatchResources>): void {
  validateLabelSelector(at.field("namespaceSelector"));
  validateLabelSelector(at.field("objectSelector"));
  at.each("resourceRules", validateNamedRule);
  at.each("excludeResourceRules", validateNamedRule);
}

/** The rules also tell the types of the objects, so a policy needs one. */
export function validateMatchConstraints(at: Cursor<MatchResources | undefined>): void {
  const { value } = at;
  if (!value) return at.missing();
  validateMatchResources(at.as(value));
  at.as(value).field("resourceRules").required();
}
