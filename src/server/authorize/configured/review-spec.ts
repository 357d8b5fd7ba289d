import { type ResourceAttributes } from "#api/authorization/attributes.ts";
import { type SubjectAccessReviewSpec } from "#api/authorization/subject-access-review.ts";
import { type UserInfo } from "#api/exchange.ts";
import { parseFieldSelector } from "#api/meta/field-selector.ts";
import { type Operator, parseLabelSelector } from "#api/meta/label-selector.ts";
import { type RequestInfo } from "#server/request/pipeline.ts";

/** A request as a question to another server. Equal requests make equal questions. */
export function reviewSpecOf({ name, uid, groups, extra }: UserInfo, info: RequestInfo): SubjectAccessReviewSpec {
  return {
    ...(info.isResource
      ? { resourceAttributes: resourceAttributesOf(info) }
      : { nonResourceAttributes: { path: info.path, verb: info.verb } }),
    user: name,
    ...(groups.length > 0 ? { groups: [...groups] } : {}),
    ...(extra && Object.keys(extra).length > 0 ? { extra: copied(extra) } : {}),
    ...(uid ? { uid } : {}),
  };
}

const copied = (extra: NonNullable<UserInfo["extra"]>): Record<string, string[]> =>
  Object.fromEntries(Object.entries(extra).map(([key, values]) => [key, [...values]]));

/** Empty attributes are left out. */
function resourceAttributesOf(info: RequestInfo): ResourceAttributes {
  const { namespace, verb, group, version, resource, subresource, name } = info;
  const texts = Object.entries({ namespace, verb, group, version, resource, subresource, name });
  const field = fieldRequirements(info.fieldSelector);
  const label = labelRequirements(info.labelSelector);
  return {
    ...Object.fromEntries(texts.filter(([, text]) => text !== "")),
    ...(field.length > 0 ? { fieldSelector: { requirements: field } } : {}),
    ...(label.length > 0 ? { labelSelector: { requirements: label } } : {}),
  };
}

/** Selectors only narrow a request down, so what cannot be read is left out: the question is then about more. */
function fieldRequirements(text: string | undefined) {
  if (!text) return [];
  try {
    return parseFieldSelector(text).map(({ path, operator, value }) => ({
      key: path,
      operator: operator === "=" ? "In" : "NotIn",
      values: [value],
    }));
  } catch {
    return [];
  }
}

const labelOperators: Readonly<Partial<Record<Operator, string>>> = {
  "=": "In",
  "==": "In",
  in: "In",
  "!=": "NotIn",
  notin: "NotIn",
  exists: "Exists",
  "!": "DoesNotExist",
};

/** Reviews have no operators for `gt` and `lt`. */
function labelRequirements(text: string | undefined) {
  if (!text) return [];
  try {
    return parseLabelSelector(text).flatMap(({ key, operator: asked, values }) => {
      const operator = labelOperators[asked];
      return operator ? [{ key, operator, ...(values.length > 0 ? { values: [...values] } : {}) }] : [];
    });
  } catch {
    return [];
  }
}
