import { type ResourceAttributes } from "#api/authorization/attributes.ts";
import { faultsIn } from "#api/cursor.ts";
import { escapeFieldValue, parseFieldSelector } from "#api/meta/field-selector.ts";
import { formatLabelSelector, parseLabelSelector, validateSelectorRequirement } from "#api/meta/label-selector.ts";

export interface ReviewSelectors {
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
  /** What was ignored, in upstream's words. */
  readonly faults: readonly string[];
}

/**
 * The selectors that a review asks about. Conditions that cannot be read are dropped: that asks for more, so it never allows
 * too much, and the answer says so.
 */
export function selectorsOf({ fieldSelector, labelSelector }: ResourceAttributes): ReviewSelectors {
  const field = fieldSelector?.requirements?.length
    ? joined(fieldSelector.requirements.map(fieldTerm))
    : parsed(fieldSelector?.rawSelector, parseFieldSelector);
  const label = labelSelector?.requirements?.length
    ? joined(labelSelector.requirements.map(labelTerm))
    : parsed(labelSelector?.rawSelector, parseLabelSelector);
  return {
    ...(field.text ? { fieldSelector: field.text } : {}),
    ...(label.text ? { labelSelector: label.text } : {}),
    faults: [...faultOf("fieldSelector", field), ...faultOf("labelSelector", label)],
  };
}

interface Read {
  readonly text: string;
  readonly isWhole: boolean;
}

function faultOf(name: string, { text, isWhole }: Read): string[] {
  return isWhole ? [] : [`spec.resourceAttributes.${name} ${text ? "partially " : ""}ignored due to parse error`];
}

function parsed(text = "", parse: (text: string) => unknown): Read {
  try {
    parse(text);
    return { text, isWhole: true };
  } catch {
    return { text: "", isWhole: false };
  }
}

function joined(terms: readonly (string | undefined)[]): Read {
  const known = terms.filter((term) => term !== undefined);
  return { text: known.join(","), isWhole: known.length === terms.length };
}

type Requirement = NonNullable<NonNullable<ResourceAttributes["fieldSelector"]>["requirements"]>[number];

function fieldTerm({ key, operator, values = [] }: Requirement): string | undefined {
  const [value] = values;
  if (value === undefined || values.length > 1) return undefined;
  if (operator === "In") return `${key}=${escapeFieldValue(value)}`;
  return operator === "NotIn" ? `${key}!=${escapeFieldValue(value)}` : undefined;
}

function labelTerm(requirement: Requirement): string | undefined {
  const faults = faultsIn(requirement, (at) => validateSelectorRequirement(at));
  return faults.length === 0 ? formatLabelSelector({ matchExpressions: [requirement] }) : undefined;
}
